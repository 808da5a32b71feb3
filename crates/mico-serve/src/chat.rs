//! One chat completion, from its body to the job in the queue and the whole answer. Streams are in `sse`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, header};
use axum::response::{IntoResponse as _, Response};
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;

use crate::app::{App, unix_time};
use crate::backend::{
    Backend, ChatJob, Outcome, Piece, Plan, Planned, Returns, Submission, Ticket, TokenLogprob,
};
use crate::body;
use crate::error::{Code, Result, ServeError};
use crate::events::{EVENTS_ON_THE_WAY, Event, EventReceiver, events};
use crate::media::MediaSources;
use crate::names::Resolved;
use crate::request_id::completion_id;
use crate::sse;
use crate::wire::{
    self, ChatCall, ChatRequest, ChatResponse, Choice, Circumstances, InputDetails, InputTokens,
    Logprobs, MicoReport, ResponseMessage, Usage,
};

/// Who asks, as the queue tells clients apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientName(pub(crate) String);

/// A request whose media are decoded and whose plan is accepted.
struct Ready {
    call: ChatCall,
    resolved: Resolved,
    planned: Planned,
    media: Duration,
    deadline: tokio::time::Instant,
    arrived: Instant,
}

/// What an answer's documents have in common.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) fingerprint: String,
    pub(crate) returns: Returns,
    pub(crate) logprobs: bool,
    pub(crate) include_usage: bool,
    pub(crate) include_mico: bool,
    pub(crate) beside: Circumstances,
    pub(crate) arrived: Instant,
    pub(crate) submitted: Instant,
    pub(crate) media: Duration,
}

/// Answers a chat completion.
pub(crate) async fn complete(
    app: Arc<App>,
    client: ClientName,
    request: Request<Body>,
) -> Result<Response> {
    let result = accept(&app, client, request).await;
    if let Err(error) = &result {
        app.metrics.refused(error);
    }
    let (call_streams, answer, job) = result?;
    if call_streams { sse::respond(answer, job).await } else { whole(answer, job).await }
}

/// Counts what a request would take.
pub(crate) async fn count(app: Arc<App>, request: Request<Body>) -> Result<Response> {
    let ready = prepare(&app, request).await?;
    let beside = circumstances(&ready);
    let plan = ready.planned.plan;
    let document = InputTokens {
        object: "response.input_tokens",
        input_tokens: plan.prompt_tokens(),
        input_tokens_details: InputDetails {
            text_tokens: plan.text_tokens,
            image_tokens: plan.image_tokens(),
        },
        mico: MicoReport::new(plan, &beside, None),
    };
    json(&document)
}

/// A job in the queue; dropping it cancels the job and counts it as cancelled.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) events: EventReceiver,
    _ticket: Ticket,
    app: Arc<App>,
    ended: bool,
}

