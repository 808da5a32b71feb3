//! One answer judged by the rule of its track and profile, on canonical fields.

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

/// Judges the answers of a track as a profile's toolkit does.
///
/// A track for which the toolkit has no rule is judged by a sibling: image tracks by VLMEvalKit's rule, video tracks by
/// lmms-eval's, AI2D in LLaVA's profile by lmms-eval's, MMMU there by its authors'.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// The track.
    pub track: Track,
    /// Whose rules.
    pub profile: Profile,
    /// In which version.
    pub rules: Rules,
}

impl Judge {
    /// With the current versions of all rules.
    pub fn new(track: Track, profile: Profile) -> Self {
        Self { track, profile, rules: Rules::default() }
    }

    /// The scorer's name for the record; a version that is not the current one and the way through a file are part of it.
    pub fn rule_name(&self) -> String {
        let Some(rule) = Rule::of(self) else { return "none".to_owned() };
        let name = rule.name(&self.rules);
        if self.through_file(rule) { format!("{name}.file") } else { name }
    }

    /// Judges one answer to the question with those fields.
    pub fn grade(&self, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
        let rule = Rule::of(self).ok_or(JudgeError::NoRule(self.track))?;
        let prediction = answer_of(prediction);
        let prediction = match self.profile {
            // lmms-eval trims an answer before any of its rules sees it.
            Profile::Lmms => strip(prediction),
            _ if self.through_file(rule) => through_file(prediction),
            _ => prediction,
        };
        rule.grade(&self.rules, fields, prediction)
    }

    /// Only VLMEvalKit writes answers to a file before it reads them.
    fn through_file(&self, rule: Rule) -> bool {
        self.rules.predictions == Predictions::File
            && rule.name(&self.rules).starts_with("vlmevalkit.")
    }
}

/// What a model that thinks aloud says after that.
fn answer_of(prediction: &str) -> &str {
    match prediction.rsplit_once("</think>") {
        Some((_, answer)) => strip(answer),
        None => prediction,
    }
}

#[cfg(test)]
mod tests;
