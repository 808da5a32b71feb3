//! Configuration of the rotary position embedding (`RoPE`).

use mico_util::text::quoted;

use super::fields::Fields;
use crate::error::Result;

/// How position ids become rotation angles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeConfig {
    /// Base of the geometric series of frequencies (`rope_theta`).
    pub theta: f64,
    /// Position ids are divided by this: 1 for plain `RoPE`, else linear scaling.
    pub factor: f64,
    /// Which axis of a position id rotates which frequency.
    pub axes: RopeAxes,
    /// Share of a head, from its beginning, that is rotated (`partial_rotary_factor`).
    pub partial: f64,
}

impl Default for RopeConfig {
    fn default() -> Self {
        Self { theta: 10_000.0, factor: 1.0, axes: RopeAxes::One, partial: 1.0 }
    }
}

/// Which axis of a position id rotates which frequency: plain `RoPE` or multimodal `RoPE` (M-RoPE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RopeAxes {
    /// Position ids are single numbers.
    #[default]
    One,
    /// The first frequencies are rotated by time, the next by the row, the last by the column; the
    /// numbers are those of each (Qwen2.5-VL).
    Chunked([usize; 3]),
    /// Time, row and column alternate, as long as each has frequencies left; the remaining ones are
    /// rotated by time (Qwen3-VL).
    Interleaved([usize; 3]),
}

impl RopeAxes {
    /// Whether position ids have three axes (time, row, column).
    pub fn is_spatial(self) -> bool {
        self != Self::One
    }

    /// The axis (0 time, 1 row, 2 column) that rotates frequency `index`.
    pub(crate) fn axis(self, index: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Chunked([time, row, _]) => {
                usize::from(index >= time) + usize::from(index >= time + row)
            }
            Self::Interleaved(sections) => {
                let axis = index % 3;
                if index < 3 * sections[axis] { axis } else { 0 }
            }
        }
    }

    /// The number of frequencies of each axis; `None` for single-number position ids.
    pub(crate) fn sections(self) -> Option<[usize; 3]> {
        match self {
            Self::One => None,
            Self::Chunked(sections) | Self::Interleaved(sections) => Some(sections),
        }
    }
}

/// Reads `rope_parameters` (new style) or `rope_theta` with `rope_scaling` (old style).
/// `usual` is the default of a file that does not say, `interleaved` how it means three sections.
pub(super) fn rope(text: &Fields, usual: RopeConfig, interleaved: bool) -> Result<RopeConfig> {
    let theta = text.positive("rope_theta")?.unwrap_or(usual.theta);
    let partial = text.positive("partial_rotary_factor")?.unwrap_or(usual.partial);
    let mut rope = RopeConfig { theta, partial, ..usual };
    let Some(inner) = text.object(text.rope_key())? else { return Ok(rope) };
    let kind_key = if inner.has("rope_type") { "rope_type" } else { "type" };
    match inner.text(kind_key)?.unwrap_or("default") {
        // Dynamic scaling begins beyond the trained length, and such positions are refused.
        "default" | "mrope" | "dynamic" => {}
        "linear" => {
            rope.factor = inner
                .positive("factor")?
                .ok_or_else(|| inner.error("factor", "is missing, linear scaling needs it"))?;
        }
        other => {
            let other = quoted(other);
            let message = format!("is `{other}`, accepted: default, mrope, dynamic, linear");
            return Err(inner.error(kind_key, message));
        }
    }
    rope.theta = inner.positive("rope_theta")?.unwrap_or(rope.theta);
    rope.partial = inner.positive("partial_rotary_factor")?.unwrap_or(rope.partial);
    if let Some(sections) = inner.counts("mrope_section")? {
        let sections: [usize; 3] = sections.try_into().map_err(|found: Vec<usize>| {
            inner.error("mrope_section", format!("has {} numbers, expected 3", found.len()))
        })?;
        // Models with interleaved sections interleave whatever the flag says, as in transformers.
        rope.axes = if interleaved || inner.flag("mrope_interleaved")?.unwrap_or(false) {
            RopeAxes::Interleaved(sections)
        } else {
            RopeAxes::Chunked(sections)
        };
    }
    Ok(rope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_the_published_models() {
        let letters = |axes: RopeAxes, count: usize| -> String {
            (0..count).map(|i| ['T', 'H', 'W'][axes.axis(i)]).collect()
        };
        let chunked = letters(RopeAxes::Chunked([16, 24, 24]), 64);
        assert_eq!(chunked, "T".repeat(16) + &"H".repeat(24) + &"W".repeat(24));
        let interleaved = letters(RopeAxes::Interleaved([24, 20, 20]), 64);
        assert_eq!(interleaved, "THW".repeat(20) + "TTTT");
        assert_eq!(letters(RopeAxes::Interleaved([11, 11, 10]), 32), "THW".repeat(10) + "TH");
    }
}
