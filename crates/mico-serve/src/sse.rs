//! Streamed answers: events of a job as server-sent events, byte for byte as clients of the OpenAI API read them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::backend::{Outcome, Piece};
use crate::chat::{Answer, Job};
use crate::error::{Result, ServeError};
use crate::events::Event;
use crate::wire::{Chunk, ChunkChoice, Delta, Logprobs, Usage};

/// A client hears something at least this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A comment, which clients skip.
const COMMENT: &[u8] = b": keep-alive\n\n";
const DONE: &[u8] = b"data: [DONE]\n\n";

/// Answers with a stream. The head is sent with the job's first event, so that a job which is refused while it waits
/// still has a status of its own; after [`KEEP_ALIVE`] it is sent anyway, before somebody on the way gives up.
pub(crate) async fn respond(answer: Answer, mut job: Job) -> Result<Response> {
    let first = timeout(KEEP_ALIVE, job.events.next()).await;
    let mut stream = Stream::new(answer, job);
    match first {
        Ok(Some(Event::End(end))) if end.is_err() => {
            let Err(error) = *end else { return Err(ServeError::internal("an end of two kinds")) };
            let result = Err(error.clone());
            stream.job.ended(&stream.answer, &result);
            return Err(error);
        }
        Ok(Some(event)) => stream.take(event),
        Ok(None) => return Err(ServeError::internal("the events ended without an end")),
        Err(_) => stream.ready.push_back(Bytes::from_static(COMMENT)),
    }
    let mut response = Response::new(Body::new(stream));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// The body of a stream. Dropping it, as the connection does when its client leaves, cancels the job.
struct Stream {
    answer: Answer,
    job: Job,
    ready: VecDeque<Bytes>,
    silence: Pin<Box<Sleep>>,
    begun: bool,
    done: bool,
}

impl Stream {
    fn new(answer: Answer, job: Job) -> Self {
        let silence = Box::pin(sleep(KEEP_ALIVE));
        Self { answer, job, ready: VecDeque::new(), silence, begun: false, done: false }
    }

    /// Turns an event into what is sent.
    fn take(&mut self, event: Event) {
        if !self.begun && !matches!(&event, Event::End(end) if end.is_err()) {
            self.begun = true;
            let role = Delta { role: Some("assistant"), content: Some(String::new()) };
            self.send_choice(choice(role));
        }
        match event {
            Event::Admitted { .. } => {}
            Event::Piece(piece) => self.piece(piece),
            Event::End(end) => {
                let result = end.map(|outcome| self.answer.timed(outcome));
                self.job.ended(&self.answer, &result);
                match result {
                    Ok(outcome) => self.end(outcome),
                    Err(error) => self.send(&error.body()),
                }
                self.ready.push_back(Bytes::from_static(DONE));
                self.done = true;
            }
        }
    }

    fn piece(&mut self, piece: Piece) {
        if piece.is_empty() {
            return;
        }
        let Piece { text, logprobs, ids } = piece;
        let mut part = choice(Delta { role: None, content: Some(text) });
        part.logprobs = self.answer.logprobs.then(|| Logprobs::of(logprobs));
        part.token_ids = self.answer.returns.ids.then_some(ids);
        self.send_choice(part);
    }

    fn end(&mut self, outcome: Outcome) {
        let mut last = choice(Delta::default());
        last.finish_reason = Some(outcome.finish.reason());
        last.stop_reason = Some(outcome.finish.stop_reason().map(str::to_owned));
        self.send_choice(last);
        if !self.answer.include_mico {
            return;
        }
        let usage = self.answer.include_usage.then(|| Some(Usage::of(&outcome)));
        let mico = Some(self.answer.report(outcome));
        let answer = self.answer.clone();
        self.send(&Chunk { usage, mico, ..chunk(&answer, Vec::new()) });
    }

    fn send_choice(&mut self, part: ChunkChoice) {
        let answer = self.answer.clone();
        self.send(&chunk(&answer, vec![part]));
    }

    fn send(&mut self, document: &impl serde::Serialize) {
        let mut line = b"data: ".to_vec();
        // These documents have only texts as keys, so writing them cannot fail.
        if serde_json::to_writer(&mut line, document).is_ok() {
            line.extend_from_slice(b"\n\n");
            self.ready.push_back(line.into());
        }
    }
}

fn choice(delta: Delta) -> ChunkChoice {
    ChunkChoice {
        index: 0,
        delta,
        logprobs: None,
        finish_reason: None,
        stop_reason: None,
        token_ids: None,
    }
}

fn chunk(answer: &Answer, choices: Vec<ChunkChoice>) -> Chunk<'_> {
    Chunk {
        id: &answer.id,
        object: "chat.completion.chunk",
        created: answer.created,
        model: &answer.model,
        system_fingerprint: &answer.fingerprint,
        choices,
        usage: answer.include_usage.then_some(None),
        mico: None,
    }
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.done {
                return Poll::Ready(None);
            }
            match self.job.events.poll_next(context) {
                Poll::Ready(Some(event)) => self.take(event),
                Poll::Ready(None) => self.done = true,
                Poll::Pending => match self.silence.as_mut().poll(context) {
                    Poll::Ready(()) => self.ready.push_back(Bytes::from_static(COMMENT)),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}
