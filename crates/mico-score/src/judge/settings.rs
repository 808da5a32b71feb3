//! Named versions of the scoring rules, selectable so that numbers published with an older toolkit
//! can be reproduced.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules::grec::Measure;
use crate::rules::ocrbench;
use crate::rules::options;
use crate::rules::vqa::Stop;

/// A setting whose values have names; the first in the list is the default.
trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];

    #[expect(clippy::expect_used, reason = "a value without a row is a mistake in this file")]
    fn name(self) -> &'static str {
        let row = Self::NAMES.iter().find(|(_, value)| *value == self);
        row.map(|(name, _)| *name).expect("every value has a name")
    }
}

/// Which version of lmms-eval's answer parser is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The parser that lmms-eval has used since April 2026.
    Current,
    /// The parser that lmms-eval used before April 2026.
    Legacy,
}

/// Whether predictions pass through VLMEvalKit's prediction file before they are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predictions {
    /// Predictions are scored as the model wrote them.
    Raw,
    /// Predictions are written to a file and read back, which turns an empty answer into the text `nan`.
    File,
}

/// The coordinate unit in which a model writes bounding boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boxes {
    /// The unit of the profile's models: fractions for LLaVA and lmms-eval, thousandths for
    /// InternVL and Qwen's custom prompts, VLMEvalKit's guess for its own profile.
    Profile,
    /// Fractions of the image's width and height, from 0 to 1.
    Fractions,
    /// Thousandths of the image's width and height, from 0 to 1000.
    Thousandths,
    /// Pixels of the resized image that the model saw; the field `model_input` holds its width and
    /// height.
    ResizedPixels,
    /// Guessed from the largest number in the box, as VLMEvalKit does.
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

/// The version in use of each rule that has changed over time or on which models and papers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<&'static str, &'static str>", try_from = "BTreeMap<String, String>")]
pub struct Rules {
    /// `extract`: how VLMEvalKit finds the option letter: `2026-06`, `2025-08` or `before`.
    pub extract: options::Version,
    /// `video`: how the option letter of Video-MME and MLVU is found: `current` or `legacy`.
    pub video: Reader,
    /// `mmstar`: lmms-eval's rule for MMStar: `current`, or `legacy` for the authors' rule.
    pub mmstar: Reader,
    /// `grec`: the overlap measure for matching boxes in gRefCOCO: `giou` or `iou`.
    pub grec: Measure,
    /// `vqa`: which full stops VLMEvalKit's normaliser removes: `current` or `before-2025-05`.
    pub vqa: Stop,
    /// `ocrbench`: lmms-eval's rule for OCRBench: `current`, `before-2026-07` or `before-2026-04`.
    pub ocrbench: ocrbench::Version,
    /// `predictions`: whether VLMEvalKit's prediction file is simulated: `raw` (no) or `file` (yes).
    pub predictions: Predictions,
    /// `boxes`: the unit of box coordinates: `profile`, `fractions`, `thousandths`,
    /// `resized-pixels` or `magnitude`.
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

/// Why a rule version could not be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// No rule with selectable versions has that name.
    #[error("rule '{name}', accepted: {accepted}")]
    Name {
        /// The rule name that was given.
        name: String,
        /// The rule names that exist, separated by commas.
        accepted: String,
    },
    /// The rule has no version of that name.
    #[error("rule '{name}': value '{value}', accepted: {accepted}")]
    Value {
        /// The rule whose version was to be set.
        name: &'static str,
        /// The version name that was given.
        value: String,
        /// The version names that exist, separated by commas.
        accepted: String,
    },
}

impl Rules {
    /// Selects the version of one rule by name, as in `grec=iou` on the command line.
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

    /// Every rule with the name of its version, as stored in result files.
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
