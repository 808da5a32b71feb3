//! One turn of a level: all clients from their first request to the last answer.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use mico_batch::engine::EngineBackend;
use mico_batch::{EncoderCache, Limits, Scheduler, Setup, Shutdown};
use mico_engine::{GenerationOptions, SessionOptions};

use super::Level;
use super::client::{Client, TimedAnswer};
use super::sample::{Distribution, LevelSample, StepLog};
use crate::error::{Error, Result};
use crate::memory::{AllocationMeter, AllocationSpan};
use crate::subject::Subject;

/// What a turn needs beside its level.
pub(crate) struct LevelTurn<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) options: &'a SessionOptions,
    pub(crate) generation: GenerationOptions,
    pub(crate) meter: Option<&'static dyn AllocationMeter>,
}

impl LevelTurn<'_> {
    /// Measures one turn; the answers client by client, each client's in the order of its requests.
    pub(crate) fn run(&self, level: Level) -> Result<(LevelSample, Vec<Vec<TimedAnswer>>)> {
        let clients = self.clients(level.clients)?;
        let needed = self.subject.engine.prepare(&clients[0].request(0), &mut ())?.memory().total();
        // As many at once as there is memory for; one in any case, since it has been accepted.
        let free = mico_util::memory::free().unwrap_or(u64::MAX).max(needed);
        let mut limits = Limits { memory_bytes: free, ..Limits::default() };
        (limits.sequences, limits.rows) = (level.clients, level.clients);
        let log = Arc::new(StepLog::default());
        let setup = Setup { observer: Arc::clone(&log) as _, ..limits.into() };
        let cache = Arc::new(EncoderCache::new(0));
        let backend = Arc::new(EngineBackend::new(Arc::clone(&self.subject.engine), cache));
        mico_util::memory::reset_peak_resident();
        let span = self.meter.map(AllocationSpan::start);
        let scheduler = Scheduler::spawn(backend, setup)
            .map_err(|error| Error::internal(format!("no thread for a scheduler: {error}")))?;
        let start = Instant::now();
        let answers = serve(&scheduler, &clients, level.requests)?;
        let seconds = start.elapsed().as_secs_f64();
        let allocated = span.map(|span| span.stop());
        let peak_memory = mico_util::memory::peak_resident().unwrap_or(0);
        scheduler.shutdown(Shutdown::Drain);
        let all = || answers.iter().flatten();
        let gaps = all().flat_map(|answer| answer.tokens.windows(2).map(|pair| pair[1] - pair[0]));
        let first = all().filter_map(|answer| answer.tokens.first().copied());
        let sample = LevelSample {
            seconds,
            answered: all().count(),
            tokens: all().map(|answer| answer.ids.len()).sum(),
            first_token: Distribution::of(first.collect()),
            between_tokens: Distribution::of(gaps.collect()),
            request: Distribution::of(all().map(|answer| answer.total).collect()),
            steps: log.steps(),
            admitted: scheduler.snapshot().peak_bytes,
            peak_memory,
            allocated,
        };
        Ok((sample, answers))
    }

    /// Clients whose images have nothing in common.
    fn clients(&self, count: usize) -> Result<Vec<Client<'_>>> {
        let client = |number: usize| {
            let image = self.subject.input.other_image(number as u64)?;
            Ok(Client { turn: self, name: format!("client {number}"), image })
        };
        (0..count).map(client).collect()
    }
}

/// Lets every client send its requests from a thread of its own. The first failure stops the others.
fn serve(
    scheduler: &Scheduler<EngineBackend>,
    clients: &[Client<'_>],
    requests: usize,
) -> Result<Vec<Vec<TimedAnswer>>> {
    let failure: OnceLock<Error> = OnceLock::new();
    let serve_one = &|client: &Client<'_>| {
        client.send_all(scheduler, requests).unwrap_or_else(|error| {
            // What the others meet after that is the shutdown.
            let _ = failure.set(error);
            scheduler.close(Shutdown::Now);
            Vec::new()
        })
    };
    let answers: Option<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> =
            clients.iter().map(|client| scope.spawn(move || serve_one(client))).collect();
        threads.into_iter().map(|thread| thread.join().ok()).collect()
    });
    match (failure.into_inner(), answers) {
        (Some(error), _) => Err(error),
        (None, Some(answers)) => Ok(answers),
        (None, None) => Err(Error::internal("a client's thread panicked")),
    }
}
