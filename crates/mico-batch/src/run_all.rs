//! Many jobs through one engine on the caller's thread, answers in the order of the jobs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Waker;

use crate::backend::Backend;
use crate::core::{Core, Turn};
use crate::error::Failure;
use crate::event::{End, Event, EventSink, Unsent};
use crate::limits::Setup;
use crate::observe::Snapshot;
use crate::ticket::SubmitOptions;

/// Answers jobs together and yields the results in the order of the jobs.
///
/// A job is taken from the iterator when the scheduler could admit it next, so that at most one prepared job
/// waits and memory stays bounded however many there are. A job that cannot be prepared is an error in its
/// place. A result that is ready before an earlier one is kept until that one is; jobs run ahead of the caller by
/// twice [`Limits::sequences`](crate::Limits::sequences) at most. The limit on the queue has no meaning here.
pub fn run_all<B: Backend, I>(
    backend: Arc<B>,
    setup: impl Into<Setup>,
    jobs: I,
) -> RunAll<B, I::IntoIter>
where
    I: IntoIterator<Item = Result<B::Job, B::Error>>,
{
    let mut setup = setup.into();
    setup.limits.queue = 1;
    let window = setup.limits.sequences.max(1).saturating_mul(2);
    let (sender, ended) = channel();
    let core = Core::new(backend, setup);
    let results = VecDeque::new();
    RunAll { core, jobs: Some(jobs.into_iter()), window, sender, ended, first: 0, results }
}

/// The iterator over the results of [`run_all`]. Dropping it cancels what is running.
pub struct RunAll<B: Backend, I> {
    core: Core<B>,
    /// `None` once there are no more.
    jobs: Option<I>,
    /// Jobs that may be between the iterator and the caller.
    window: usize,
    sender: Sender<(usize, JobResult<B>)>,
    ended: Receiver<(usize, JobResult<B>)>,
    /// The number of the job that `results` begins with.
    first: usize,
    results: VecDeque<Option<JobResult<B>>>,
}

type JobResult<B> = Result<<B as Backend>::Outcome, Failure<<B as Backend>::Error>>;

impl<B: Backend, I: Iterator<Item = Result<B::Job, B::Error>>> RunAll<B, I> {
    /// The present state and the counts so far.
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }

    /// Takes jobs as long as one of them could be admitted next.
    fn refill(&mut self) {
        while self.results.len() < self.window && self.core.snapshot().waiting == 0 {
            let Some(job) = self.jobs.as_mut().and_then(Iterator::next) else {
                self.jobs = None;
                return;
            };
            let number = self.first + self.results.len();
            let sink = Numbered { number, sender: self.sender.clone() };
            let refused = match job {
                Ok(job) => match self.core.submit(job, SubmitOptions::default(), sink) {
                    Ok(ticket) => {
                        ticket.detach();
                        None
                    }
                    Err(refusal) => Some(Err(refusal.into())),
                },
                Err(error) => Some(Err(Failure::Backend(error))),
            };
            self.results.push_back(refused);
        }
    }

    /// Puts what has ended where it belongs.
    fn collect_ended(&mut self) {
        while let Ok((number, result)) = self.ended.try_recv() {
            self.results[number - self.first] = Some(result);
        }
    }
}

impl<B: Backend, I: Iterator<Item = Result<B::Job, B::Error>>> Iterator for RunAll<B, I> {
    type Item = JobResult<B>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.refill();
            match self.results.front() {
                None => return None,
                Some(Some(_)) => {
                    self.first += 1;
                    return self.results.pop_front().flatten();
                }
                Some(None) => {}
            }
            let turn = self.core.turn();
            self.collect_ended();
            if turn != Turn::Worked && matches!(self.results.front(), Some(None)) {
                // Sinks here always have room and nothing has a deadline.
                let message = "nothing to do with a job unanswered".to_owned();
                self.results[0] = Some(Err(Failure::Internal { call: "turn", message }));
            }
        }
    }
}

/// Keeps a job's number with its end.
struct Numbered<B: Backend> {
    number: usize,
    sender: Sender<(usize, JobResult<B>)>,
}

impl<B: Backend> EventSink<B> for Numbered<B> {
    fn offer(&mut self, _: Event<B::Token>, _: &Waker) -> Result<(), Unsent<B::Token>> {
        Ok(())
    }

    fn end(self: Box<Self>, end: End<B>) {
        // Nobody listens if the iterator was dropped.
        let _ = self.sender.send((self.number, end.result));
    }
}
