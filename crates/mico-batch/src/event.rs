//! What a client is told while its request is worked on. Open this to connect another kind of channel.

use std::fmt;
use std::task::Waker;
use std::time::Duration;

use crate::backend::{Backend, Progress};
use crate::error::Failure;

/// Something that happened to a request before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<T> {
    /// The request has left the queue and is being worked on.
    Admitted {
        /// How long it waited.
        queued: Duration,
    },
    /// A slice of the prompt is done. Left out if the consumer has no room.
    Progress(Progress),
    /// A token of the answer, each of them exactly once and in order.
    Token(T),
}

/// How a request ended.
#[non_exhaustive]
pub struct End<B: Backend> {
    /// The answer, or why there is none.
    pub result: Result<B::Outcome, Failure<B::Error>>,
    /// Where the time went.
    pub timings: Timings,
}

// By hand: a derive would ask it of the backend instead of the outcome.
impl<B: Backend<Outcome: fmt::Debug>> fmt::Debug for End<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("End");
        shown.field("result", &self.result).field("timings", &self.timings).finish()
    }
}

impl<B: Backend> End<B> {
    pub(crate) fn new(result: Result<B::Outcome, Failure<B::Error>>, timings: Timings) -> Self {
        Self { result, timings }
    }
}

/// Where the time of a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Timings {
    /// From submission to admission.
    pub queued: Duration,
    /// Inside the backend's calls for this request. A step that it shares with others counts whole.
    pub compute: Duration,
    /// From submission to the first token; `None` if there was none.
    pub first_token: Option<Duration>,
    /// From submission to the end.
    pub total: Duration,
}

impl Timings {
    /// The time in which nothing was done for the request: in the queue, while others were worked on, and
    /// while its consumer had no room.
    pub fn waited(&self) -> Duration {
        self.total.saturating_sub(self.compute)
    }
}

/// Where a request's events go.
///
/// Both methods are called on the scheduler's thread, right after the work that they report, and must not
/// block. [`channel`](crate::channel()) makes one for threads. One for an asynchronous runtime takes a
/// bounded channel, of which it reserves one place for the end: with tokio, a `PollSender` for the events,
/// whose `poll_reserve` takes the waker, and a `oneshot` for the end.
pub trait EventSink<B: Backend>: Send + 'static {
    /// Takes an event, or gives it back if there is no room. In the latter case the sequence is not
    /// stepped until the event has been taken, and is cancelled after
    /// [`Limits::patience`](crate::Limits::patience). As soon as there is room, `waker` must be woken.
    fn offer(&mut self, event: Event<B::Token>, waker: &Waker) -> Result<(), Unsent<B::Token>>;

    /// Takes the end. Called exactly once for every accepted request, also if the consumer is gone.
    fn end(self: Box<Self>, end: End<B>);
}

/// Why an event was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsent<T> {
    /// There is no room; the event comes back.
    Full(Event<T>),
    /// Nobody will take an event any more; the request is cancelled.
    Closed,
}
