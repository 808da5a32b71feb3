//! The table of switches: each one's name, the words for its values, and whether every family has it.

use std::fmt;

use mico_model::{KvFormat, Normalization};
use mico_vision::llava::{AnyresAxis, NextPacking, PadMode};
use mico_vision::llava_video::RowEnd;
use mico_vision::resample::ResizeBackend;

use super::{InternFeature, LimitSource, PositionMode, Switches, VideoFeature, plain};
use crate::error::{Error, Result};

/// The values of a switch with the words for them; the first is the default.
trait Choice: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }
}

/// States the words of a switch's values.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(,)?) => {
        impl Choice for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        }
    };
}

words!(PositionMode: "auto" => Self::Auto, "original" => Self::Original, "compact" => Self::Compact);
words!(Option<Normalization>: "auto" => None, "full_causal" => Some(Normalization::FullCausal),
    "visual_only" => Some(Normalization::VisualOnly));
words!(Option<NextPacking>: "auto" => None, "spatial" => Some(NextPacking::Spatial),
    "spatial_unpad" => Some(NextPacking::SpatialUnpad));
words!(Option<RowEnd>: "auto" => None, "grid" => Some(RowEnd::Newline), "none" => Some(RowEnd::None));
words!(VideoFeature: "tower" => Self::Tower, "projected" => Self::Projected);
words!(InternFeature: "mean" => Self::Mean, "concat" => Self::Concat);
words!(LimitSource: "checkpoint" => Self::Checkpoint, "paper" => Self::Paper);
words!(PadMode: "pad" => Self::Square, "crop" => Self::ShortSideCrop);
words!(AnyresAxis: "original" => Self::Original, "hf" => Self::Hf);
words!(KvFormat: "compute" => Self::Compute, "f16" => Self::F16);
words!(ResizeBackend: "pillow" => Self::Pillow, "torch" => Self::Torch);

/// One switch: its name, the words for its values, and whose it is.
pub struct Switch {
    /// The name in `name=value`.
    pub name: &'static str,
    /// Whether every family has it.
    pub is_common: bool,
    words: fn() -> Vec<&'static str>,
    pub(super) get: fn(&Switches) -> &'static str,
    /// Whether there is such a word.
    pub(super) set: fn(&mut Switches, &str) -> bool,
}

/// The words a field's type has.
fn words_of<T: Choice>(_field: fn(&Switches) -> T) -> Vec<&'static str> {
    T::WORDS.iter().map(|(word, _)| *word).collect()
}

fn put<T: Choice>(field: &mut T, word: &str) -> bool {
    T::named(word).map(|value| *field = value).is_some()
}

/// States the row of a field.
macro_rules! switch {
    ($field:ident, common: $common:literal) => {
        Switch {
            name: stringify!($field),
            is_common: $common,
            words: || words_of(|switches| switches.$field),
            get: |switches| switches.$field.word(),
            set: |switches, word| put(&mut switches.$field, word),
        }
    };
}

/// The position ids of tokens that remain after pruning: [`Switches::position_mode`].
pub static POSITION_MODE: Switch = switch!(position_mode, common: true);
/// The softmax behind text-to-visual relevance: [`Switches::relevance`].
pub static RELEVANCE: Switch = switch!(relevance, common: true);
/// How LLaVA-NeXT stitches crops: [`Switches::next_packing`].
pub static NEXT_PACKING: Switch = switch!(next_packing, common: false);
/// Newline tokens in the frames of a video: [`Switches::video_newline`].
pub static VIDEO_NEWLINE: Switch = switch!(video_newline, common: false);
/// The features Stage 1 compares on videos: [`Switches::video_stage1_feature`].
pub static VIDEO_STAGE1_FEATURE: Switch = switch!(video_stage1_feature, common: false);
/// The features Stage 1 compares on InternVL: [`Switches::intern_feature`].
pub static INTERN_FEATURE: Switch = switch!(intern_feature, common: false);
/// Whose pixel limits hold: [`Switches::image_limits`].
pub static IMAGE_LIMITS: Switch = switch!(image_limits, common: false);
/// Padding or cropping of LLaVA-1.5's images: [`Switches::llava15_pad`].
pub static LLAVA15_PAD: Switch = switch!(llava15_pad, common: false);
/// The axis order of anyres resolutions: [`Switches::anyres_axis`].
pub static ANYRES_AXIS: Switch = switch!(anyres_axis, common: false);
/// The resampling that is reproduced: [`Switches::resize_backend`].
pub static RESIZE_BACKEND: Switch = switch!(resize_backend, common: true);
/// The number format of cached keys and values: [`Switches::kv_cache`].
pub static KV_CACHE: Switch = switch!(kv_cache, common: true);

/// Every switch, in the order in which they are written.
pub const SWITCHES: [&Switch; 11] = [
    &POSITION_MODE,
    &RELEVANCE,
    &NEXT_PACKING,
    &VIDEO_NEWLINE,
    &VIDEO_STAGE1_FEATURE,
    &INTERN_FEATURE,
    &IMAGE_LIMITS,
    &LLAVA15_PAD,
    &ANYRES_AXIS,
    &RESIZE_BACKEND,
    &KV_CACHE,
];

impl Switch {
    /// The switch of that name. Dashes and underscores are the same, and so are capitals.
    pub fn find(name: &str) -> Result<&'static Self> {
        let wanted = plain(name);
        SWITCHES.into_iter().find(|switch| switch.name == wanted).ok_or_else(|| {
            let known = SWITCHES.map(|switch| switch.name).join(", ");
            Error::Unknown { what: "switch", found: name.into(), known }
        })
    }

    /// The words for its values, the default first.
    pub fn words(&self) -> Vec<&'static str> {
        (self.words)()
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
