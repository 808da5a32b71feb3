//! Right answers, counted by track and by picture.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Estimate, TrackScore};
use crate::aggregate;
use crate::scorer::Scorer;
use crate::stats::{Resamples, wilson};
use crate::task::{Item, Track};

/// Which items were answered rightly under one setting.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    right: Vec<bool>,
    /// For each picture and track, answers that are right and asked.
    counts: Vec<Vec<[u32; 2]>>,
}

impl Tally {
    pub(crate) fn new(items: &[Item], tracks: usize, right: Vec<bool>) -> Self {
        let mut pictures: BTreeMap<u64, Vec<[u32; 2]>> = BTreeMap::new();
        for (item, &right) in items.iter().zip(&right) {
            let counts = pictures.entry(item.picture).or_insert_with(|| vec![[0; 2]; tracks]);
            counts[item.track][0] += u32::from(right);
            counts[item.track][1] += 1;
        }
        Self { right, counts: pictures.into_values().collect() }
    }

    /// What the most frequent answer to each form of question would get right.
    pub(crate) fn chance(items: &[Item], tracks: &[Track]) -> Self {
        let mut forms: BTreeMap<(usize, &str), Vec<&str>> = BTreeMap::new();
        for item in items {
            forms.entry((item.track, &item.form)).or_default().push(&item.answer);
        }
        let said: BTreeMap<(usize, &str), &str> = forms
            .iter()
            .filter_map(|(&form, golds)| Some((form, best_constant(tracks[form.0].scorer, golds)?)))
            .collect();
        let right = items.iter().map(|item| {
            let said = said.get(&(item.track, item.form.as_str()));
            said.is_some_and(|said| tracks[item.track].scorer.right(said, &item.answer))
        });
        Self::new(items, tracks.len(), right.collect())
    }

    pub(crate) fn pictures(&self) -> usize {
        self.counts.len()
    }

    /// Acc in percent, each picture counted as often as `times` says; `None` if a track has no item.
    pub(crate) fn drawn(&self, times: &[u16]) -> Option<f64> {
        let tracks = self.counts.first()?.len();
        let mut sums = vec![[0_u64; 2]; tracks];
        for (counts, &times) in self.counts.iter().zip(times) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                sum[0] += u64::from(count[0]) * u64::from(times);
                sum[1] += u64::from(count[1]) * u64::from(times);
            }
        }
        let shares = sums
            .iter()
            .map(|&[right, asked]| (asked > 0).then(|| 100.0 * right as f64 / asked as f64));
        aggregate::acc(&shares.collect::<Option<Vec<_>>>()?)
    }

    /// Acc in percent; 0 without items.
    pub(crate) fn value(&self) -> f64 {
        self.drawn(&vec![1; self.counts.len()]).unwrap_or(0.0)
    }

    pub(crate) fn acc(&self, resamples: &Resamples) -> Estimate {
        Estimate::drawn(self.value(), resamples.map(|times| self.drawn(times)))
    }

    pub(crate) fn rel(&self, unpruned: &Self, resamples: &Resamples) -> Option<Estimate> {
        let value = aggregate::rel(self.value(), unpruned.value())?;
        let draws =
            resamples.map(|times| aggregate::rel(self.drawn(times)?, unpruned.drawn(times)?));
        Some(Estimate::drawn(value, draws))
    }

    pub(crate) fn tracks(&self, tracks: &[Track]) -> Vec<TrackScore> {
        let score = |(index, track): (usize, &Track)| {
            let sum = |part: usize| -> usize {
                self.counts.iter().map(|counts| counts[index][part] as usize).sum()
            };
            let (right, asked) = (sum(0), sum(1));
            let (low, high) = wilson(right, asked);
            let value = 100.0 * right as f64 / asked.max(1) as f64;
            let accuracy = Estimate { value, low: 100.0 * low, high: 100.0 * high };
            TrackScore { track: track.name, asked, right, accuracy }
        };
        tracks.iter().enumerate().map(score).collect()
    }

    /// Items only this setting, and only the other one, got right.
    pub(crate) fn only(&self, other: &Self) -> [usize; 2] {
        let both = self.right.iter().zip(&other.right);
        let count =
            |wanted: (bool, bool)| both.clone().filter(|&(&a, &b)| (a, b) == wanted).count();
        [count((true, false)), count((false, true))]
    }
}

/// The answer that is right most often; of equals the first in the alphabet.
fn best_constant<'a>(scorer: Scorer, golds: &[&'a str]) -> Option<&'a str> {
    let hits = |said: &str| golds.iter().filter(|gold| scorer.right(said, gold)).count();
    golds.iter().copied().max_by_key(|said| (hits(said), Reverse(*said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(track: usize, picture: u64, answer: &str) -> Item {
        let text = |text: &str| text.to_owned();
        Item {
            id: format!("{track}-{picture}"),
            track,
            picture,
            question: text("?"),
            answer: text(answer),
            form: text("?"),
        }
    }

    const TRACKS: [Track; 2] =
        [Track { name: "a", scorer: Scorer::Exact }, Track { name: "b", scorer: Scorer::Exact }];

    #[test]
    fn acc_is_the_mean_of_tracks_not_of_items() {
        let items = [item(0, 0, "x"), item(0, 1, "x"), item(0, 2, "x"), item(1, 0, "x")];
        let tally = Tally::new(&items, 2, vec![true, false, false, true]);
        assert!((tally.value() - f64::midpoint(100.0 / 3.0, 100.0)).abs() < 1e-9);
        let other = Tally::new(&items, 2, vec![false, true, false, true]);
        assert_eq!(tally.only(&other), [1, 1]);
        assert_eq!(tally.rel(&tally, &Resamples::new(3, 50)).unwrap().value, 100.0);
    }

    #[test]
    fn chance_is_the_best_constant() {
        let answers = ["yes", "no", "no", "no"];
        let items: Vec<Item> = (0..4).map(|i| item(0, i as u64, answers[i])).collect();
        let chance = Tally::chance(&items, &TRACKS[..1]);
        assert_eq!(chance.tracks(&TRACKS[..1])[0].right, 3);
    }
}
