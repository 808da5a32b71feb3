//! Runs the conditions in turn.

use std::ops::ControlFlow;

use mico_engine::{GenerationOptions, Outcome, Prompt, Request, SessionOptions};
use mico_eval::Condition;

use crate::comparison::full_label;
use crate::configuration::Configuration;
use crate::error::{Error, Result};
use crate::journal::{Journal, Record};
use crate::memory::{AllocationMeter, AllocationSpan};
use crate::report::Report;
use crate::sample::{Facts, Sample, Stopwatch};
use crate::subject::Subject;

/// How far a benchmark has come.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The condition that runs next, or ran last.
    pub condition: &'a str,
    /// Runs done by this process, warm-ups included.
    pub done: usize,
    /// Runs that this process will do in all, as far as is known.
    pub total: usize,
}

/// Called before and after every run, never within one, so that nothing of it is measured; a break stops
/// the benchmark with [`Error::Cancelled`]. Runs that were finished are in the journal.
pub type Observer<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// What to measure, and how often.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Benchmark {
    /// What is compared, the unpruned model first.
    pub conditions: Vec<Condition>,
    /// What must be the same for runs to be compared.
    pub configuration: Configuration,
    /// Runs of each condition that are not counted.
    pub warmups: usize,
    /// Runs of each condition that are.
    pub rounds: usize,
    /// Tokens over which decoding is measured.
    pub new_tokens: usize,
    /// The program's counter of allocations, if it has one.
    pub meter: Option<&'static dyn AllocationMeter>,
    /// The command line, as reports quote it.
    pub argv: Vec<String>,
}

/// A condition, and what the engine is asked under.
struct PlannedCondition<'a> {
    condition: &'a Condition,
    options: SessionOptions,
}

impl Benchmark {
    /// Five rounds after one warm-up, over eight tokens.
    pub fn new(conditions: Vec<Condition>, configuration: Configuration) -> Self {
        let (warmups, rounds, new_tokens) = (1, 5, 8);
        let (meter, argv) = (None, Vec::new());
        Self { conditions, configuration, warmups, rounds, new_tokens, meter, argv }
    }

    /// Whether a journal holds every run already, so that no model is needed; an error if it holds runs
    /// that were measured differently.
    pub fn is_complete(&self, journal: &Journal) -> Result<bool> {
        journal.check(&self.configuration)?;
        Ok(!journal.is_incomplete(&self.conditions, self.rounds))
    }

    /// Measures what the journal lacks, and reports all of it.
    pub fn run(
        &self,
        subject: &Subject,
        journal: &mut Journal,
        observer: &mut Observer<'_>,
    ) -> Result<Report> {
        if !self.is_complete(journal)? {
            journal.begin(&self.configuration, &subject.about)?;
            BenchmarkRun::new(self, subject, journal, observer)?.all()?;
        }
        self.report(journal)
    }

    /// What a journal's runs come to; an error if nothing but the unpruned model is left of them.
    pub fn report(&self, journal: &Journal) -> Result<Report> {
        self.check_refusals(journal)?;
        Report::new(self, journal)
    }

    /// A benchmark of which nothing is left but the unpruned model has failed.
    fn check_refusals(&self, journal: &Journal) -> Result<()> {
        let pruned = || self.conditions.iter().filter(|condition| prunes(condition));
        let mut refusals = pruned().filter_map(|c| Some((c, journal.refusal(c)?)));
        let Some((condition, message)) = refusals.next() else { return Ok(()) };
        let others = refusals.count();
        if others + 1 < pruned().count() {
            return Ok(());
        }
        let (condition, message) = (full_label(condition), message.to_owned());
        Err(Error::AllRefused { condition, message, others })
    }
}

/// Whether a condition prunes.
pub(crate) fn prunes(condition: &Condition) -> bool {
    condition.pruning().is_some()
}

/// A benchmark under way.
struct BenchmarkRun<'a, 'o> {
    benchmark: &'a Benchmark,
    subject: &'a Subject,
    journal: &'a mut Journal,
    observer: &'a mut Observer<'o>,
    planned: Vec<PlannedCondition<'a>>,
    /// Which conditions this process has run.
    ran: Vec<bool>,
    done: usize,
    total: usize,
}

