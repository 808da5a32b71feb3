//! Shading of one image: each pixel is drawn by the best outcome among the tokens that show it.

use mico_vision::layout::{Region, VisualLayout};
use mico_vision::resample::{ResizeBackend, resize};
use mico_vision::{RgbImage, Size};

use super::{Pruned, Tally};

/// Bytes of an RGB pixel.
const CHANNELS: usize = 3;

/// The long side of a drawn image is scaled into this range, in pixels.
const LONG_SIDE: std::ops::RangeInclusive<u32> = 672..=1344;
/// The least side of a drawn image, in pixels.
const MIN_SHORT_SIDE: u32 = 16;
/// Brightness of dropped regions, relative to the image.
const DROPPED_LIGHT: f32 = 0.38;
/// Brightness of regions that no token shows.
const UNSEEN_LIGHT: f32 = 0.12;
/// Brightness of regions that survived Stage 1 only.
const STAGE1_LIGHT: f32 = 0.62;
/// Share of the tint in regions that survived Stage 1 only.
const STAGE1_TINT_SHARE: f32 = 0.22;
/// Tint of regions that survived Stage 1 only, in RGB.
const STAGE1_TINT: [u8; 3] = [64, 150, 255];
/// Outline of tokens that survived Stage 1 only, in RGB.
pub(super) const STAGE1_OUTLINE: [u8; 3] = [46, 92, 150];
/// Outline of tokens that survived to the end, in RGB.
pub(super) const OUTLINE: [u8; 3] = [255, 206, 64];
/// Outlines are one pixel thick, two from this drawn token side on.
const THICK_FROM: f32 = 40.0;

/// The outcome of a pixel's best token, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Unseen,
    Dropped,
    Stage1,
    Kept,
}

impl Fate {
    /// The drawn color of a pixel with this outcome.
    pub(super) fn color(self, pixel: [u8; 3]) -> [u8; 3] {
        let [r, g, b] = pixel.map(f32::from);
        let gray = [0.299 * r + 0.587 * g + 0.114 * b; 3];
        let mix = |light: f32, from: [f32; 3], tint: f32| {
            std::array::from_fn(|c| {
                (from[c] * light * (1.0 - tint) + f32::from(STAGE1_TINT[c]) * tint) as u8
            })
        };
        match self {
            Self::Kept => pixel,
            Self::Stage1 => mix(STAGE1_LIGHT, [r, g, b], STAGE1_TINT_SHARE),
            Self::Dropped => mix(DROPPED_LIGHT, gray, 0.0),
            Self::Unseen => mix(UNSEEN_LIGHT, gray, 0.0),
        }
    }
}

/// The outcome of each token of a layout.
pub(super) struct Fates<'a> {
    layout: &'a VisualLayout,
    by_token: Vec<Fate>,
    refined: bool,
}

impl<'a> Fates<'a> {
    /// The outcomes of a layout's tokens; every index must lie inside it.
    pub(super) fn new(layout: &'a VisualLayout, stage1: Option<&[usize]>, kept: &[usize]) -> Self {
        let mut fates = vec![Fate::Dropped; layout.len()];
        for (tokens, fate) in [(stage1.unwrap_or_default(), Fate::Stage1), (kept, Fate::Kept)] {
            for &token in tokens {
                fates[token] = fate;
            }
        }
        Self { layout, by_token: fates, refined: stage1.is_some() }
    }

    /// The regions and outcomes of the tokens of a group, or of all groups for `None`.
    pub(super) fn marks(&self, group: Option<usize>) -> Vec<(Region, Fate)> {
        let wanted = |token: &usize| group.is_none() || self.layout.group_of(*token) == group;
        (0..self.by_token.len())
            .filter(wanted)
            .map(|token| (self.layout.region(token), self.by_token[token]))
            .collect()
    }

    /// Whether outlines carry information: not where all tokens survive.
    pub(super) fn differ(&self) -> bool {
        self.by_token.iter().any(|fate| *fate != Fate::Kept)
    }

    /// Counts of tokens by outcome; `unseen` if the picture has pixels that no token shows.
    pub(super) fn tally(&self, unseen: bool) -> Tally {
        let count = |fate| self.by_token.iter().filter(|found| **found == fate).count();
        let blind = |token: &usize| {
            self.by_token[*token] == Fate::Kept && self.layout.region(*token).is_empty()
        };
        Tally {
            kept: count(Fate::Kept),
            blind: (0..self.by_token.len()).filter(blind).count(),
            refined: self.refined.then(|| count(Fate::Stage1)),
            dropped: count(Fate::Dropped),
            unseen,
        }
    }
}

