//! A request from its submission to its end: what it may take, when it must end, and who is told.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::backend::{Backend, Finish, Memory, Stepped};
use crate::contain::contain;
use crate::error::Failure;
use crate::event::{End, Event, EventSink, Timings, Unsent};
use crate::observe::{EndReason, Observation};
use crate::shared::Shared;
use crate::ticket::{ClientId, Control, SubmitOptions};

/// What stays the same while a request moves from the queue to the prompt to the answer.
pub(crate) struct Case<B: Backend> {
    pub(crate) client: ClientId,
    pub(crate) memory: Memory,
    submitted: Duration,
    admitted: Option<Duration>,
    timeout: Option<Duration>,
    control: Arc<Control>,
    sink: Box<dyn EventSink<B>>,
    /// Events that the sink had no room for, oldest first.
    pending: VecDeque<Event<B::Token>>,
    /// Since when the sink has had no room.
    parked: Option<Duration>,
    /// Whether the sink's consumer is gone.
    closed: bool,
    compute: Duration,
    first_token: Option<Duration>,
    last_token: Option<Duration>,
    finish: Option<Finish>,
}

impl<B: Backend> Case<B> {
    pub(crate) fn new(
        options: SubmitOptions,
        memory: Memory,
        control: Arc<Control>,
        sink: Box<dyn EventSink<B>>,
        now: Duration,
    ) -> Self {
        Self {
            client: options.client,
            memory,
            submitted: now,
            admitted: None,
            timeout: options.timeout,
            control,
            sink,
            pending: VecDeque::new(),
            parked: None,
            closed: false,
            compute: Duration::ZERO,
            first_token: None,
            last_token: None,
            finish: None,
        }
    }

    /// Why the request must end now, if it must.
    pub(crate) fn verdict(&self, now: Duration, patience: Duration) -> Option<Failure<B::Error>> {
        if self.closed || self.control.is_cancelled() {
            return Some(Failure::Cancelled);
        }
        if let (Some(limit), Some(at)) = (self.timeout, self.expiry())
            && now >= at
        {
            return Some(Failure::TimedOut { limit });
        }
        let parked = self.parked?;
        (now >= parked.saturating_add(patience)).then_some(Failure::SlowConsumer { patience })
    }

    fn expiry(&self) -> Option<Duration> {
        self.timeout.map(|timeout| self.submitted.saturating_add(timeout))
    }

    /// When to look at the request again if nothing else happens.
    pub(crate) fn next_timer(&self, patience: Duration) -> Option<Duration> {
        let patience_ends = self.parked.map(|parked| parked.saturating_add(patience));
        self.expiry().into_iter().chain(patience_ends).min()
    }

    /// Whether there are events that the sink had no room for.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.is_some()
    }

    pub(crate) fn add_compute(&mut self, took: Duration) {
        self.compute += took;
    }

    pub(crate) fn set_admitted(&mut self, now: Duration, shared: &Shared<B>) {
        self.admitted = Some(now);
        let queued = now.saturating_sub(self.submitted);
        shared.record(&Observation::Admitted { queued });
        self.tell(Event::Admitted { queued }, now, shared);
    }

    /// Reports what a step brought; returns whether the answer ends with it.
    pub(crate) fn stepped(
        &mut self,
        stepped: Stepped<B::Token>,
        now: Duration,
        shared: &Shared<B>,
    ) -> bool {
        self.finish = stepped.finish;
        if let Some(token) = stepped.token {
            self.token(token, now, shared);
        }
        self.finish.is_some()
    }

    fn token(&mut self, token: B::Token, now: Duration, shared: &Shared<B>) {
        shared.counters().snapshot.tokens += 1;
        let observation = if let Some(last) = self.last_token.replace(now) {
            Observation::NextToken { gap: now.saturating_sub(last) }
        } else {
            let after = now.saturating_sub(self.submitted);
            self.first_token = Some(after);
            Observation::FirstToken { after }
        };
        shared.record(&observation);
        self.tell(Event::Token(token), now, shared);
    }

    /// Hands an event to the sink, or keeps it until there is room. News of progress is not kept.
    pub(crate) fn tell(&mut self, event: Event<B::Token>, now: Duration, shared: &Shared<B>) {
        if matches!(event, Event::Progress(_)) {
            if self.pending.is_empty() {
                self.offer(event, shared);
            }
            return;
        }
        self.pending.push_back(event);
        self.flush(now, shared);
    }

    /// Offers the kept events once more.
    pub(crate) fn flush(&mut self, now: Duration, shared: &Shared<B>) {
        while let Some(event) = self.pending.pop_front() {
            if let Some(event) = self.offer(event, shared) {
                self.pending.push_front(event);
                self.parked.get_or_insert(now);
                return;
            }
            // Whoever takes something is not stuck.
            self.parked = None;
        }
    }

    /// Returns the event if the sink has no room for it.
    fn offer(&mut self, event: Event<B::Token>, shared: &Shared<B>) -> Option<Event<B::Token>> {
        if self.closed {
            return None;
        }
        let (sink, waker): (_, &Waker) = (&mut self.sink, shared.waker());
        match contain(|| sink.offer(event, waker)) {
            Ok(Ok(())) => None,
            Ok(Err(Unsent::Full(event))) => Some(event),
            Ok(Err(Unsent::Closed)) => {
                self.closed = true;
                None
            }
            Err(message) => {
                shared.panicked("EventSink::offer", &message);
                self.closed = true;
                None
            }
        }
    }

    /// Ends the request. `running` is the number of requests that were admitted with it.
    pub(crate) fn end(
        self,
        result: Result<B::Outcome, Failure<B::Error>>,
        running: usize,
        shared: &Shared<B>,
    ) {
        let now = shared.now();
        let since = |time: Duration| now.saturating_sub(time);
        let reason = EndReason::of::<B>(&result, self.finish);
        let timings = Timings {
            queued: self.admitted.unwrap_or(now).saturating_sub(self.submitted),
            compute: self.compute,
            first_token: self.first_token,
            total: since(self.submitted),
        };
        let service = self.admitted.filter(|_| result.is_ok()).map(since);
        shared.ended(reason, service, running);
        shared.record(&Observation::Ended { reason, total: timings.total });
        self.control.set_ended();
        let sink = self.sink;
        if let Err(message) = contain(move || sink.end(End::new(result, timings))) {
            shared.panicked("EventSink::end", &message);
        }
    }
}
