//! Settings against one another, on the same items.

use serde::Serialize;

use super::{Draws, Estimate};
use crate::condition::Condition;
use crate::stats::mcnemar;

/// Two settings on the items of one track.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrackComparison {
    /// The name of the track.
    pub track: String,
    /// The first's value minus the second's, by paired draws.
    pub difference: Option<Estimate>,
    /// Items only the first got right, and only the second.
    pub only: [usize; 2],
    /// McNemar's exact p-value of those two counts.
    pub p_value: f64,
}

/// Two settings on the same items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The budget T that both settings have.
    pub tokens: usize,
    /// The label of the first setting.
    pub first: String,
    /// The label of the second setting.
    pub second: String,
    /// The first's Acc minus the second's, by paired draws; `None` without an Acc.
    pub difference: Option<Estimate>,
    /// Items only the first got right, and only the second.
    pub only: [usize; 2],
    /// McNemar's exact p-value of those two counts, as if all items were independent.
    pub p_value: f64,
    /// The same comparison for each track.
    pub tracks: Vec<TrackComparison>,
}

/// What a difference says.
pub(crate) fn verdict(difference: Estimate, first: &str, second: &str) -> String {
    match () {
        () if difference.low > 0.0 => format!("{first} is better"),
        () if difference.high < 0.0 => format!("{second} is better"),
        () => "no significant difference".to_owned(),
    }
}

/// Every pair of settings with the same budget.
pub(super) fn pairs(draws: &Draws<'_>, complete: &[(usize, &Condition)]) -> Vec<Comparison> {
    let mut all = Vec::new();
    for (first, (_, one)) in complete.iter().enumerate() {
        for (second, (_, other)) in complete.iter().enumerate().skip(first + 1) {
            let Some(tokens) = one.tokens().filter(|_| one.tokens() == other.tokens()) else {
                continue;
            };
            let tracks: Vec<TrackComparison> = (0..draws.columns().len())
                .map(|track| compare(draws, track, [first, second]))
                .collect();
            let sum = |at: usize| tracks.iter().map(|track| track.only[at]).sum();
            let only = [sum(0), sum(1)];
            let difference = draws
                .estimate(|values| Some(draws.acc(&values[first])? - draws.acc(&values[second])?));
            all.push(Comparison {
                tokens,
                first: one.label.clone(),
                second: other.label.clone(),
                difference,
                only,
                p_value: mcnemar(only[0], only[1]),
                tracks,
            });
        }
    }
    all
}

fn compare(draws: &Draws<'_>, track: usize, [first, second]: [usize; 2]) -> TrackComparison {
    let both = draws.graded(first, track).zip(draws.graded(second, track));
    let mut only = [0, 0];
    for (one, other) in both {
        match (one.is_right(), other.is_right()) {
            (true, false) => only[0] += 1,
            (false, true) => only[1] += 1,
            _ => {}
        }
    }
    TrackComparison {
        track: draws.columns()[track].spec.name.clone(),
        difference: draws.estimate(|values| Some(values[first][track]? - values[second][track]?)),
        only,
        p_value: mcnemar(only[0], only[1]),
    }
}
