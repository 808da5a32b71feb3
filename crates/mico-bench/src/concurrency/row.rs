//! What a setting's row says of one number of clients.

use serde::Serialize;

use super::sample::{Distribution, LevelSample};
use crate::journal::LevelRecord;
use crate::memory::Allocated;
use crate::report::Spread;

/// The measurements of one condition at one number of clients, over all counted rounds.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct LevelRow {
    /// Clients at once.
    pub clients: usize,
    /// Requests of each client in a round.
    pub requests: usize,
    /// Requests that were answered, in all rounds together.
    pub answered: usize,
    /// Answers per second of wall time.
    pub requests_per_second: Spread,
    /// Tokens of all answers per second of wall time, prompts included in the time.
    pub tokens_per_second: Spread,
    /// Tokens of decode steps per second inside these steps.
    pub decode_tokens_per_second: Spread,
    /// Answers that took part in a decode step, on average.
    pub rows_per_step: Spread,
    /// What clients wait for, in seconds.
    pub seconds: LevelSeconds,
    /// The longest time between two tokens of an answer, in decode steps (their median time): how long
    /// a prompt that comes in makes running answers pause.
    pub pause_in_steps: Spread,
    /// Against one client in the same round; null if there was no such turn.
    pub relative_to_one: Option<RelativeToOne>,
    /// The most bytes of any round that admission counted at once.
    pub admitted_bytes: u64,
    /// The most that was allocated in any round; null if nobody counts.
    pub allocated_bytes: Option<Allocated>,
    /// The largest ratio of a round's allocated bytes, above its start, to its admitted ones.
    pub allocated_to_admitted: Option<f64>,
    /// The most resident memory of any round.
    pub peak_memory_bytes: u64,
}

/// Times of one level.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct LevelSeconds {
    /// From the start of a request, preprocessing and queue included, to its first token.
    pub first_token: Latency,
    /// Between two tokens of an answer.
    pub between_tokens: Latency,
    /// From the start of a request to its answer.
    pub request: Latency,
    /// Inside one decode step; the median of a round.
    pub step: Spread,
}

/// Median, 90th percentile and maximum of a round, each over all rounds.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Latency {
    /// The median of a round.
    pub median: Spread,
    /// The 90th percentile of a round.
    pub p90: Spread,
    /// The longest of a round.
    pub longest: Spread,
}

/// Ratios to the turn of one client in the same round.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct RelativeToOne {
    /// Of requests per second.
    pub requests_per_second: Spread,
    /// Of tokens per second inside decode steps.
    pub decode_tokens_per_second: Spread,
    /// Of the median time to the first token.
    pub first_token: Spread,
    /// Of the median time between tokens.
    pub between_tokens: Spread,
}

impl LevelSample {
    fn requests_per_second(&self) -> f64 {
        self.answered as f64 / self.seconds
    }

    fn decode_tokens_per_second(&self) -> f64 {
        self.steps.rows as f64 / self.steps.seconds
    }
}

/// A round's turn and, if there was one, that of a single client.
pub(crate) type Turns<'a> = (&'a LevelRecord, Option<&'a LevelRecord>);

impl LevelRow {
    /// A row of these turns, one for each round; `None` if there is none.
    pub(crate) fn new(turns: &[Turns<'_>]) -> Option<Self> {
        let level = turns.first()?.0.level;
        let samples: Vec<&LevelSample> = turns.iter().map(|(turn, _)| &turn.sample).collect();
        let spread = |of: &dyn Fn(&LevelSample) -> f64| {
            Spread::of(samples.iter().map(|sample| of(sample)).collect())
        };
        let allocated = samples.iter().filter_map(|sample| sample.allocated);
        let ratios = samples.iter().filter_map(|sample| {
            Some(sample.allocated?.above_start as f64 / sample.admitted.max(1) as f64)
        });
        Some(Self {
            clients: level.clients,
            requests: level.requests,
            answered: samples.iter().map(|sample| sample.answered).sum(),
            requests_per_second: spread(&LevelSample::requests_per_second),
            tokens_per_second: spread(&|s| s.tokens as f64 / s.seconds),
            decode_tokens_per_second: spread(&LevelSample::decode_tokens_per_second),
            rows_per_step: spread(&|s| s.steps.rows as f64 / s.steps.count as f64),
            seconds: LevelSeconds {
                first_token: Latency::new(&samples, |s| s.first_token),
                between_tokens: Latency::new(&samples, |s| s.between_tokens),
                request: Latency::new(&samples, |s| s.request),
                step: spread(&|s| s.steps.median),
            },
            pause_in_steps: spread(&|s| s.between_tokens.longest / s.steps.median),
            relative_to_one: RelativeToOne::new(turns),
            admitted_bytes: samples.iter().map(|s| s.admitted).max().unwrap_or(0),
            allocated_bytes: allocated.reduce(Allocated::most),
            allocated_to_admitted: ratios.reduce(f64::max),
            peak_memory_bytes: samples.iter().map(|s| s.peak_memory).max().unwrap_or(0),
        })
    }
}

impl Latency {
    fn new(samples: &[&LevelSample], of: fn(&LevelSample) -> Distribution) -> Self {
        let spread = |part: fn(Distribution) -> f64| {
            Spread::of(samples.iter().map(|sample| part(of(sample))).collect())
        };
        let (median, p90) = (spread(|d| d.median), spread(|d| d.p90));
        Self { median, p90, longest: spread(|d| d.longest) }
    }
}

impl RelativeToOne {
    fn new(turns: &[Turns<'_>]) -> Option<Self> {
        let pairs: Vec<(&LevelSample, &LevelSample)> =
            turns.iter().filter_map(|(turn, one)| Some((&turn.sample, &(*one)?.sample))).collect();
        let ratio = |of: fn(&LevelSample) -> f64| {
            Spread::of(pairs.iter().map(|(turn, one)| of(turn) / of(one)).collect())
        };
        (!pairs.is_empty()).then(|| Self {
            requests_per_second: ratio(LevelSample::requests_per_second),
            decode_tokens_per_second: ratio(LevelSample::decode_tokens_per_second),
            first_token: ratio(|s| s.first_token.median),
            between_tokens: ratio(|s| s.between_tokens.median),
        })
    }
}
