//! Predictions made elsewhere, scored as if they had been made here.

use mico_data::{Dataset, Predictions, Sample};
use mico_engine::Setting;

use crate::condition::Condition;
use crate::error::Result;
use crate::item::{DamagedRow, Item};
use crate::journal::Journal;
use crate::manifest::{Manifest, SourceEntry};
use crate::record::{Record, RunKey};
use crate::scoring::TrackSpec;
use crate::shard::Shard;

/// Why an item without a prediction counts as wrong.
const NONE: &str = "no prediction";

/// Predictions joined with a benchmark's files: records as a run would have left them.
#[derive(Debug)]
pub struct JoinedPredictions {
    /// The benchmark as a run of one source, under the one condition that predictions have.
    pub manifest: Manifest,
    /// One record for each item, with the prediction as its answer.
    pub journal: Journal,
    /// Items without a prediction; they stay in the denominator.
    pub missing: Vec<String>,
    /// Predictions that belong to no item.
    pub unused: usize,
}

/// Finds the prediction of every item of a benchmark.
pub fn join_predictions(
    dataset: &Dataset,
    spec: &TrackSpec,
    predictions: &Predictions,
) -> Result<JoinedPredictions> {
    let name = format!("{}, files {}", spec.name, dataset.fingerprint()?);
    let run = RunKey::new(&name);
    let unpruned = Condition::unpruned(&Setting::default());
    let journal = Journal::in_memory();
    let (mut damaged, mut missing, mut used) = (Vec::new(), Vec::new(), 0);
    let mut samples = dataset.samples()?;
    for (position, sample) in samples.by_ref().enumerate() {
        let sample = match sample {
            Ok(sample) => sample,
            Err(error) => {
                damaged.push(DamagedRow { track: spec.name.clone(), reason: error.to_string() });
                continue;
            }
        };
        let found = predictions.find(&sample);
        let item = item(sample, position);
        let mut record = Record::unanswered(&run, &spec.name, &item, "", &unpruned);
        if let Some(prediction) = found {
            record.answer.clone_from(&prediction.text);
            used += 1;
        } else {
            record.failure = Some(NONE.to_owned());
            missing.push(item.id);
        }
        journal.append(record)?;
    }
    let source = SourceEntry {
        source: name,
        tracks: vec![spec.clone()],
        run,
        dropped: usize::try_from(samples.dropped()).unwrap_or(usize::MAX),
        items: vec![journal.len()],
    };
    let manifest = manifest(source, unpruned, damaged);
    let unused = predictions.rows().len().saturating_sub(used);
    Ok(JoinedPredictions { manifest, journal, missing, unused })
}

/// A benchmark's row as an item; nothing is shown, for nothing is asked.
fn item(sample: Sample, position: usize) -> Item {
    Item {
        id: sample.id,
        track: 0,
        position,
        cluster: sample.cluster,
        fields: sample.fields,
        visuals: Vec::new(),
    }
}

/// The manifest of a run that asked one source under one condition, of a model that is not known.
fn manifest(source: SourceEntry, condition: Condition, damaged: Vec<DamagedRow>) -> Manifest {
    Manifest {
        title: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: String::new(),
        fingerprint: String::new(),
        argv: Vec::new(),
        asked: vec![source],
        settings: vec![condition],
        refused: Vec::new(),
        limit: None,
        shard: Shard::default(),
        finished: true,
        damaged,
    }
}
