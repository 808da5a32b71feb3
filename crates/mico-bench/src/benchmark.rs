//! Runs the conditions in turn.

use std::ops::ControlFlow;

use mico_engine::{GenerationOptions, Outcome, Prompt, Request, SessionOptions};
use mico_eval::Condition;

use crate::comparison::full_label;
use crate::concurrency::{Concurrency, Level, LevelTurn};
use crate::configuration::Configuration;
use crate::error::{Error, Result};
use crate::journal::{Journal, LevelRecord, Record};
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
    /// How many clients are served at once in further turns of each round; none at first.
    pub concurrency: Concurrency,
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
        let (concurrency, meter, argv) = (Concurrency::default(), None, Vec::new());
        Self { conditions, configuration, warmups, rounds, new_tokens, concurrency, meter, argv }
    }

    /// Whether a journal holds every run already, so that no model is needed; an error if it holds runs
    /// that were measured differently.
    pub fn is_complete(&self, journal: &Journal) -> Result<bool> {
        journal.check(&self.configuration)?;
        let missing = |condition, level| journal.missing(condition, level, self.rounds) > 0;
        let mut turns = self.turns();
        Ok(!turns.any(|(index, level)| missing(&self.conditions[index], level)))
    }

    /// What runs in a round: every condition alone, so that these are close to each other, then each of
    /// them at every level. Conditions are told by their place in the list.
    fn turns(&self) -> impl Iterator<Item = (usize, Option<Level>)> {
        let alone = (0..self.conditions.len()).map(|index| (index, None));
        let levels = (0..self.conditions.len())
            .flat_map(|index| self.concurrency.levels().map(move |level| (index, Some(level))));
        alone.chain(levels)
    }

    /// How the engine is asked for tokens.
    pub(crate) fn generation(&self) -> GenerationOptions {
        // The first token comes out of the prefill; each further one takes a step.
        let tokens = self.new_tokens.saturating_add(1);
        GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(tokens) }
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
        let ran = vec![false; planned.len()];
        let mut run =
            Self { benchmark, subject, journal, observer, planned, ran, done: 0, total: 0 };
        run.total = (0..run.planned.len()).map(|index| run.left(index)).sum();
        Ok(run)
    }

    /// Runs of a condition that are missing, warm-ups included.
    fn left(&self, index: usize) -> usize {
        let Benchmark { warmups, rounds, .. } = *self.benchmark;
        let condition = self.planned[index].condition;
        let own = self.benchmark.turns().filter(|(other, _)| *other == index);
        let missing = own.map(|(_, level)| self.journal.missing(condition, level, rounds));
        missing.filter(|missing| *missing > 0).map(|missing| missing + warmups).sum()
    }

    /// Warms up, then measures round by round what the journal lacks. A process that goes on from a
    /// journal is as cold as any other, so it warms up, too.
    fn all(mut self) -> Result<()> {
        let Benchmark { warmups, rounds, .. } = *self.benchmark;
        let warmups = (0..warmups).map(|_| None);
        for round in warmups.chain((0..rounds).map(Some)) {
            for (index, level) in self.benchmark.turns() {
                let condition = self.planned[index].condition;
                let there = round.is_some_and(|round| self.journal.holds(condition, level, round));
                if !there && self.journal.missing(condition, level, rounds) > 0 {
                    self.turn(index, level, round)?;
                }
            }
            self.benchmark.check_refusals(self.journal)?;
        }
        Ok(())
    }

    /// One run of one condition, alone or at a level; in a round it counts.
    fn turn(&mut self, index: usize, level: Option<Level>, round: Option<usize>) -> Result<()> {
        let condition = self.planned[index].condition;
        self.report_progress(condition)?;
        let known = self.ran[index] || self.journal.get(condition, 0).is_some();
        let left = self.left(index);
        let turned = match level {
            None => self.alone(index, round),
            Some(level) => self.together(index, level, round),
        };
        match turned {
            Ok(()) => {}
            Err(Error::Engine(error)) if prunes(condition) && !known => {
                self.total -= left.saturating_sub(1);
                self.journal.refuse(condition, error.to_string())?;
            }
            Err(error) => return Err(error),
        }
        self.ran[index] = true;
        self.done += 1;
        self.report_progress(condition)
    }

    /// A request by itself.
    fn alone(&mut self, index: usize, round: Option<usize>) -> Result<()> {
        let planned = &self.planned[index];
        let (sample, outcome) = self.once(planned)?;
        let Some(round) = round else { return Ok(()) };
        let facts = Facts::new(self.subject, &planned.options.pruning, &outcome)?;
        let (setting, session) = (planned.condition.key(), 0);
        self.journal.append(Record { setting, round, session, sample, facts })
    }

    /// Several clients at once; each sends one request to warm up.
    fn together(&mut self, index: usize, level: Level, round: Option<usize>) -> Result<()> {
        let planned = &self.planned[index];
        let now = if round.is_some() { level } else { Level { requests: 1, ..level } };
        let turn = LevelTurn {
            subject: self.subject,
            options: &planned.options,
            generation: self.benchmark.generation(),
            meter: self.benchmark.meter,
        };
        let (sample, _) = turn.run(now)?;
        let Some(round) = round else { return Ok(()) };
        let (setting, session) = (planned.condition.key(), 0);
        self.journal.append_level(LevelRecord { setting, level, round, session, sample })
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
        let input = &self.subject.input;
        Request::new(vec![input.image.clone()], Prompt::InputIds(input.ids.clone()))
            .with(planned.options.clone())
            .generating(self.benchmark.generation())
    }
}
