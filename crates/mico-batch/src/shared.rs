//! What submitters and the loop share: the queue, the counts, and the signal that there is something to do.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Duration;

use crate::backend::{Backend, Memory};
use crate::case::Case;
use crate::contain::contain;
use crate::error::Refusal;
use crate::event::EventSink;
use crate::limits::{Limits, Setup};
use crate::observe::{EndReason, Observation, ServiceRate, Snapshot};
use crate::queue::{FairQueue, Slot};
use crate::signal::{Signal, lock};
use crate::ticket::{Control, SubmitOptions, Ticket};

/// Whether a scheduler takes requests, and what becomes of those it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    Open,
    /// Nothing is accepted; what is admitted may finish until this time.
    Drain(Option<Duration>),
}

/// A request in the queue.
pub(crate) struct Waiting<B: Backend> {
    pub(crate) case: Case<B>,
    pub(crate) job: B::Job,
}

pub(crate) struct Intake<B: Backend> {
    pub(crate) queue: FairQueue<Waiting<B>>,
    pub(crate) closing: Closing,
    next_id: u64,
}

/// Counts that the loop and the submitters write. Whatever of a [`Snapshot`] is known elsewhere is zero here.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) snapshot: Snapshot,
    rate: ServiceRate,
    /// When the backend last came back; `None` while there is nothing to do.
    beat: Option<Duration>,
}

pub(crate) struct Shared<B: Backend> {
    pub(crate) backend: Arc<B>,
    setup: Setup,
    intake: Mutex<Intake<B>>,
    counters: Mutex<Counters>,
    pub(crate) signal: Arc<Signal>,
    waker: Waker,
}

impl<B: Backend> Shared<B> {
    pub(crate) fn new(backend: Arc<B>, mut setup: Setup) -> Self {
        setup.limits.sequences = setup.limits.sequences.max(1);
        setup.limits.rows = setup.limits.rows.max(1);
        let queue = FairQueue::new();
        let intake = Intake { queue, closing: Closing::Open, next_id: 0 };
        let signal = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&signal));
        let (intake, counters) = (Mutex::new(intake), Mutex::default());
        Self { backend, setup, intake, counters, signal, waker }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.setup.limits
    }

    pub(crate) fn now(&self) -> Duration {
        self.setup.clock.now()
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(crate) fn intake(&self) -> MutexGuard<'_, Intake<B>> {
        lock(&self.intake)
    }

    pub(crate) fn counters(&self) -> MutexGuard<'_, Counters> {
        lock(&self.counters)
    }

    pub(crate) fn submit(
        &self,
        job: B::Job,
        options: SubmitOptions,
        sink: Box<dyn EventSink<B>>,
    ) -> Result<Ticket, Refusal> {
        let accepted = self.accept(job, options, sink);
        match &accepted {
            Ok(_) => self.signal.set(),
            Err(refusal) => {
                self.counters().snapshot.refused += 1;
                self.record(&Observation::Refused(refusal));
            }
        }
        accepted
    }

    fn accept(
        &self,
        job: B::Job,
        options: SubmitOptions,
        sink: Box<dyn EventSink<B>>,
    ) -> Result<Ticket, Refusal> {
        let memory = self.memory(&job)?;
        let mut intake = self.intake();
        if intake.closing != Closing::Open {
            return Err(Refusal::Draining);
        }
        let waiting = intake.queue.len();
        if waiting >= self.limits().queue {
            let retry_after = self.counters().rate.retry_after(waiting);
            return Err(Refusal::Overloaded { waiting, retry_after });
        }
        let control = Arc::<Control>::default();
        let ticket = Ticket::new(Arc::clone(&control), self.waker.clone());
        let client = options.client.clone();
        let case = Case::new(options, memory, control, sink, self.now());
        let slot = Slot { id: intake.next_id, memory, item: Waiting { case, job } };
        intake.next_id += 1;
        intake.queue.push(&client, slot);
        self.counters().snapshot.accepted += 1;
        Ok(ticket)
    }

    /// What the job will take, if that can ever be had.
    fn memory(&self, job: &B::Job) -> Result<Memory, Refusal> {
        let call = "memory";
        let memory = contain(|| self.backend.memory(job)).map_err(|message| {
            self.panicked(call, &message);
            Refusal::Internal { call, message }
        })?;
        let (needed, limit) = (memory.peak(), self.limits().memory_bytes);
        if needed > limit {
            return Err(Refusal::TooLarge { needed, limit });
        }
        Ok(memory)
    }

    /// Accepts nothing any more. Of several times until which running requests may finish, the
    /// earliest holds.
    pub(crate) fn close(&self, timeout: Option<Duration>) {
        let until = timeout.map(|timeout| self.now().saturating_add(timeout));
        let mut intake = self.intake();
        intake.closing = match intake.closing {
            Closing::Open => Closing::Drain(until),
            Closing::Drain(earlier) => Closing::Drain(earlier.into_iter().chain(until).min()),
        };
        drop(intake);
        self.signal.set();
    }

    pub(crate) fn record(&self, observation: &Observation<'_>) {
        // An observer that panics costs its observation.
        let _ = contain(|| self.setup.observer.record(observation));
    }

    pub(crate) fn panicked(&self, call: &'static str, message: &str) {
        self.counters().snapshot.panics += 1;
        self.record(&Observation::Panicked { call, message });
    }

    pub(crate) fn ended(&self, reason: EndReason, service: Option<Duration>, running: usize) {
        let mut counters = self.counters();
        counters.snapshot.ended[reason as usize] += 1;
        if let Some(service) = service {
            counters.rate.record(service, running);
        }
    }

    /// Notes that the backend is alive, or that nothing is asked of it.
    pub(crate) fn beat(&self, busy: bool) {
        let now = busy.then(|| self.now());
        self.counters().beat = now;
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let (waiting, draining) = {
            let intake = self.intake();
            (intake.queue.len(), intake.closing != Closing::Open)
        };
        let counters = self.counters();
        let stalled = counters.beat.map_or(Duration::ZERO, |beat| self.now().saturating_sub(beat));
        Snapshot { waiting, stalled, draining, ..counters.snapshot }
    }
}
