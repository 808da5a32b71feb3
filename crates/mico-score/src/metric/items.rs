//! The judged items of a track, read by the names the metrics group them by.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Marked;
use super::formula::{Call, Formula, Group};

/// The items that count, by their places in the track.
#[derive(Clone)]
pub(super) struct Items<'a> {
    marked: &'a [Marked<'a>],
    places: Vec<usize>,
}

impl<'a> Items<'a> {
    /// All of them.
    pub(super) fn all(marked: &'a [Marked<'a>]) -> Self {
        Self { marked, places: (0..marked.len()).collect() }
    }

    /// Those for which `keep` holds.
    pub(super) fn filter(&self, keep: impl Fn(&Marked<'a>) -> bool) -> Self {
        let kept = self.places.iter().copied().filter(|&place| keep(&self.marked[place]));
        Self { marked: self.marked, places: kept.collect() }
    }

    /// Those of a split, if any is of that split; else all.
    pub(super) fn of_split(&self, split: &str) -> Self {
        let found = self.filter(|item| text(item, "split").as_deref() == Some(split));
        if found.places.is_empty() { self.clone() } else { found }
    }

    /// The items by what `key` says of each; those it says nothing of are left out.
    pub(super) fn by<K: Ord>(
        &self,
        key: impl Fn(usize, &Marked<'a>) -> Option<K>,
    ) -> BTreeMap<K, Self> {
        let mut found: BTreeMap<K, Self> = BTreeMap::new();
        for &place in &self.places {
            if let Some(key) = key(place, &self.marked[place]) {
                let of_key = Self { marked: self.marked, places: Vec::new() };
                found.entry(key).or_insert(of_key).places.push(place);
            }
        }
        found
    }

    /// The items by the text of a field.
    pub(super) fn by_field(&self, field: &str) -> BTreeMap<String, Self> {
        self.by(|_, item| text(item, field))
    }

    /// The items by category, where one may have several separated by commas and then stands under each.
    pub(super) fn by_categories(&self) -> BTreeMap<String, Self> {
        let mut found: BTreeMap<String, Self> = BTreeMap::new();
        for &place in &self.places {
            for category in text(&self.marked[place], "category").unwrap_or_default().split(',') {
                let of_key = Self { marked: self.marked, places: Vec::new() };
                found.entry(category.trim().to_owned()).or_insert(of_key).places.push(place);
            }
        }
        found
    }

    /// These items and then those, one that is in both twice.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.places.extend(&other.places);
        self
    }

    /// The first of them for which `holds` does.
    pub(super) fn find(&self, holds: impl Fn(&Marked<'a>) -> bool) -> Option<&'a Marked<'a>> {
        self.places.iter().map(|&place| &self.marked[place]).find(|item| holds(item))
    }

    /// Their mean score.
    pub(super) fn mean(&self) -> Formula {
        self.mean_of(|item| item.grade.score)
    }

    /// The mean of what `score` says of each.
    pub(super) fn mean_of(&self, score: impl Fn(&Marked<'a>) -> f64) -> Formula {
        Formula::Mean(
            self.places.iter().map(|&place| (place, score(&self.marked[place]))).collect(),
        )
    }

    /// Their calls of yes and no.
    pub(super) fn f1(&self) -> Formula {
        let call = |&item: &usize| {
            let marked = &self.marked[item];
            Call { item, said: said_yes(marked), truth: is_yes(marked) }
        };
        Formula::F1(self.places.iter().map(call).collect())
    }

    /// The same, where every answer is read as one or the other: what was not, was never given, and is the
    /// wrong one.
    pub(super) fn strict_f1(&self) -> Formula {
        let call = |&item: &usize| {
            let (marked, truth) = (&self.marked[item], is_yes(&self.marked[item]));
            let said = if marked.grade.reading.is_none() { !truth } else { said_yes(marked) };
            Call { item, said, truth }
        };
        Formula::F1(self.places.iter().map(call).collect())
    }

    /// As a group in which all must be right.
    pub(super) fn group(&self) -> Group {
        let right = self.places.iter().all(|&place| self.marked[place].grade.score >= 1.0);
        Group { items: self.places.clone(), right }
    }
}

/// A field as text.
pub(super) fn text(item: &Marked, field: &str) -> Option<String> {
    match item.fields.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A field as an integer, also one written as text.
pub(super) fn integer(item: &Marked, field: &str) -> Option<i64> {
    text(item, field)?.trim().parse().ok()
}

/// Whether yes is right.
pub(super) fn is_yes(item: &Marked) -> bool {
    text(item, "answer").is_some_and(|answer| answer.trim().eq_ignore_ascii_case("yes"))
}

/// Whether the answer was read as yes; what could not be read is none.
pub(super) fn said_yes(item: &Marked) -> bool {
    item.grade.reading.as_ref().is_some_and(|reading| reading.eq_ignore_ascii_case("yes"))
}
