//! What counts as right in a track, and what its answers add up to.

use mico_score::{Fields, Grade, Judge, Marked, Metric, Prepared, Profile, Rules, Track};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::scorer::Scorer;

/// How the answers of a track are scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scoring {
    /// A rule of the generated scenes, counted as a share.
    Scenes {
        /// The rule that every item of the track is scored by.
        scorer: Scorer,
    },
    /// The rules of a published benchmark.
    Benchmark {
        /// The benchmark whose metric is computed.
        track: Track,
        /// The evaluation toolkit whose prompts and rules are followed.
        profile: Profile,
        /// Which of their versions.
        rules: Rules,
    },
}

/// Items that are scored alike and counted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrackSpec {
    /// The name in tables.
    pub name: String,
    /// What counts as right.
    pub scoring: Scoring,
}

impl TrackSpec {
    /// The benchmark it is, if it is one.
    pub fn benchmark(&self) -> Option<Track> {
        match self.scoring {
            Scoring::Benchmark { track, .. } => Some(track),
            Scoring::Scenes { .. } => None,
        }
    }

    /// The rule's name, for tables.
    pub fn rule(&self) -> String {
        match &self.scoring {
            Scoring::Scenes { scorer } => scorer.name().to_owned(),
            Scoring::Benchmark { .. } => {
                self.judge().map_or_else(String::new, |judge| judge.rule_name())
            }
        }
    }

    fn judge(&self) -> Option<Judge> {
        match &self.scoring {
            Scoring::Scenes { .. } => None,
            Scoring::Benchmark { track, profile, rules } => {
                Some(Judge { track: *track, profile: *profile, rules: *rules })
            }
        }
    }

    /// Scores an answer by the track's rule. It is an error if the item's fields lack what the rule
    /// reads.
    pub fn grade(&self, item: &str, fields: &Fields, answer: &str) -> Result<Grade> {
        let failed =
            |reason: String| Error::Score { item: format!("{} {item}", self.name), reason };
        match (&self.scoring, self.judge()) {
            (Scoring::Scenes { scorer }, _) => {
                let gold = fields.get("answer").and_then(|gold| gold.as_str());
                let gold = gold.ok_or_else(|| failed("field 'answer' is missing".into()))?;
                let score = f64::from(u8::from(scorer.right(answer, gold)));
                let reading = (!answer.trim().is_empty()).then(|| answer.trim().to_owned());
                Ok(Grade { score, reading })
            }
            (_, Some(judge)) => {
                judge.grade(fields, answer).map_err(|error| failed(error.to_string()))
            }
            (_, None) => Err(failed("has no rule".into())),
        }
    }

    /// What graded items add up to.
    pub fn values(&self, marked: &[Marked<'_>]) -> Values {
        match &self.scoring {
            Scoring::Scenes { .. } => {
                Values::Mean(marked.iter().map(|each| each.grade.score).collect())
            }
            Scoring::Benchmark { track, profile, .. } => {
                Values::Metric(Metric::of(*track, *profile).prepare(marked))
            }
        }
    }
}

/// A track's items, ready to be added up under any weights.
#[derive(Debug)]
pub enum Values {
    /// In percent of the items.
    Mean(Vec<f64>),
    /// As the benchmark does it.
    Metric(Prepared),
}

impl Values {
    /// The value with each item counted as often as its weight says.
    pub fn value(&self, weights: &[u32]) -> Option<f64> {
        match self {
            Self::Mean(scores) => {
                let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
                let sum: f64 = scores
                    .iter()
                    .zip(weights)
                    .map(|(score, &weight)| score * f64::from(weight))
                    .sum();
                (total > 0).then(|| 100.0 * sum / total as f64)
            }
            Self::Metric(prepared) => prepared.value(weights),
        }
    }

    /// The numbers the value is made of.
    pub fn parts(&self) -> Vec<(String, f64)> {
        match self {
            Self::Mean(_) => Vec::new(),
            Self::Metric(prepared) => prepared.parts(),
        }
    }
}
