//! Scores single answers. Start here to find out how an answer of a given track and profile is judged.

mod boxes;
mod choices;
mod fields;
mod rule;
mod settings;
mod texts;

pub use fields::JudgeError;
pub use settings::{Boxes, Predictions, Reader, RuleError, Rules};

use crate::rules::missing::through_file;
use crate::text::strip;
use crate::{Fields, Grade, Profile, Track};
use rule::Rule;

/// Scores the answers of a track as a profile's toolkit does.
///
/// A track for which the toolkit has no rule is scored by another toolkit's: image tracks by
/// VLMEvalKit's, video tracks by lmms-eval's. In LLaVA's profile, AI2D is scored by lmms-eval's
/// rule and MMMU by its authors'.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// The benchmark that the answers belong to.
    pub track: Track,
    /// The toolkit whose rules are followed.
    pub profile: Profile,
    /// The version of each rule, for those that have changed over time.
    pub rules: Rules,
}

impl Judge {
    /// A judge that uses the current version of every rule.
    pub fn new(track: Track, profile: Profile) -> Self {
        Self { track, profile, rules: Rules::default() }
    }

    /// The rule's name as stored in result files. It includes the version if that is not the
    /// current one, and `.file` if answers are passed through a prediction file first.
    pub fn rule_name(&self) -> String {
        let Some(rule) = Rule::of(self) else { return "none".to_owned() };
        let name = rule.name(&self.rules);
        if self.through_file(rule) { format!("{name}.file") } else { name }
    }

    /// Scores one answer against the gold in `fields`.
    pub fn grade(&self, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
        let rule = Rule::of(self).ok_or(JudgeError::NoRule(self.track))?;
        let prediction = answer_of(prediction);
        let prediction = match self.profile {
            // lmms-eval trims an answer before any rule is applied.
            Profile::Lmms => strip(prediction),
            _ if self.through_file(rule) => through_file(prediction),
            _ => prediction,
        };
        rule.grade(&self.rules, fields, prediction)
    }

    /// Whether answers go through VLMEvalKit's prediction file, which no other toolkit writes.
    fn through_file(&self, rule: Rule) -> bool {
        self.rules.predictions == Predictions::File
            && rule.name(&self.rules).starts_with("vlmevalkit.")
    }
}

/// The text after the last `</think>` of a reasoning model, or the whole text without one.
fn answer_of(prediction: &str) -> &str {
    match prediction.rsplit_once("</think>") {
        Some((_, answer)) => strip(answer),
        None => prediction,
    }
}

#[cfg(test)]
mod tests;
