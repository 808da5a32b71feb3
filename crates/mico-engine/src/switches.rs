//! Choices the paper leaves open, each with a stated default.

use std::str::FromStr;

use mico_model::{Family, Normalisation};
use mico_vision::llava::{AnyresAxis, NextPacking, PadMode};
use mico_vision::llava_video::RowEnd;
use mico_vision::resample::ResizeBackend;

use crate::error::{Error, Result};
use crate::pruner::PositionRule;

/// Positions of the tokens that survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionMode {
    /// As the method's authors have it; MiCo's are those of the unpruned prompt.
    #[default]
    Auto,
    /// Those of the unpruned prompt; the answer continues from its length.
    Original,
    /// Renumbered without gaps after Stage 1; the answer continues from the length then.
    Compact,
}

/// Whose limits on an image's size hold where the caller states none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitSource {
    /// The checkpoint's, else those of the family's processor.
    #[default]
    Checkpoint,
    /// Those of the paper's evaluation.
    Paper,
}

/// What Stage 1 takes for a visual token that joins several patches of InternVL's tower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InternFeature {
    /// The mean of their vectors.
    #[default]
    Mean,
    /// Their vectors side by side.
    Concat,
}

/// What Stage 1 takes for a visual token of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VideoFeature {
    /// The tower's output, pooled.
    #[default]
    Tower,
    /// The projector's output, pooled.
    Projected,
}

/// Every switch; the default is the paper's reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// `position_mode`: `auto` (as the method's authors have it; MiCo `original`), `original`,
    /// `compact`.
    pub position_mode: PositionMode,
    /// `relevance`: `auto` (`visual_only` for Qwen3.5, else `full_causal`), or either of the two.
    pub relevance: Option<Normalisation>,
    /// `next_packing`: `auto` (pruned runs `spatial`, unpruned runs `spatial_unpad`), or either of
    /// the two for all runs.
    pub next_packing: Option<NextPacking>,
    /// `video_newline`: `auto` (pruned runs `none`, unpruned runs `grid`), or either of the two for
    /// all runs.
    pub video_newline: Option<RowEnd>,
    /// `video_stage1_feature`: `tower`, `projected`.
    pub video_stage1_feature: VideoFeature,
    /// `intern_feature`: `mean`, `concat`.
    pub intern_feature: InternFeature,
    /// `image_limits`: `checkpoint`, `paper`.
    pub image_limits: LimitSource,
    /// `llava15_pad`: `pad` to a square, `crop` the short side's square.
    pub llava15_pad: PadMode,
    /// `anyres_axis`: `original` (width, height), `hf` (height, width).
    pub anyres_axis: AnyresAxis,
    /// `resize_backend`: `pillow`, `torch`.
    pub resize_backend: ResizeBackend,
}

/// The names of the switches.
pub const SWITCHES: [&str; 10] = [
    "position_mode",
    "relevance",
    "next_packing",
    "video_newline",
    "video_stage1_feature",
    "intern_feature",
    "image_limits",
    "llava15_pad",
    "anyres_axis",
    "resize_backend",
];

impl Switches {
    /// The rule for positions, where a plan has `own`.
    pub(crate) fn positions(&self, own: PositionRule) -> PositionRule {
        match self.position_mode {
            PositionMode::Auto => own,
            PositionMode::Original => PositionRule::Original,
            PositionMode::Compact => PositionRule::Compact,
        }
    }