impl Job {
    /// Notes how the job ended, in counters and in the log.
    pub(crate) fn ended(&mut self, answer: &Answer, result: &Result<Outcome>) {
        self.ended = true;
        match result {
            Ok(outcome) => {
                self.app.metrics.finished(outcome);
                log(answer, outcome);
            }
            Err(error) => {
                let reason = if error.code == Code::Timeout { "timeout" } else { "error" };
                self.app.metrics.ended(reason);
                tracing::warn!(
                    completion = %answer.id,
                    code = error.code.name(),
                    cause = error.cause.as_deref().unwrap_or(&error.message),
                    "failed"
                );
            }
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.ended {
            self.app.metrics.ended("cancelled");
        }
    }
}

async fn accept(
    app: &Arc<App>,
    client: ClientName,
    request: Request<Body>,
) -> Result<(bool, Answer, Job)> {
    let ready = prepare(app, request).await?;
    let left = ready.deadline.saturating_duration_since(tokio::time::Instant::now());
    let beside = circumstances(&ready);
    let Ready { call, resolved, planned, media, arrived, .. } = ready;
    let submission = Submission { client: client.0, timeout: left };
    let (sender, receiver) = events(EVENTS_ON_THE_WAY);
    let submitted = Instant::now();
    let ticket = app.backend()?.submit(planned, submission, sender)?;
    let job = Job { events: receiver, _ticket: ticket, app: Arc::clone(app), ended: false };
    let answer = Answer {
        id: completion_id(),
        created: unix_time(),
        model: resolved.model,
        fingerprint: app.fingerprint(),
        returns: call.mico.as_ref().map_or(Ok(Returns::default()), wire::MicoRequest::returns)?,
        logprobs: call.sampling.logprobs.is_some(),
        include_usage: call.include_usage,
        include_mico: call.include_usage || call.mico.is_some(),
        beside,
        arrived,
        submitted,
        media,
    };
    Ok((call.stream, answer, job))
}

fn circumstances(ready: &Ready) -> Circumstances {
    Circumstances {
        source: ready.resolved.source,
        seed: ready.call.sampling.seed,
        ignored: ready.call.ignored.clone(),
        warnings: ready.resolved.warnings.clone(),
    }
}

/// Reads and checks a request, gets its media and plans it.
async fn prepare(app: &Arc<App>, request: Request<Body>) -> Result<Ready> {
    let arrived = Instant::now();
    let backend = Arc::clone(app.backend()?);
    let held = body::read(app, request).await?;
    let shared = Arc::clone(app);
    let (call, resolved, held) = blocking(move || {
        let call = wire::parse::<ChatRequest>(&held.bytes)?.check(&shared.config.check)?;
        let names = &shared.config.names;
        let resolved = names.resolve(call.model.as_deref(), &call.media, call.mico.as_ref())?;
        Ok((call, resolved, held))
    })
    .await?;
    let limit = time_limit(app, &call)?;
    let deadline = tokio::time::Instant::from_std(arrived + limit);
    let shared = Arc::clone(app);
    let work = async {
        let fetches = if MediaSources::needs_network(&call.media) {
            let closed = |_| ServeError::internal("the semaphore of fetches is closed");
            Some(shared.fetches.acquire().await.map_err(closed)?)
        } else {
            None
        };
        let (app, call, resolved) = (Arc::clone(&shared), call, resolved);
        let result = blocking(move || plan(&app, &*backend, call, resolved)).await;
        drop((fetches, held));
        result
    };
    let (call, resolved, planned, media) =
        timeout_at(deadline, work).await.map_err(|_| timed_out(limit))??;
    Ok(Ready { call, resolved, planned, media, deadline, arrived })
}

/// Gets the media and lets the model plan; on a thread that may block.
fn plan(
    app: &App,
    backend: &dyn Backend,
    mut call: ChatCall,
    resolved: Resolved,
) -> Result<(ChatCall, Resolved, Planned, Duration)> {
    let began = Instant::now();
    let takes_video = backend.model().takes_video;
    let media = app.config.media.gather(&call.media, call.video, takes_video)?;
    let took = began.elapsed();
    // The texts of the URLs are the largest part of a request.
    call.media.clear();
    let mut job = ChatJob::new(std::mem::take(&mut call.turns), media);
    job.pruning.clone_from(&resolved.pruning);
    job.sampling = call.sampling.clone();
    job.returns = call.mico.as_ref().map_or(Ok(Returns::default()), wire::MicoRequest::returns)?;
    let planned = backend.prepare(job)?;
    if let Some(tokens) = planned.plan.budget {
        check_share(app, &resolved, tokens)?;
    }
    Ok((call, resolved, planned, took))
}

/// A budget given as a share is known in tokens only now.
fn check_share(app: &App, resolved: &Resolved, tokens: usize) -> Result<()> {
    match resolved.source {
        wire::Source::Request => app.config.names.check_tokens(tokens, "mico"),
        wire::Source::Model => app.config.names.check_tokens(tokens, "model"),
        _ => Ok(()),
    }
}

fn time_limit(app: &App, call: &ChatCall) -> Result<Duration> {
    let most = app.config.request_timeout;
    let Some(asked) = call.mico.as_ref().and_then(|mico| mico.timeout) else { return Ok(most) };
    let limit = Duration::try_from_secs_f64(asked).ok().filter(|limit| !limit.is_zero());
    limit.filter(|limit| *limit <= most).ok_or_else(|| {
        let most = most.as_secs_f64();
        let message = format!("timeout is {asked}, accepted: above 0, at most {most} seconds");
        ServeError::invalid("mico.timeout", message)
    })
}

pub(crate) fn timed_out(limit: Duration) -> ServeError {
    let message = format!("not answered within {} s", limit.as_secs_f64());
    ServeError::new(Code::Timeout, message)
}

/// Runs work that takes long on a thread of its own. A panic there is this request's alone.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let joined = spawn_blocking(work).await;
    joined.unwrap_or_else(|_| Err(ServeError::internal("a thread for blocking work panicked")))
}

