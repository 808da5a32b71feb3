//! Predictions made elsewhere, scored as if they had been made here.

use std::sync::Arc;

use mico_data::{Dataset, Predictions};

use mico_engine::Setting;

use crate::condition::Condition;
use crate::error::Result;
use crate::item::{Damaged, Item};
use crate::journal::Journal;
use crate::manifest::{Asked, Manifest};
use crate::record::{Keys, Record, Spent};
use crate::scoring::TrackSpec;
use crate::shard::Shard;

/// Why an item without a prediction counts as wrong.
const NONE: &str = "no prediction";

/// Predictions joined with a benchmark's files: records as a run would have left them.
#[derive(Debug)]
pub struct Joined {
    /// What was asked.
    pub manifest: Manifest,
    /// The predictions.
    pub journal: Journal,
    /// Items without a prediction; they stay in the denominator.
    pub missing: Vec<String>,
    /// Predictions that belong to no item.
    pub unused: usize,
}

/// Finds the prediction of every item.
pub fn join(dataset: &Dataset, spec: &TrackSpec, predictions: &Predictions) -> Result<Joined> {
    let journal = Journal::in_memory();
    let name = format!("{}, files {}", spec.name, dataset.fingerprint()?);
    let keys = Keys::new(&name);
    let (mut damaged, mut missing, mut used) = (Vec::new(), Vec::new(), 0);
    let mut samples = dataset.samples()?;
    let unpruned = Condition::unpruned(&Setting::default());
    for (position, sample) in samples.by_ref().enumerate() {
        let sample = match sample {
            Ok(sample) => sample,
            Err(error) => {
                damaged.push(Damaged { track: spec.name.clone(), reason: error.to_string() });
                continue;
            }
        };
        let found = predictions.find(&sample);
        used += usize::from(found.is_some());
        if found.is_none() {
            missing.push(sample.id.clone());
        }
        let item = Item {
            id: sample.id,
            track: 0,
            position,
            cluster: sample.cluster,
            fields: sample.fields,
            visuals: Vec::new(),
        };
        journal.append(Record {
            key: keys.of(&item, "", &unpruned),
            run: keys.clone(),
            track: spec.name.clone(),
            item: item.id,
            position,
            cluster: item.cluster,
            setting: unpruned.key(),
            prompt: String::new(),
            answer: found.map_or_else(String::new, |prediction| prediction.text.clone()),
            finish: String::new(),
            failure: found.is_none().then(|| NONE.to_owned()),
            fields: Arc::new(item.fields),
            visual: [0; 3],
            layer_average: 0.0,
            seconds: Spent::default(),
        })?;
    }
    let asked = Asked {
        source: name,
        tracks: vec![spec.clone()],
        run: keys,
        dropped: usize::try_from(samples.dropped()).unwrap_or(usize::MAX),
        items: vec![journal.len()],
    };
    let manifest = Manifest {
        title: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: String::new(),
        fingerprint: String::new(),
        argv: Vec::new(),
        asked: vec![asked],
        settings: vec![unpruned],
        refused: Vec::new(),
        limit: None,
        shard: Shard::default(),
        finished: true,
        damaged,
    };
    Ok(Joined { manifest, journal, missing, unused: predictions.rows().len().saturating_sub(used) })
}
