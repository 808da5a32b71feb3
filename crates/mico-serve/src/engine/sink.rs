//! From the scheduler's events to the client's.

use std::sync::Arc;
use std::task::Waker;
use std::thread;

use mico_batch::engine::EngineBackend;
use mico_batch::{End, Event as BatchEvent, EventSink, Unsent as BatchUnsent};
use mico_engine::Accepted;
use mico_engine::tokenizer::Tokenizer;

use super::errors::failure;
use super::report::{Shown, realised};
use crate::backend::{Piece, TokenLogprob, TopLogprob};
use crate::events::{Event, EventSender, Unsent};

/// Takes the events of one request.
pub(super) struct AnswerSink {
    events: EventSender,
    tokenizer: Option<Arc<Tokenizer>>,
    shown: Shown,
    cache: bool,
}

impl AnswerSink {
    /// `cache` tells whether encoded images are kept at all.
    pub(super) fn new(
        events: EventSender,
        tokenizer: Option<Arc<Tokenizer>>,
        shown: Shown,
        cache: bool,
    ) -> Self {
        Self { events, tokenizer, shown, cache }
    }

    fn piece(&self, accepted: &Accepted) -> Piece {
        let mut piece = Piece::text(accepted.text.clone());
        if self.shown.returns.ids {
            piece.ids.extend(accepted.id);
        }
        let logprob = accepted.logprob.iter().map(|logprob| {
            let (token, bytes) = self.token(logprob.id);
            let top = logprob.top.iter().map(|(id, logprob)| {
                let (token, bytes) = self.token(*id);
                TopLogprob { token, logprob: *logprob, bytes }
            });
            TokenLogprob { token, logprob: logprob.logprob, bytes, top_logprobs: top.collect() }
        });
        piece.logprobs = logprob.collect();
        piece
    }

    /// A token's text and bytes.
    fn token(&self, id: u32) -> (String, Option<Vec<u8>>) {
        let bytes = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.token_bytes(id));
        let text = bytes.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (text.unwrap_or_default(), bytes)
    }
}

impl EventSink<EngineBackend> for AnswerSink {
    fn offer(
        &mut self,
        event: BatchEvent<Accepted>,
        waker: &Waker,
    ) -> Result<(), BatchUnsent<Accepted>> {
        let told = match &event {
            BatchEvent::Admitted { queued } => Event::Admitted { queued: *queued },
            BatchEvent::Token(accepted) => Event::Piece(self.piece(accepted)),
            // Nobody asked how far a prompt has come.
            _ => return Ok(()),
        };
        if matches!(&told, Event::Piece(piece) if piece.is_empty()) {
            return Ok(());
        }
        match self.events.offer(told, waker) {
            Ok(()) => Ok(()),
            Err(Unsent::Full(_)) => Err(BatchUnsent::Full(event)),
            Err(Unsent::Closed) => Err(BatchUnsent::Closed),
        }
    }

    fn end(self: Box<Self>, end: End<EngineBackend>) {
        let Self { events, shown, cache, .. } = *self;
        let drawing = shown.draws();
        let tell = move || {
            let result = match &end.result {
                Ok(answer) => Ok(realised(answer, &end.timings, &shown, cache)),
                Err(why) => Err(failure(why, &shown.params)),
            };
            events.end(result);
        };
        if !drawing {
            return tell();
        }
        // Others' tokens do not wait for a picture. Without a thread the sender is dropped, which ends the request.
        if let Err(error) = thread::Builder::new().name("mico-overlay".to_owned()).spawn(tell) {
            tracing::error!(%error, "no thread for a picture");
        }
    }
}
