//! The answer: a JSON document whose rows each stand for themselves, or tables.

mod markdown;
mod row;
mod stats;
mod table;

use std::collections::BTreeSet;

use mico_eval::Condition;
use serde::Serialize;

use crate::benchmark::Benchmark;
use crate::comparison::full_label;
use crate::concurrency::{Level, Turns};
use crate::configuration::{About, Configuration};
use crate::error::{Error, Result};
use crate::journal::{Journal, Record};
pub(crate) use markdown::markdown_table;
pub use row::{Row, Speedups, Times};
use row::{Run, Runs};
pub use stats::{Speedup, Spread};
pub(crate) use table::{mebibytes, milliseconds, setting_label};

/// Conditions side by side in a table on a terminal; more of them go one below the other.
const MAX_COLUMNS: usize = 5;

/// Everything that was measured, as the document that is written.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The model that was measured and how it was loaded.
    #[serde(flatten)]
    pub about: About,
    /// What decides the measurements, as the journal compares it.
    pub configuration: Configuration,
    /// `run`: the most memory held during each run; `process`: since the process began.
    peak_memory_of: &'static str,
    rounds: Vec<Round>,
    /// The unpruned model first.
    pub rows: Vec<Row>,
    /// Conditions the engine does not run.
    refused: Vec<Refusal>,
}

/// A turn of all conditions.
#[derive(Debug, Serialize)]
struct Round {
    round: usize,
    /// Whether more than one process ran it: then its ratios are not of one moment.
    interrupted: bool,
}

#[derive(Debug, Serialize)]
struct Refusal {
    setting: String,
    method: String,
    /// The engine's reason to refuse the condition.
    refused: String,
}

/// A condition with its records, round by round, alone and at every level.
struct Recorded<'a> {
    condition: &'a Condition,
    alone: Vec<&'a Record>,
    levels: Vec<Vec<Turns<'a>>>,
}

impl Report {
    pub(crate) fn new(benchmark: &Benchmark, journal: &Journal) -> Result<Self> {
        let Some((configuration, about)) = journal.header() else {
            return Err(Error::internal("nothing was measured"));
        };
        let run = Run {
            dtype: about.dtype.clone(),
            quantize: about.quantize.clone(),
            vision: about.vision.clone(),
            threads: configuration.threads(),
            attention: about.attention.clone(),
            commit: configuration.commit().map(str::to_owned),
            argv: benchmark.argv.clone(),
        };
        let (conditions, rounds) = (&benchmark.conditions, benchmark.rounds);
        let all: Vec<Recorded<'_>> =
            conditions.iter().map(|one| Recorded::new(one, benchmark, journal)).collect();
        let runs: Vec<Runs<'_>> = all.iter().filter_map(Recorded::runs).collect();
        let own = all.iter().flat_map(|each| &each.alone).all(|one| one.sample.peak_is_own);
        let refused = conditions.iter().filter_map(|condition| {
            let refused = journal.refusal(condition)?.to_owned();
            let (setting, method) = (full_label(condition), condition.label.clone());
            Some(Refusal { setting, method, refused })
        });
        Ok(Self {
            about: about.clone(),
            configuration: configuration.clone(),
            peak_memory_of: if own { "run" } else { "process" },
            rounds: (0..rounds).map(|round| Round::new(round, &all)).collect(),
            rows: runs.iter().map(|each| Row::new(each, runs.first(), run.clone())).collect(),
            refused: refused.collect(),
        })
    }

    /// What ran, for the head of a picture.
    pub(crate) fn subtitle(&self) -> String {
        let About { model, quantize, dtype, vision, attention, .. } = &self.about;
        format!(
            "{model}, {} decoder, {vision} tower, {dtype}, {attention}, {} threads, {} text tokens, {} rounds, commit {}",
            quantize.as_deref().unwrap_or("dense"),
            self.configuration.get("threads").unwrap_or_default(),
            self.configuration.get("text-tokens").unwrap_or_default(),
            self.rounds.len(),
            self.configuration.get("commit").unwrap_or_default(),
        )
    }

    /// One table, or several where there are many conditions.
    pub fn text(&self) -> String {
        let text = if self.rows.len() <= MAX_COLUMNS { self.columns() } else { self.markdown() };
        text.trim_end().to_owned()
    }
}

impl Round {
    fn new(round: usize, all: &[Recorded<'_>]) -> Self {
        let sessions = all.iter().flat_map(Recorded::sessions);
        let sessions = sessions.filter(|(other, _)| *other == round).map(|(_, session)| session);
        Self { round, interrupted: sessions.collect::<BTreeSet<usize>>().len() > 1 }
    }
}

impl<'a> Recorded<'a> {
    fn new(condition: &'a Condition, benchmark: &Benchmark, journal: &'a Journal) -> Self {
        let rounds = 0..benchmark.rounds;
        let alone = rounds.clone().filter_map(|round| journal.get(condition, round)).collect();
        let turns = |level: Level| {
            let one = Level { clients: 1, ..level };
            let turn = |round| {
                let turn = journal.level(condition, level, round)?;
                Some((turn, journal.level(condition, one, round)))
            };
            rounds.clone().filter_map(turn).collect()
        };
        Self { condition, alone, levels: benchmark.concurrency.levels().map(turns).collect() }
    }

    /// Round and session of every record.
    fn sessions(&self) -> impl Iterator<Item = (usize, usize)> {
        let alone = self.alone.iter().map(|record| (record.round, record.session));
        let levels = self.levels.iter().flatten();
        alone.chain(levels.map(|(record, _)| (record.round, record.session)))
    }

    /// The runs; none of a condition that was refused.
    fn runs(&self) -> Option<Runs<'a>> {
        let facts = &self.alone.first()?.facts;
        let samples = self.alone.iter().map(|record| &record.sample).collect();
        Some(Runs { condition: self.condition, facts, samples, levels: self.levels.clone() })
    }
}
