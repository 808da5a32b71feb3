//! LLaVA-NeXT: an image is a base view and crops, stitched into one grid.

use mico_model::architectures;
use mico_vision::layout::VisualLayout;
use mico_vision::llava::{LlavaNext, NextPacking};
use mico_vision::{Processed, RgbImage, Size};

use super::llava::{clip_preprocessing, clip_tower, views};
use super::{FamilySpec, ImageProcessor, ImageSpec, LLAVA, Packing, PromptSpec, UsualInput};
use crate::error::Result;
use crate::preprocess::{only, small};
use crate::prompt::{MISTRAL, VICUNA};
use crate::switches::{ANYRES_AXIS, NEXT_PACKING};

/// Views along each side of the image that is cut into the usual four crops.
const SIDES: u32 = 2;

/// LLaVA-NeXT. Its prompt is Mistral's where the text model shares key/value heads as Mistral does.
pub static LLAVA_NEXT: FamilySpec = FamilySpec {
    architecture: &architectures::LLAVA_NEXT,
    images: ImageSpec {
        defaults: clip_preprocessing,
        processor: |request| {
            let (vision, patch) = clip_tower(request)?;
            let pair = |&(a, b): &(usize, usize)| {
                Ok([small("image_grid_pinpoints", a)?, small("image_grid_pinpoints", b)?])
            };
            let listed: Result<Vec<_>> = vision.image_grid_pinpoints.iter().map(pair).collect();
            let (listed, preprocessing) = (listed?, &request.preprocessing);
            let replaced = preprocessing.pinpoints.is_none().then_some(listed.as_slice());
            let axis = request.switches.anyres_axis;
            Ok(Box::new(LlavaNext::from_config(preprocessing, patch, axis, replaced)?))
        },
        limits: &[],
        packing: |switches, prunes| {
            let own = if prunes { NextPacking::Spatial } else { NextPacking::SpatialUnpad };
            Packing { next: switches.next_packing.unwrap_or(own), ..Packing::PLAIN }
        },
        token_rule: "576 per view: the whole image and 2 to 4 crops",
    },
    prompt: PromptSpec {
        formats: &[&VICUNA, &MISTRAL],
        format: |config| {
            let grouped = config.decoder.kv_heads < config.decoder.heads;
            if grouped { &MISTRAL } else { &VICUNA }
        },
        ..LLAVA.prompt
    },
    switches: &[&NEXT_PACKING, &ANYRES_AXIS],
    usual: UsualInput {
        paper_size: |config| views(config, SIDES),
        photo_size: |config| views(config, SIDES),
        ..LLAVA.usual
    },
    ..LLAVA
};

impl ImageProcessor for LlavaNext {
    fn process(&self, pictures: &[RgbImage], packing: Packing) -> Result<Processed> {
        Ok(Self::process(self, only(pictures)?, packing.next))
    }

    fn layout(&self, sizes: &[Size], packing: Packing) -> Result<VisualLayout> {
        Ok(Self::layout(self, *only(sizes)?, packing.next))
    }
}