/// Draws one image and counts the outcomes of its tokens.
pub(super) fn draw(pruned: &Pruned<'_>) -> (RgbImage, Tally) {
    let fates = Fates::new(pruned.layout, pruned.stage1, pruned.kept);
    let size = drawn_size(pruned.image.size());
    let (picture, unseen) = paint(pruned.image, size, &fates.marks(None), fates.differ());
    (picture, fates.tally(unseen))
}

/// Draws an image at another size, each pixel by the best of the `marks` that show it; also returns
/// whether any pixel is shown by none.
pub(super) fn paint(
    image: &RgbImage,
    size: Size,
    marks: &[(Region, Fate)],
    outlined: bool,
) -> (RgbImage, bool) {
    let mut out = resize(image, size, ResizeBackend::Pillow);
    let scale = Scale::new(image.size(), size);

    let mut map = vec![Fate::Unseen; out.width() * out.height()];
    for (region, fate) in marks {
        let Some(area) = scale.area(region) else { continue };
        for y in area.y0..area.y1 {
            for place in &mut map[y * out.width() + area.x0..y * out.width() + area.x1] {
                *place = (*fate).max(*place);
            }
        }
    }
    for (pixel, fate) in out.data_mut().chunks_exact_mut(CHANNELS).zip(&map) {
        let color = fate.color([pixel[0], pixel[1], pixel[2]]);
        pixel.copy_from_slice(&color);
    }
    if outlined {
        // Final survivors come last, so that no other outline covers theirs.
        for (wanted, color) in [(Fate::Stage1, STAGE1_OUTLINE), (Fate::Kept, OUTLINE)] {
            for (region, _) in marks.iter().filter(|(_, fate)| *fate == wanted) {
                if let Some(area) = scale.area(region) {
                    outline(&mut out, &area, |at| map[at] == wanted, color);
                }
            }
        }
    }
    (out, map.contains(&Fate::Unseen))
}

fn drawn_size(size: Size) -> Size {
    let long = size.width.max(size.height);
    let scale = f64::from(long.clamp(*LONG_SIDE.start(), *LONG_SIDE.end())) / f64::from(long);
    scaled(size, scale)
}

/// A size times `scale`, each side at least [`MIN_SHORT_SIDE`].
pub(super) fn scaled(size: Size, scale: f64) -> Size {
    let side = |side: u32| ((f64::from(side) * scale).round() as u32).max(MIN_SHORT_SIDE);
    Size::new(side(size.width), side(size.height))
}

/// A non-empty rectangle of whole drawn pixels.
struct Area {
    x0: usize,
    y0: usize,
    x1: usize,
    y1: usize,
}

/// The mapping from image pixels to drawn pixels.
struct Scale {
    across: f32,
    down: f32,
    drawn: Size,
}

impl Scale {
    fn new(image: Size, drawn: Size) -> Self {
        let across = drawn.width as f32 / image.width as f32;
        let down = drawn.height as f32 / image.height as f32;
        Self { across, down, drawn }
    }

    fn area(&self, region: &Region) -> Option<Area> {
        if region.is_empty() {
            return None;
        }
        let span = |from: f32, to: f32, scale: f32, length: u32| {
            let length = length as usize;
            let start = ((from * scale).round() as usize).min(length - 1);
            (start, ((to * scale).round() as usize).clamp(start + 1, length))
        };
        let (x0, x1) = span(region.x0, region.x1, self.across, self.drawn.width);
        let (y0, y1) = span(region.y0, region.y1, self.down, self.drawn.height);
        Some(Area { x0, y0, x1, y1 })
    }
}

/// Draws the border of `area`, on its inside, at the pixels that are `allowed`.
fn outline(out: &mut RgbImage, area: &Area, allowed: impl Fn(usize) -> bool, color: [u8; 3]) {
    let side = (area.x1 - area.x0).min(area.y1 - area.y0);
    let thick = if side as f32 >= THICK_FROM { 2 } else { 1 };
    for y in area.y0..area.y1 {
        let level = y < area.y0 + thick || y + thick >= area.y1;
        for x in area.x0..area.x1 {
            let border = level || x < area.x0 + thick || x + thick >= area.x1;
            if border && allowed(y * out.width() + x) {
                out.put(x, y, color);
            }
        }
    }
}
