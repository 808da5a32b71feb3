//! Selects and groups the judged items of a track by their fields, as the metrics need them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Marked;
use super::formula::{Call, Formula, Group};

/// A subset of a track's judged items, held as indices into the track.
#[derive(Clone)]
pub(super) struct Items<'a> {
    marked: &'a [Marked<'a>],
    places: Vec<usize>,
}

impl<'a> Items<'a> {
    /// Every item of the track.
    pub(super) fn all(marked: &'a [Marked<'a>]) -> Self {
        Self { marked, places: (0..marked.len()).collect() }
    }

    /// The items for which `keep` returns true.
    pub(super) fn filter(&self, keep: impl Fn(&Marked<'a>) -> bool) -> Self {
        let kept = self.places.iter().copied().filter(|&place| keep(&self.marked[place]));
        Self { marked: self.marked, places: kept.collect() }
    }

    /// The items of a split; all items if none is marked with that split.
    pub(super) fn of_split(&self, split: &str) -> Self {
        let found = self.filter(|item| text(item, "split").as_deref() == Some(split));
        if found.places.is_empty() { self.clone() } else { found }
    }

    /// Groups the items by the key that `key` returns; items for which it returns `None` are left out.
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

    /// Groups the items by the text of a field; items without the field are left out.
    pub(super) fn by_field(&self, field: &str) -> BTreeMap<String, Self> {
        self.by(|_, item| text(item, field))
    }

    /// Groups the items by category. An item may have several, separated by commas, and is then in
    /// each group.
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

    /// The items of both, one after the other; an item in both occurs twice.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.places.extend(&other.places);
        self
    }

    /// The first item for which `holds` returns true.
    pub(super) fn find(&self, holds: impl Fn(&Marked<'a>) -> bool) -> Option<&'a Marked<'a>> {
        self.places.iter().map(|&place| &self.marked[place]).find(|item| holds(item))
    }

    /// The mean of the items' scores, in percent.
    pub(super) fn mean(&self) -> Formula {
        self.mean_of(|item| item.grade.score)
    }

    /// The mean, in percent, of what `score` returns for each item.
    pub(super) fn mean_of(&self, score: impl Fn(&Marked<'a>) -> f64) -> Formula {
        Formula::Mean(
            self.places.iter().map(|&place| (place, score(&self.marked[place]))).collect(),
        )
    }

    /// The F1 score of the yes/no answers; an unreadable answer counts as not yes.
    pub(super) fn f1(&self) -> Formula {
        let call = |&item: &usize| {
            let marked = &self.marked[item];
            Call { item, said: said_yes(marked), truth: is_yes(marked) }
        };
        Formula::F1(self.places.iter().map(call).collect())
    }

    /// The F1 score where an unreadable answer counts as the wrong one, for toolkits that force
    /// every answer into yes or no.
    pub(super) fn strict_f1(&self) -> Formula {
        let call = |&item: &usize| {
            let (marked, truth) = (&self.marked[item], is_yes(&self.marked[item]));
            let said = if marked.grade.reading.is_none() { !truth } else { said_yes(marked) };
            Call { item, said, truth }
        };
        Formula::F1(self.places.iter().map(call).collect())
    }

    /// One group that is right only if every item is.
    pub(super) fn group(&self) -> Group {
        let right = self.places.iter().all(|&place| self.marked[place].grade.score >= 1.0);
        Group { items: self.places.clone(), right }
    }
}

/// A field's text, or its number as text; `None` if it is absent or of another type.
pub(super) fn text(item: &Marked, field: &str) -> Option<String> {
    match item.fields.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A field as an integer, whether stored as a number or as text.
pub(super) fn integer(item: &Marked, field: &str) -> Option<i64> {
    text(item, field)?.trim().parse().ok()
}

/// Whether the gold answer is yes, in any case.
pub(super) fn is_yes(item: &Marked) -> bool {
    text(item, "answer").is_some_and(|answer| answer.trim().eq_ignore_ascii_case("yes"))
}

/// Whether the answer was read as yes; an unreadable answer counts as no.
pub(super) fn said_yes(item: &Marked) -> bool {
    item.grade.reading.as_ref().is_some_and(|reading| reading.eq_ignore_ascii_case("yes"))
}
