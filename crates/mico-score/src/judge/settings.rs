//! Named versions of the rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules::grec::Measure;
use crate::rules::ocrbench;
use crate::rules::options;
use crate::rules::vqa::Stop;

/// A choice whose values have names; the first is the default.
trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];

    #[expect(clippy::expect_used, reason = "a value without a row is a mistake in this file")]
    fn name(self) -> &'static str {
        let row = Self::NAMES.iter().find(|(_, value)| *value == self);
        row.map(|(name, _)| *name).expect("every value has a name")
    }
}

/// Which of lmms-eval's readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Since April 2026.
    Current,
    /// Before.
    Legacy,
}

/// How predictions reach VLMEvalKit's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predictions {
    /// As they are.
    Raw,
    /// Written to a file and read back, which turns an empty answer into the text `nan`.
    File,
}

/// What the numbers of a box are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boxes {
    /// What the profile's models use: LLaVA and lmms-eval fractions, InternVL and Qwen's custom prompts thousandths,
    /// VLMEvalKit its guess.
    Profile,
    /// Shares of the picture.
    Fractions,
    /// Thousandths of the picture.
    Thousandths,
    /// Pixels of the resized picture the model saw; the field `model_input` holds its width and height.
    ResizedPixels,
    /// Guessed from the largest number, as VLMEvalKit does.
    Magnitude,
}

impl Named for options::Version {
    const NAMES: &'static [(&'static str, Self)] =
        &[("2026-06", Self::June2026), ("2025-08", Self::August2025), ("before", Self::Before)];
}

impl Named for Reader {
    const NAMES: &'static [(&'static str, Self)] =
        &[("current", Self::Current), ("legacy", Self::Legacy)];
}

impl Named for Measure {
    const NAMES: &'static [(&'static str, Self)] = &[("giou", Self::Giou), ("iou", Self::Iou)];
}

impl Named for Stop {
    const NAMES: &'static [(&'static str, Self)] =
        &[("current", Self::BetweenNoDigits), ("before-2025-05", Self::BeforeNoDigit)];
}

impl Named for ocrbench::Version {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("current", Self::Folded),
        ("before-2026-07", Self::Plain),
        ("before-2026-04", Self::Lowered),
    ];
}

impl Named for Predictions {
    const NAMES: &'static [(&'static str, Self)] = &[("raw", Self::Raw), ("file", Self::File)];
}

impl Named for Boxes {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("profile", Self::Profile),
        ("fractions", Self::Fractions),
        ("thousandths", Self::Thousandths),
        ("resized-pixels", Self::ResizedPixels),
        ("magnitude", Self::Magnitude),
    ];
}

/// Which version of each rule that has changed over time, or that models and papers differ on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<&'static str, &'static str>", try_from = "BTreeMap<String, String>")]
pub struct Rules {
    /// `extract`: VLMEvalKit's option letters: `2026-06`, `2025-08` or `before`.
    pub extract: options::Version,
    /// `video`: the letters of Video-MME and MLVU: `current` or `legacy`.
    pub video: Reader,
    /// `mmstar`: lmms-eval's MMStar: `current` or `legacy`, which is the authors' rule.
    pub mmstar: Reader,
    /// `grec`: gRefCOCO's matching: `giou` or `iou`.
    pub grec: Measure,
    /// `vqa`: VLMEvalKit's full stops: `current` or `before-2025-05`.
    pub vqa: Stop,
    /// `ocrbench`: lmms-eval's OCRBench: `current`, `before-2026-07` or `before-2026-04`.
    pub ocrbench: ocrbench::Version,
    /// `predictions`: `raw` or `file`.
    pub predictions: Predictions,
    /// `boxes`: `profile`, `fractions`, `thousandths`, `resized-pixels` or `magnitude`.
    pub boxes: Boxes,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            extract: options::Version::June2026,
            video: Reader::Current,
            mmstar: Reader::Current,
            grec: Measure::Giou,
            vqa: Stop::BetweenNoDigits,
            ocrbench: ocrbench::Version::Folded,
            predictions: Predictions::Raw,
            boxes: Boxes::Profile,
        }
    }
}

/// Why a version cannot be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// There are no versions of that name.
    #[error("rule '{name}', accepted: {accepted}")]
    Name {
        /// The name.
        name: String,
        /// Those there are.
        accepted: String,
    },
    /// The rule has no such version.
    #[error("rule '{name}': value '{value}', accepted: {accepted}")]
    Value {
        /// The rule.
        name: &'static str,
        /// The value.
        value: String,
        /// Those there are.
        accepted: String,
    },
}

impl Rules {
    /// Chooses the version of one rule by name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), RuleError> {
        match name {
            "extract" => choose(&mut self.extract, "extract", value),
            "video" => choose(&mut self.video, "video", value),
            "mmstar" => choose(&mut self.mmstar, "mmstar", value),
            "grec" => choose(&mut self.grec, "grec", value),
            "vqa" => choose(&mut self.vqa, "vqa", value),
            "ocrbench" => choose(&mut self.ocrbench, "ocrbench", value),
            "predictions" => choose(&mut self.predictions, "predictions", value),
            "boxes" => choose(&mut self.boxes, "boxes", value),
            _ => {
                let accepted = self.values().map(|(name, _)| name).join(", ");
                Err(RuleError::Name { name: name.to_owned(), accepted })
            }
        }
    }

    /// Every rule with the name of its version, for the record.
    pub fn values(&self) -> [(&'static str, &'static str); 8] {
        [
            ("extract", self.extract.name()),
            ("video", self.video.name()),
            ("mmstar", self.mmstar.name()),
            ("grec", self.grec.name()),
            ("vqa", self.vqa.name()),
            ("ocrbench", self.ocrbench.name()),
            ("predictions", self.predictions.name()),
            ("boxes", self.boxes.name()),
        ]
    }
}

impl From<Rules> for BTreeMap<&'static str, &'static str> {
    fn from(rules: Rules) -> Self {
        rules.values().into_iter().collect()
    }
}

impl TryFrom<BTreeMap<String, String>> for Rules {
    type Error = RuleError;

    fn try_from(pairs: BTreeMap<String, String>) -> Result<Self, RuleError> {
        let mut rules = Self::default();
        pairs.iter().try_for_each(|(name, value)| rules.set(name, value))?;
        Ok(rules)
    }
}

fn choose<T: Named>(place: &mut T, name: &'static str, value: &str) -> Result<(), RuleError> {
    let found = T::NAMES.iter().find(|(name, _)| *name == value);
    let (_, chosen) = found.ok_or_else(|| RuleError::Value {
        name,
        value: value.to_owned(),
        accepted: T::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    })?;
    *place = *chosen;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_set_by_name() {
        let mut rules = Rules::default();
        for (name, value) in [
            ("extract", "before"),
            ("grec", "iou"),
            ("boxes", "resized-pixels"),
            ("predictions", "file"),
        ] {
            rules.set(name, value).unwrap();
            assert!(rules.values().contains(&(name, value)));
        }
        for (name, value) in Rules::default().values() {
            rules.set(name, value).unwrap();
        }
        assert_eq!(rules, Rules::default());
    }

    #[test]
    fn wrong_names_and_values_say_what_is_accepted() {
        let error = |name, value| Rules::default().set(name, value).unwrap_err().to_string();
        assert_eq!(error("grec", "diou"), "rule 'grec': value 'diou', accepted: giou, iou");
        assert!(error("stop", "x").starts_with("rule 'stop', accepted: extract, video, "));
    }
}
