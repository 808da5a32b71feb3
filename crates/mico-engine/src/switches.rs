//! Choices the paper leaves open, each with a stated default.

use std::str::FromStr;

use mico_model::Normalisation;
use mico_vision::llava::{AnyresAxis, NextPacking, PadMode};
use mico_vision::resample::ResizeBackend;

use crate::error::{Error, Result};

/// Positions of the tokens that survive Stage 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionMode {
    /// Those of the unpruned prompt; the answer continues from its length.
    #[default]
    Original,
    /// Renumbered without gaps after Stage 1; the answer continues from the length then.
    Compact,
}

/// Every switch; the default is the paper's reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// `position_mode`: `original`, `compact`.
    pub position_mode: PositionMode,
    /// `relevance`: `full_causal`, `visual_only`.
    pub relevance: Normalisation,
    /// `next_packing`: `auto` (pruned runs `spatial`, unpruned runs `spatial_unpad`), or either of
    /// the two for all runs.
    pub next_packing: Option<NextPacking>,
    /// `llava15_pad`: `pad` to a square, `crop` the short side's square.
    pub llava15_pad: PadMode,
    /// `anyres_axis`: `original` (width, height), `hf` (height, width).
    pub anyres_axis: AnyresAxis,
    /// `resize_backend`: `pillow`, `torch`.
    pub resize_backend: ResizeBackend,
}

/// The names of the switches.
pub const SWITCHES: [&str; 6] =
    ["position_mode", "relevance", "next_packing", "llava15_pad", "anyres_axis", "resize_backend"];

impl Switches {
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
                    &[("original", PositionMode::Original), ("compact", PositionMode::Compact)],
                )?;
            }
            "relevance" => {
                self.relevance = choose(
                    "relevance",
                    &value,
                    &[
                        ("full_causal", Normalisation::FullCausal),
                        ("visual_only", Normalisation::VisualOnly),
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

    /// How LLaVA-NeXT packs its crops in a run that prunes, or does not.
    pub(crate) fn packing(&self, prunes: bool) -> NextPacking {
        let automatic = if prunes { NextPacking::Spatial } else { NextPacking::SpatialUnpad };
        self.next_packing.unwrap_or(automatic)
    }
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
        assert_eq!(read.relevance, Normalisation::VisualOnly);
        assert_eq!(read.packing(false), NextPacking::Spatial);
        assert_eq!(Switches::default().packing(false), NextPacking::SpatialUnpad);
        assert_eq!(Switches::default().packing(true), NextPacking::Spatial);
        for wrong in ["relevance", "relevance=all", "speed=fast"] {
            assert!(wrong.parse::<Switches>().is_err(), "{wrong}");
        }
    }
}
