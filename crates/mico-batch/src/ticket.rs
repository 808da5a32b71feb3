//! The submitter's side of one request: how it is submitted, and how it is cancelled.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::Duration;

/// Whose request it is. Requests of one client are served in their order; clients take turns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<str>);

impl Default for ClientId {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for ClientId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for ClientId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a submission says beside the job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubmitOptions {
    /// Whose request it is.
    pub client: ClientId,
    /// The time from submission after which the request fails as
    /// [`TimedOut`](crate::Failure::TimedOut); `None` for no such limit.
    pub timeout: Option<Duration>,
}

impl SubmitOptions {
    /// A submission of this client, without a time limit.
    pub fn of(client: impl Into<ClientId>) -> Self {
        Self { client: client.into(), timeout: None }
    }

    /// The same with a time limit.
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
}

/// What the two sides of a request share.
#[derive(Debug, Default)]
pub(crate) struct Control {
    cancelled: AtomicBool,
    ended: AtomicBool,
}

impl Control {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn set_ended(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

/// An accepted request. Dropping it cancels the request, unless it has ended.
#[derive(Debug)]
#[must_use = "dropping the ticket cancels the request"]
pub struct Ticket {
    control: Arc<Control>,
    waker: Waker,
}

impl Ticket {
    pub(crate) fn new(control: Arc<Control>, waker: Waker) -> Self {
        Self { control, waker }
    }

    /// Cancels the request before the next call of the backend. Its sink is told that it ended as
    /// [`Cancelled`](crate::Failure::Cancelled), unless it has ended before.
    pub fn cancel(&self) {
        if !self.is_ended() && !self.control.cancelled.swap(true, Ordering::AcqRel) {
            self.waker.wake_by_ref();
        }
    }

    /// Whether the request has ended, in whatever way.
    pub fn is_ended(&self) -> bool {
        self.control.ended.load(Ordering::Acquire)
    }

    /// Lets the request run to its end without anybody who could cancel it.
    pub fn detach(self) {
        // The flag that dropping sets is one that nobody reads any more.
        let mut ticket = self;
        ticket.control = Arc::default();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancel();
    }
}