    /// Sets one switch by name. Dashes and underscores are the same.
    ///
    /// ```
    /// use mico_engine::{PositionMode, Switches};
    /// let mut switches = Switches::default();
    /// switches.set("position-mode", "compact")?;
    /// assert_eq!(switches.position_mode, PositionMode::Compact);
    /// assert!(switches.set("position_mode", "random").is_err());
    /// # Ok::<(), mico_engine::Error>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let plain = |text: &str| text.trim().to_ascii_lowercase().replace('-', "_");
        let value = plain(value);
        match plain(name).as_str() {
            "position_mode" => {
                self.position_mode = choose(
                    "position_mode",
                    &value,
                    &[
                        ("auto", PositionMode::Auto),
                        ("original", PositionMode::Original),
                        ("compact", PositionMode::Compact),
                    ],
                )?;
            }
            "relevance" => {
                self.relevance = choose(
                    "relevance",
                    &value,
                    &[
                        ("auto", None),
                        ("full_causal", Some(Normalisation::FullCausal)),
                        ("visual_only", Some(Normalisation::VisualOnly)),
                    ],
                )?;
            }
            "next_packing" => {
                self.next_packing = choose(
                    "next_packing",
                    &value,
                    &[
                        ("auto", None),
                        ("spatial", Some(NextPacking::Spatial)),
                        ("spatial_unpad", Some(NextPacking::SpatialUnpad)),
                    ],
                )?;
            }
            "video_newline" => {
                self.video_newline = choose(
                    "video_newline",
                    &value,
                    &[
                        ("auto", None),
                        ("grid", Some(RowEnd::Newline)),
                        ("none", Some(RowEnd::None)),
                    ],
                )?;
            }
            "video_stage1_feature" => {
                self.video_stage1_feature = choose(
                    "video_stage1_feature",
                    &value,
                    &[("tower", VideoFeature::Tower), ("projected", VideoFeature::Projected)],
                )?;
            }
            "intern_feature" => {
                self.intern_feature = choose(
                    "intern_feature",
                    &value,
                    &[("mean", InternFeature::Mean), ("concat", InternFeature::Concat)],
                )?;
            }
            "image_limits" => {
                self.image_limits = choose(
                    "image_limits",
                    &value,
                    &[("checkpoint", LimitSource::Checkpoint), ("paper", LimitSource::Paper)],
                )?;
            }
            "llava15_pad" => {
                self.llava15_pad = choose(
                    "llava15_pad",
                    &value,
                    &[("pad", PadMode::Square), ("crop", PadMode::ShortSideCrop)],
                )?;
            }
            "anyres_axis" => {
                self.anyres_axis = choose(
                    "anyres_axis",
                    &value,
                    &[("original", AnyresAxis::Original), ("hf", AnyresAxis::Hf)],
                )?;
            }
            "resize_backend" => {
                self.resize_backend = choose(
                    "resize_backend",
                    &value,
                    &[("pillow", ResizeBackend::Pillow), ("torch", ResizeBackend::Torch)],
                )?;
            }
            _ => {
                let known = SWITCHES.join(", ");
                return Err(Error::Unknown { what: "switch", found: name.into(), known });
            }
        }
        Ok(())
    }

    /// How a family's visual tokens stand in the sequence of a run that prunes, or does not.
    pub(crate) fn packing(&self, family: Family, prunes: bool) -> Packing {
        let mut packing = Packing { next: NextPacking::Spatial, row_end: RowEnd::None };
        match family {
            Family::LlavaNext => {
                let own = if prunes { NextPacking::Spatial } else { NextPacking::SpatialUnpad };
                packing.next = self.next_packing.unwrap_or(own);
            }
            Family::LlavaVideo => {
                let own = if prunes { RowEnd::None } else { RowEnd::Newline };
                packing.row_end = self.video_newline.unwrap_or(own);
            }
            _ => {}
        }
        packing
    }

    /// How text-to-visual attention is normalised.
    pub(crate) fn relevance(&self, family: Family) -> Normalisation {
        let own = match family {
            Family::Qwen35 => Normalisation::VisualOnly,
            _ => Normalisation::FullCausal,
        };
        self.relevance.unwrap_or(own)
    }
}

/// How visual tokens stand in the sequence; one value for all runs where a family has but one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    /// LLaVA-NeXT's crops.
    pub(crate) next: NextPacking,
    /// LLaVA-Video's rows.
    pub(crate) row_end: RowEnd,
}

impl FromStr for Switches {
    type Err = Error;

    /// Reads `name=value` pairs separated by commas, the rest staying at its default.
    fn from_str(text: &str) -> Result<Self> {
        let mut switches = Self::default();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Error::range("switch", pair, "name=value"));
            };
            switches.set(name, value)?;
        }
        Ok(switches)
    }
}

fn choose<T: Copy>(what: &'static str, value: &str, words: &[(&str, T)]) -> Result<T> {
    if let Some(&(_, choice)) = words.iter().find(|(word, _)| *word == value) {
        return Ok(choice);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(Error::range(what, value, known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pairs_and_refuses_the_rest() {
        let read: Switches = "relevance=visual-only, next_packing=spatial".parse().unwrap();
        assert_eq!(read.relevance, Some(Normalisation::VisualOnly));
        let next = |switches: Switches, prunes| switches.packing(Family::LlavaNext, prunes).next;
        assert_eq!(next(read, false), NextPacking::Spatial);
        assert_eq!(next(Switches::default(), false), NextPacking::SpatialUnpad);
        assert_eq!(next(Switches::default(), true), NextPacking::Spatial);
        for wrong in ["relevance", "relevance=all", "speed=fast"] {
            assert!(wrong.parse::<Switches>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn families_differ_where_they_say_so() {
        let plain = Switches::default();
        let rows =
            |switches: Switches, prunes| switches.packing(Family::LlavaVideo, prunes).row_end;
        assert_eq!((rows(plain, true), rows(plain, false)), (RowEnd::None, RowEnd::Newline));
        let grid: Switches = "video_newline=grid".parse().unwrap();
        assert_eq!(rows(grid, true), RowEnd::Newline);
        for (family, expected) in [
            (Family::Qwen35, Normalisation::VisualOnly),
            (Family::Qwen3Vl, Normalisation::FullCausal),
        ] {
            assert_eq!(plain.relevance(family), expected);
            let packing = plain.packing(family, false);
            assert_eq!(packing, plain.packing(family, true), "{family:?}");
        }
        let full: Switches = "relevance=full_causal".parse().unwrap();
        assert_eq!(full.relevance(Family::Qwen35), Normalisation::FullCausal);
    }
}