impl<'a, 'o> BenchmarkRun<'a, 'o> {
    fn new(
        benchmark: &'a Benchmark,
        subject: &'a Subject,
        journal: &'a mut Journal,
        observer: &'a mut Observer<'o>,
    ) -> Result<Self> {
        let planned = benchmark.conditions.iter().map(|condition| {
            let options = condition.setting.options()?;
            subject.engine.check(&options)?;
            Ok(PlannedCondition { condition, options })
        });
        let planned = planned.collect::<Result<Vec<_>>>()?;
        let runs = planned.iter().map(|planned| {
            match journal.missing(planned.condition, benchmark.rounds) {
                0 => 0,
                missing => missing + benchmark.warmups,
            }
        });
        let (ran, total) = (vec![false; planned.len()], runs.sum());
        Ok(Self { benchmark, subject, journal, observer, planned, ran, done: 0, total })
    }

    /// Warms up, then measures round by round what the journal lacks. A process that goes on from a
    /// journal is as cold as any other, so it warms up, too.
    fn all(mut self) -> Result<()> {
        let Benchmark { warmups, rounds, .. } = *self.benchmark;
        let warmups = (0..warmups).map(|_| None);
        for round in warmups.chain((0..rounds).map(Some)) {
            for index in 0..self.planned.len() {
                let condition = self.planned[index].condition;
                let there = round.is_some_and(|round| self.journal.get(condition, round).is_some());
                if !there && self.journal.missing(condition, rounds) > 0 {
                    self.turn(index, round)?;
                }
            }
            self.benchmark.check_refusals(self.journal)?;
        }
        Ok(())
    }

    /// One run of one condition; in a round it counts.
    fn turn(&mut self, index: usize, round: Option<usize>) -> Result<()> {
        let condition = self.planned[index].condition;
        self.report_progress(condition)?;
        let known = self.ran[index] || self.journal.get(condition, 0).is_some();
        match self.once(&self.planned[index]) {
            Ok((sample, outcome)) => {
                if let Some(round) = round {
                    let pruning = &self.planned[index].options.pruning;
                    let facts = Facts::new(self.subject, pruning, &outcome)?;
                    let (setting, session) = (condition.key(), 0);
                    self.journal.append(Record { setting, round, session, sample, facts })?;
                }
            }
            Err(Error::Engine(error)) if prunes(condition) && !known => {
                let left = self.journal.missing(condition, self.benchmark.rounds);
                self.total -= (left + self.benchmark.warmups).saturating_sub(1);
                self.journal.refuse(condition, error.to_string())?;
            }
            Err(error) => return Err(error),
        }
        self.ran[index] = true;
        self.done += 1;
        self.report_progress(condition)
    }

    fn report_progress(&mut self, condition: &Condition) -> Result<()> {
        let (condition, done, total) = (&*full_label(condition), self.done, self.total);
        match (self.observer)(Progress { condition, done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    fn once(&self, planned: &PlannedCondition<'_>) -> Result<(Sample, Outcome)> {
        let request = self.request(planned);
        let peak_is_own = mico_util::memory::reset_peak_resident();
        let memory = self.benchmark.meter.map(AllocationSpan::start);
        let mut watch = Stopwatch::start();
        let outcome = self.subject.engine.run(&request, &mut watch)?;
        let elapsed = watch.elapsed();
        let allocated = memory.map(|memory| memory.stop());
        let first_token = watch.first_token().ok_or_else(|| {
            let label = full_label(planned.condition);
            Error::internal(format!("{label}: the engine answered without a token"))
        })?;
        let sample = Sample {
            seconds: outcome.seconds,
            first_token,
            request: elapsed,
            peak_memory: mico_util::memory::peak_resident().unwrap_or(0),
            peak_is_own,
            allocated,
        };
        Ok((sample, outcome))
    }

    fn request(&self, planned: &PlannedCondition<'_>) -> Request {
        // The first token comes out of the prefill; each further one takes a step.
        let tokens = self.benchmark.new_tokens.saturating_add(1);
        let generation =
            GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(tokens) };
        let input = &self.subject.input;
        Request::new(vec![input.image.clone()], Prompt::InputIds(input.ids.clone()))
            .with(planned.options.clone())
            .generating(generation)
    }
}
