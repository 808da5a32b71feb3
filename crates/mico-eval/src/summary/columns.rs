//! Records put in order: a track's items, and every setting's judged answers to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mico_score::{Fields, Grade};

use super::missing::missing_of;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::manifest::Manifest;
use crate::record::{Record, RunKey};
use crate::scoring::TrackSpec;

/// Why an answer ended, if it was cut.
const CUT: &str = "length";

/// An item of a track.
#[derive(Debug, Clone)]
pub struct TrackItem {
    /// The item's id, unique within its track.
    pub id: String,
    /// The picture it is about, as a number in its source.
    pub cluster: usize,
    /// Question, options and gold.
    pub fields: Arc<Fields>,
}

/// An answer with the score that the track's rule gives it.
#[derive(Debug, Clone)]
pub struct GradedAnswer {
    /// What the rule says of it.
    pub grade: Grade,
    /// The record that holds the answer.
    pub record: Record,
}

impl GradedAnswer {
    /// Whether it counts as right where one has to say yes or no.
    pub fn is_right(&self) -> bool {
        self.grade.score >= 0.5
    }

    /// Whether it was cut at the longest allowed.
    pub fn is_cut(&self) -> bool {
        self.record.finish == CUT
    }
}

/// A track with everything that was answered.
#[derive(Debug)]
pub struct Column {
    /// The track's name and scoring rule.
    pub spec: TrackSpec,
    /// The source it belongs to.
    pub source: usize,
    /// Its items in the benchmark's order.
    pub items: Vec<TrackItem>,
    /// For each of the manifest's settings, the answers in the order of items.
    pub answers: Vec<Vec<Option<GradedAnswer>>>,
    /// Pictures of its source.
    pub clusters: usize,
}

impl Column {
    /// Whether a setting has an answer to every item.
    pub(super) fn is_complete(&self, setting: usize) -> bool {
        self.answered(setting) == self.items.len()
    }

    pub(crate) fn answered(&self, setting: usize) -> usize {
        self.answers[setting].iter().flatten().count()
    }
}

/// Every track of a run. Records of other runs, settings and items beyond the limit are left alone. It is an
/// error if a record is missing of a run that came to its end.
pub fn columns_of(manifest: &Manifest, journal: &Journal) -> Result<Vec<Column>> {
    let columns = present_columns(manifest, journal)?;
    match missing_of(manifest, &columns).filter(|_| manifest.finished) {
        Some(reason) => Err(Error::MissingRecords { reason }),
        None => Ok(columns),
    }
}

/// What records are missing of a run, whether it came to its end or not.
pub(crate) fn missing_records(manifest: &Manifest, journal: &Journal) -> Result<Option<String>> {
    Ok(missing_of(manifest, &present_columns(manifest, journal)?))
}

/// Every track of a run with what there is of it.
fn present_columns(manifest: &Manifest, journal: &Journal) -> Result<Vec<Column>> {
    let settings: BTreeMap<String, usize> =
        (0..).zip(&manifest.settings).map(|(at, s)| (s.key(), at)).collect();
    let mut sorted: BTreeMap<(RunKey, String), Vec<Record>> = BTreeMap::new();
    for record in journal.records() {
        let within = manifest.limit.is_none_or(|limit| record.position < limit);
        if within && settings.contains_key(&record.setting) {
            sorted.entry((record.run.clone(), record.track.clone())).or_default().push(record);
        }
    }
    let mut columns = Vec::new();
    for (source, asked) in manifest.asked.iter().enumerate() {
        let records: Vec<Vec<Record>> = asked
            .tracks
            .iter()
            .map(|spec| sorted.remove(&(asked.run.clone(), spec.name.clone())).unwrap_or_default())
            .collect();
        let names = records.iter().flatten().map(|record| record.cluster.clone());
        let mut clusters: BTreeMap<String, usize> = names.map(|name| (name, 0)).collect();
        (0..).zip(clusters.values_mut()).for_each(|(number, value)| *value = number);
        for (spec, records) in asked.tracks.iter().zip(records) {
            let mut column = Column {
                spec: spec.clone(),
                source,
                items: Vec::new(),
                answers: vec![Vec::new(); manifest.settings.len()],
                clusters: clusters.len(),
            };
            column.fill(records, &settings, &clusters)?;
            columns.push(column);
        }
    }
    Ok(columns)
}

impl Column {
    fn fill(
        &mut self,
        mut records: Vec<Record>,
        settings: &BTreeMap<String, usize>,
        clusters: &BTreeMap<String, usize>,
    ) -> Result<()> {
        records.sort_by(|a, b| (a.position, &a.item).cmp(&(b.position, &b.item)));
        for record in records {
            if self.items.last().is_none_or(|last| last.id != record.item) {
                self.items.push(TrackItem {
                    id: record.item.clone(),
                    cluster: clusters.get(&record.cluster).copied().unwrap_or_default(),
                    fields: Arc::clone(&record.fields),
                });
                self.answers.iter_mut().for_each(|answers| answers.push(None));
            }
            let grade = if record.failure.is_some() {
                // Some rules take silence for an answer; an item that was never asked gets no point.
                Grade { score: 0.0, reading: None }
            } else {
                self.spec.grade(&record.item, &record.fields, &record.answer)?
            };
            let Some(&setting) = settings.get(&record.setting) else { continue };
            if let Some(place) = self.answers[setting].last_mut() {
                *place = Some(GradedAnswer { grade, record });
            }
        }
        Ok(())
    }
}