/// Waits for the whole answer.
async fn whole(answer: Answer, mut job: Job) -> Result<Response> {
    let (mut text, mut logprobs, mut ids) = (String::new(), Vec::<TokenLogprob>::new(), Vec::new());
    while let Some(event) = job.events.next().await {
        match event {
            Event::Admitted { .. } => {}
            Event::Piece(Piece { text: piece, logprobs: more, ids: tokens }) => {
                text.push_str(&piece);
                logprobs.extend(more);
                ids.extend(tokens);
            }
            Event::End(result) => {
                let result = result.map(|outcome| answer.timed(outcome));
                job.ended(&answer, &result);
                let outcome = result?;
                let choice = Choice {
                    index: 0,
                    message: ResponseMessage { role: "assistant", content: text, refusal: None },
                    logprobs: answer.logprobs.then(|| Logprobs::of(logprobs)),
                    finish_reason: outcome.finish.reason(),
                    stop_reason: outcome.finish.stop_reason().map(str::to_owned),
                    token_ids: answer.returns.ids.then_some(ids),
                };
                return json(&answer.document(choice, outcome));
            }
        }
    }
    Err(ServeError::internal("the events ended without an end"))
}

impl Answer {
    fn document(&self, choice: Choice, outcome: Outcome) -> ChatResponse {
        ChatResponse {
            id: self.id.clone(),
            object: "chat.completion",
            created: self.created,
            model: self.model.clone(),
            system_fingerprint: self.fingerprint.clone(),
            choices: vec![choice],
            usage: Usage::of(&outcome),
            mico: self.report(outcome),
        }
    }

    /// How the answer came about.
    pub(crate) fn report(&self, outcome: Outcome) -> MicoReport {
        let Outcome { plan, seconds, .. } = outcome;
        MicoReport::new(plan, &self.beside, Some(seconds))
    }

    /// The outcome with the times that only the server knows. The backend counts from submission.
    pub(crate) fn timed(&self, mut outcome: Outcome) -> Outcome {
        let before = self.submitted.duration_since(self.arrived).as_secs_f64();
        outcome.seconds.media = self.media.as_secs_f64();
        outcome.seconds.first_token += before;
        outcome.seconds.total = self.arrived.elapsed().as_secs_f64();
        outcome
    }
}

/// One line about an answer: counts and times, never contents.
fn log(answer: &Answer, outcome: &Outcome) {
    let Plan { method, budget, images, .. } = &outcome.plan;
    let kept: usize = images.iter().map(|image| image.kept).sum();
    let seconds = &outcome.seconds;
    tracing::info!(
        completion = %answer.id,
        model = %mico_util::text::quoted(&answer.model),
        method = %method,
        budget = budget.unwrap_or(0),
        images = images.len(),
        visual_tokens = outcome.plan.visual_tokens(),
        entered = outcome.plan.image_tokens(),
        kept,
        prompt_tokens = outcome.plan.prompt_tokens(),
        generated_tokens = outcome.generated_tokens,
        queue_ms = (seconds.queue * 1e3).round(),
        prefill_ms = (seconds.decoder_prefill * 1e3).round(),
        decode_ms = (seconds.decode * 1e3).round(),
        total_ms = (seconds.total * 1e3).round(),
        finish = outcome.finish.reason(),
        "answer"
    );
}

/// A document as a response.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<Response> {
    let body = serde_json::to_vec(document)
        .map_err(|error| ServeError::internal(format!("a response cannot be written: {error}")))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
