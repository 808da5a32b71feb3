//! The answer: a JSON document whose rows each stand for themselves, or tables.

mod markdown;
mod row;
mod stats;
mod table;

use std::collections::BTreeSet;

use serde::Serialize;

use super::configuration::{About, Configuration};
use super::journal::{Journal, Record};
use super::settings::Setting;
use crate::failure::Failure;
pub(super) use row::{Row, count};
use row::{Run, Runs};

/// Settings side by side in a table on a terminal; more of them go one below the other.
const MAX_COLUMNS: usize = 5;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    about: About,
    /// What decides the measurements, as the journal compares it.
    configuration: Configuration,
    /// `run`: the most memory held during each run; `process`: since the process began.
    peak_memory_of: &'static str,
    rounds: Vec<Round>,
    /// The unpruned model first.
    pub(super) rows: Vec<Row>,
    /// Settings the engine does not run.
    refused: Vec<Refusal>,
}

/// A turn of all settings.
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
    /// Why.
    refused: String,
}

impl Report {
    pub(super) fn new(
        rounds: usize,
        settings: &[Setting],
        journal: &Journal,
    ) -> Result<Self, Failure> {
        let Some((configuration, about)) = journal.header() else {
            return Err(Failure::failed("nothing was measured"));
        };
        let run = Run {
            dtype: about.dtype.clone(),
            quantize: about.quantize.clone(),
            vision: about.vision.clone(),
            threads: rayon::current_num_threads(),
            attention: about.attention.clone(),
            commit: configuration.get("commit").filter(|c| *c != "unknown").map(str::to_owned),
            argv: std::env::args().collect(),
        };
        let records = |setting| -> Vec<&Record> {
            (0..rounds).filter_map(|round| journal.get(setting, round)).collect()
        };
        let all: Vec<(&Setting, Vec<&Record>)> =
            settings.iter().map(|setting| (setting, records(setting))).collect();
        let runs: Vec<Runs<'_>> = all
            .iter()
            .filter_map(|(setting, records)| {
                let facts = &records.first()?.facts;
                let samples = records.iter().map(|record| &record.sample).collect();
                Some(Runs { setting, facts, samples })
            })
            .collect();
        let records = || all.iter().flat_map(|(_, records)| records);
        let interrupted = |round: usize| {
            let of_round = records().filter(|record| record.round == round);
            of_round.map(|record| record.session).collect::<BTreeSet<usize>>().len() > 1
        };
        let base = runs.first();
        let refused = settings.iter().filter_map(|setting| {
            let refused = journal.refusal(setting)?.to_owned();
            Some(Refusal { setting: setting.label(), method: setting.name.clone(), refused })
        });
        let own = records().all(|record| record.sample.peak_is_own);
        Ok(Self {
            about: about.clone(),
            configuration: configuration.clone(),
            peak_memory_of: if own { "run" } else { "process" },
            rounds: (0..rounds)
                .map(|round| Round { round, interrupted: interrupted(round) })
                .collect(),
            rows: runs.iter().map(|each| Row::new(each, base, run.clone())).collect(),
            refused: refused.collect(),
        })
    }

    /// What ran, for the head of a picture.
    pub(super) fn subtitle(&self) -> String {
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

    /// What is printed.
    pub(super) fn text(&self) -> String {
        let text = if self.rows.len() <= MAX_COLUMNS { self.columns() } else { self.markdown() };
        text.trim_end().to_owned()
    }
}
