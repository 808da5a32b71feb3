//! The state machine that both ways of driving a scheduler share. Open this to change the order of work.

mod prompt;
mod reap;
mod step;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;
use crate::case::Case;
use crate::contain::contain;
use crate::error::{Failure, Refusal};
use crate::event::EventSink;
use crate::ledger::Ledger;
use crate::limits::Setup;
use crate::observe::Snapshot;
use crate::pace::Pace;
use crate::shared::{Closing, Shared};
use crate::ticket::{SubmitOptions, Ticket};

/// A scheduler that works when it is told to, one turn at a time and on the caller's thread.
///
/// [`Scheduler`](crate::Scheduler) gives it a thread, [`run_all`](crate::run_all) drives it through a
/// list of jobs. Dropping it ends every request that it has.
pub struct Core<B: Backend> {
    shared: Arc<Shared<B>>,
    ledger: Ledger,
    pace: Pace,
    /// Requests that the ledger counts: the prompt in work and the answers.
    admitted: usize,
    prompt: Option<Active<B>>,
    /// Sequences that decode, the one that has waited longest first.
    answers: VecDeque<Active<B>>,
    deliveries: Vec<Delivery<B>>,
}

/// An admitted request.
struct Active<B: Backend> {
    case: Case<B>,
    sequence: B::Sequence,
}

/// A request whose sequence is gone and whose last events have yet to be taken.
struct Delivery<B: Backend> {
    case: Case<B>,
    result: CaseResult<B>,
}

type CaseResult<B> = Result<<B as Backend>::Outcome, Failure<<B as Backend>::Error>>;

/// What a turn did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Something was done, and there may be more.
    Worked,
    /// Nothing can be done before a submission, a cancellation or a consumer's wake-up.
    Idle {
        /// The time until a deadline passes; `None` if there is none.
        timeout: Option<Duration>,
    },
    /// The scheduler was shut down and has no requests left. It will never have one again.
    Closed,
}

impl<B: Backend> Core<B> {
    /// A scheduler without requests.
    pub fn new(backend: Arc<B>, setup: impl Into<Setup>) -> Self {
        Self::of(Arc::new(Shared::new(backend, setup.into())))
    }

    pub(crate) fn of(shared: Arc<Shared<B>>) -> Self {
        let ledger = Ledger::new(shared.limits().memory_bytes);
        let pace = Pace::new(shared.limits().slice);
        let (answers, deliveries) = (VecDeque::new(), Vec::new());
        Self { shared, ledger, pace, admitted: 0, prompt: None, answers, deliveries }
    }

    pub(crate) fn shared(&self) -> Arc<Shared<B>> {
        Arc::clone(&self.shared)
    }

    /// Puts a request into the queue, or says why not.
    pub fn submit(
        &self,
        job: B::Job,
        options: SubmitOptions,
        sink: impl EventSink<B>,
    ) -> Result<Ticket, Refusal> {
        self.shared.submit(job, options, Box::new(sink))
    }

    /// The present state and the counts so far.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Accepts nothing any more. Waiting requests are refused in the next turn; admitted ones may
    /// finish, within `timeout` if there is one.
    pub fn close(&self, timeout: Option<Duration>) {
        self.shared.close(timeout);
    }

    /// Does the next piece of work. In this order:
    ///
    /// 1. Requests that were cancelled, are out of time or wait for a dead consumer end. This is repeated
    ///    before every slice.
    /// 2. All running answers whose consumers have room make one decode step together (at most
    ///    [`Limits::rows`](crate::Limits::rows), taking turns).
    /// 3. If no prompt is in work, the next request is admitted, provided that its memory fits.
    /// 4. The prompt in work is advanced, by one slice at least. Further slices run as long as the pause of
    ///    the running answers is not expected to exceed the time of their last step, so that the time
    ///    between two of their tokens at most doubles; nor [`Limits::slice`](crate::Limits::slice).
    ///    If nobody waits for a token, slices run for that time. Beginning a request counts as a slice.
    pub fn turn(&mut self) -> Turn {
        let ended = self.reap();
        let stepped = self.step();
        let begun = self.admit();
        let advanced = self.advance_prompt(begun);
        let admitted = begun.is_some();
        if ended || admitted || stepped || advanced {
            return Turn::Worked;
        }
        let intake = self.shared.intake();
        let closed = intake.closing != Closing::Open && intake.queue.len() == 0;
        drop(intake);
        if closed && self.admitted == 0 && self.deliveries.is_empty() {
            return Turn::Closed;
        }
        Turn::Idle { timeout: self.next_timer() }
    }

    /// Calls the backend. Returns what it answered, or that it panicked, and the time it took.
    fn call<T>(
        &self,
        call: &'static str,
        work: impl FnOnce(&B) -> T,
    ) -> (Result<T, Failure<B::Error>>, Duration) {
        let start = self.shared.now();
        let result = contain(|| work(&self.shared.backend));
        let took = self.shared.now().saturating_sub(start);
        self.shared.beat(true);
        let result = result.map_err(|message| {
            self.shared.panicked(call, &message);
            Failure::Internal { call, message }
        });
        (result, took)
    }

    /// The same for calls that can fail by themselves.
    fn try_call<T>(
        &self,
        call: &'static str,
        work: impl FnOnce(&B) -> Result<T, B::Error>,
    ) -> (Result<T, Failure<B::Error>>, Duration) {
        let (result, took) = self.call(call, work);
        (result.and_then(|answer| answer.map_err(Failure::Backend)), took)
    }

    /// Ends an admitted request without an answer. Its sequence is dropped, which frees its memory.
    fn discard(&mut self, active: Active<B>, failure: Failure<B::Error>) {
        let Active { case, sequence } = active;
        // The failure at hand is told even if a sequence in a bad state panics once more.
        let _ = self.call("drop", move |_| drop(sequence));
        self.release(&case);
        self.end(case, Err(failure));
    }

    /// Makes the answer of a sequence whose last token is out.
    fn finish(&mut self, active: Active<B>) {
        let Active { mut case, sequence } = active;
        let (result, took) = self.try_call("finish", |backend| backend.finish(sequence));
        case.add_compute(took);
        self.release(&case);
        if case.is_parked() {
            self.deliveries.push(Delivery { case, result });
        } else {
            self.end(case, result);
        }
    }

    fn release(&mut self, case: &Case<B>) {
        self.ledger.release(case.memory);
        self.admitted -= 1;
    }

    /// Tells a request's client how it ended.
    fn end(&mut self, case: Case<B>, result: CaseResult<B>) {
        self.publish();
        // The one that ends was running, too.
        case.end(result, self.admitted + 1, &self.shared);
    }

    /// Shows the present state to [`Snapshot`]s. Comes before a client is told of an end, so that
    /// whoever has seen the end sees the memory free.
    fn publish(&self) {
        let prompt_parked = self.prompt.iter().any(|active| active.case.is_parked());
        let parked = self.answers.iter().filter(|active| active.case.is_parked()).count();
        let mut counters = self.shared.counters();
        let snapshot = &mut counters.snapshot;
        snapshot.running = self.admitted + self.deliveries.len();
        snapshot.parked = parked + usize::from(prompt_parked) + self.deliveries.len();
        snapshot.kept_bytes = self.ledger.kept;
        snapshot.working_bytes = self.ledger.working;
    }
}

impl<B: Backend> Drop for Core<B> {
    fn drop(&mut self) {
        self.close(Some(Duration::ZERO));
        self.reap();
    }
}
