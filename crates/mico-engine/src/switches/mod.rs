//! Switches: choices the paper leaves open, each with a stated default.
//!
//! Open this to add one: a field of [`Switches`], then the words for its values and its row of
//! [`SWITCHES`] in `table.rs`. One that is not for all families stands in the `switches` of those that have it.

mod table;
mod text;

pub use table::{
    ANYRES_AXIS, IMAGE_LIMITS, INTERN_FEATURE, KV_CACHE, LLAVA15_PAD, NEXT_PACKING, POSITION_MODE,
    RELEVANCE, RESIZE_BACKEND, SWITCHES, Switch, VIDEO_NEWLINE, VIDEO_STAGE1_FEATURE,
};

use mico_model::{KvFormat, Normalization};
use mico_select::pruner::PositionRule;
use mico_vision::llava::{AnyresAxis, NextPacking, PadMode};
use mico_vision::llava_video::RowEnd;
use mico_vision::resample::ResizeBackend;

use crate::error::{Error, Result};

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
///
/// As text it is what differs from the default, and reads back as the same:
///
/// ```
/// use mico_engine::{PositionMode, Switches};
/// let switches: Switches = "relevance=visual-only,position-mode=compact".parse()?;
/// assert_eq!(switches.position_mode, PositionMode::Compact);
/// assert_eq!(switches.to_string(), "position_mode=compact,relevance=visual_only");
/// assert_eq!(Switches::default().to_string(), "");
/// # Ok::<(), mico_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// `position_mode`: `auto` (as the method's authors have it; MiCo `original`), `original`,
    /// `compact`.
    pub position_mode: PositionMode,
    /// `relevance`: `auto` (`visual_only` for Qwen3.5, else `full_causal`), or either of the two.
    pub relevance: Option<Normalization>,
    /// `next_packing`: `auto` (pruned runs `spatial`, unpruned runs `spatial_unpad`), or either of
    /// the two for all runs.
    pub next_packing: Option<NextPacking>,
    /// `video_newline`: `auto` (pruned runs `none`, unpruned runs `grid`), or either of the two for
    /// all runs.
    pub video_newline: Option<RowEnd>,
    /// `video_stage1_feature`: `tower` (what the vision tower gives) or `projected` (what the
    /// decoder sees), for families that take videos.
    pub video_stage1_feature: VideoFeature,
    /// `intern_feature`: `mean` or `concat` of the patches that one InternVL token joins.
    pub intern_feature: InternFeature,
    /// `image_limits`: `checkpoint` (the pixel limits of its processor) or `paper` (those of the
    /// evaluation).
    pub image_limits: LimitSource,
    /// `llava15_pad`: `pad` to a square, `crop` the short side's square.
    pub llava15_pad: PadMode,
    /// `anyres_axis`: `original` (width, height), `hf` (height, width).
    pub anyres_axis: AnyresAxis,
    /// `resize_backend`: `pillow` or `torch`, the library whose bicubic resampling is reproduced.
    pub resize_backend: ResizeBackend,
    /// `kv_cache`: `compute` (keys and values are kept as they were computed) or `f16` (rounded to half
    /// precision, half the memory on a CPU).
    pub kv_cache: KvFormat,
}

/// What one switch is set to.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchValue {
    /// The switch's name, as on the command line and in settings.
    pub name: &'static str,
    /// The word for its value.
    pub value: &'static str,
    /// Whether nothing else was asked for.
    pub is_default: bool,
}

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
        let switch = Switch::find(name)?;
        let word = plain(value);
        if (switch.set)(self, &word) {
            return Ok(());
        }
        Err(Error::range(switch.name, word, switch.words().join(", ")))
    }

    /// Every switch with its value, in a stable order.
    pub fn iter(&self) -> impl Iterator<Item = SwitchValue> {
        let default = Self::default();
        SWITCHES.into_iter().map(move |switch| {
            let value = (switch.get)(self);
            SwitchValue { name: switch.name, value, is_default: value == (switch.get)(&default) }
        })
    }

    /// What differs from the default.
    fn changed(&self) -> impl Iterator<Item = SwitchValue> {
        self.iter().filter(|switch| !switch.is_default)
    }

    /// Refuses a switch that was set and that the family, which has `own` besides the common ones,
    /// does not know.
    pub(crate) fn check(&self, family: &str, own: &[&Switch]) -> Result<()> {
        let unknown = |switch: &&Switch| {
            !switch.is_common && !own.iter().any(|known| known.name == switch.name)
        };
        let foreign: Vec<&Switch> = SWITCHES.into_iter().filter(unknown).collect();
        match self.changed().find(|set| foreign.iter().any(|switch| switch.name == set.name)) {
            None => Ok(()),
            Some(set) => {
                let accepted = format!("nothing, the family {family} knows no such switch");
                Err(Error::range(set.name, set.value, accepted))
            }
        }
    }
}

/// A name or value without regard to capitals, dashes and the space around it.
fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pairs_and_refuses_the_rest() {
        let read: Switches = "relevance=visual-only, Next_Packing=spatial".parse().unwrap();
        assert_eq!(read.relevance, Some(Normalization::VisualOnly));
        assert_eq!(read.next_packing, Some(NextPacking::Spatial));
        for wrong in ["relevance", "relevance=all", "speed=fast"] {
            assert!(wrong.parse::<Switches>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_value_is_read_and_written_in_all_forms() {
        for switch in SWITCHES {
            assert_eq!((switch.get)(&Switches::default()), switch.words()[0], "{switch:?}");
            for word in switch.words() {
                let mut switches = Switches::default();
                switches.set(switch.name, word).unwrap();
                let text = switches.to_string();
                assert_eq!(text.parse::<Switches>().unwrap(), switches, "{text}");
                let json = serde_json::to_string(&switches).unwrap();
                assert_eq!(serde_json::from_str::<Switches>(&json).unwrap(), switches, "{json}");
            }
        }
        assert!(serde_json::from_str::<Switches>(r#"{"relevance": "all"}"#).is_err());
    }

    #[test]
    fn a_switch_of_another_family_is_refused_by_name() {
        let switches: Switches = "next_packing=spatial".parse().unwrap();
        assert!(switches.check("llava_next", &[&NEXT_PACKING]).is_ok());
        let error = switches.check("llava", &[&LLAVA15_PAD]).unwrap_err().to_string();
        let words = "next_packing is spatial, accepted: nothing, the family llava knows no such";
        assert!(error.starts_with(words), "{error}");
        let default: Switches = "next_packing=auto,relevance=visual_only".parse().unwrap();
        assert!(default.check("llava", &[]).is_ok());
    }
}
