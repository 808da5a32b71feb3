//! One image with each pixel drawn as its best-kept token.

use super::{Pruned, Tally};
use crate::layout::Region;
use crate::pixels::{CHANNELS, RgbImage, Size};
use crate::resample::{ResizeBackend, resize};

/// The long side of a drawn image is brought into this range.
const LONG_SIDE: std::ops::RangeInclusive<u32> = 672..=1344;
/// A drawn image is never thinner than this.
const MIN_SHORT_SIDE: u32 = 16;
/// Brightness left to dropped regions.
const DROPPED_LIGHT: f32 = 0.38;
/// Brightness left to what no token shows.
const UNSEEN_LIGHT: f32 = 0.12;
/// Brightness left to Stage-1 survivors.
const STAGE1_LIGHT: f32 = 0.62;
/// Share of the tint on Stage-1 survivors.
const STAGE1_TINT_SHARE: f32 = 0.22;
/// Tint of Stage-1 survivors.
const STAGE1_TINT: [u8; 3] = [64, 150, 255];
/// Outline of Stage-1 survivors.
pub(super) const STAGE1_OUTLINE: [u8; 3] = [46, 92, 150];
/// Outline of final survivors.
pub(super) const OUTLINE: [u8; 3] = [255, 206, 64];
/// Outlines are a pixel thick, doubled from this drawn token side on.
const THICK_FROM: f32 = 40.0;

/// What became of a pixel's best token, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Unseen,
    Dropped,
    Stage1,
    Kept,
}

impl Fate {
    /// The colour of a pixel with this fate.
    pub(super) fn colour(self, pixel: [u8; 3]) -> [u8; 3] {
        let [r, g, b] = pixel.map(f32::from);
        let grey = [0.299 * r + 0.587 * g + 0.114 * b; 3];
        let mix = |light: f32, from: [f32; 3], tint: f32| {
            std::array::from_fn(|c| {
                (from[c] * light * (1.0 - tint) + f32::from(STAGE1_TINT[c]) * tint) as u8
            })
        };
        match self {
            Self::Kept => pixel,
            Self::Stage1 => mix(STAGE1_LIGHT, [r, g, b], STAGE1_TINT_SHARE),
            Self::Dropped => mix(DROPPED_LIGHT, grey, 0.0),
            Self::Unseen => mix(UNSEEN_LIGHT, grey, 0.0),
        }
    }
}

/// Draws one image and counts its tokens' fates.
pub(super) fn draw(pruned: &Pruned<'_>) -> (RgbImage, Tally) {
    let fates = fates(pruned);
    let size = drawn_size(pruned.image.size());
    let mut out = resize(pruned.image, size, ResizeBackend::Pillow);
    let scale = Scale::new(pruned.image.size(), size);

    let mut map = vec![Fate::Unseen; out.width() * out.height()];
    for (token, &fate) in fates.iter().enumerate() {
        let Some(area) = scale.area(&pruned.layout.region(token)) else { continue };
        for y in area.y0..area.y1 {
            for place in &mut map[y * out.width() + area.x0..y * out.width() + area.x1] {
                *place = fate.max(*place);
            }
        }
    }
    for (pixel, fate) in out.data_mut().chunks_exact_mut(CHANNELS).zip(&map) {
        let colour = fate.colour([pixel[0], pixel[1], pixel[2]]);
        pixel.copy_from_slice(&colour);
    }
    // Outlines tell survivors from the rest; where all survive there is nothing to tell. Final
    // survivors come last, so that no other outline runs over theirs.
    if fates.iter().any(|fate| *fate != Fate::Kept) {
        for (wanted, colour) in [(Fate::Stage1, STAGE1_OUTLINE), (Fate::Kept, OUTLINE)] {
            for token in (0..fates.len()).filter(|&token| fates[token] == wanted) {
                if let Some(area) = scale.area(&pruned.layout.region(token)) {
                    outline(&mut out, &area, |at| map[at] == wanted, colour);
                }
            }
        }
    }
    let tally = tally(pruned, &fates, map.contains(&Fate::Unseen));
    (out, tally)
}

fn fates(pruned: &Pruned<'_>) -> Vec<Fate> {
    let mut fates = vec![Fate::Dropped; pruned.layout.len()];
    for &token in pruned.stage1.unwrap_or_default() {
        fates[token] = Fate::Stage1;
    }
    for &token in pruned.kept {
        fates[token] = Fate::Kept;
    }
    fates
}

fn tally(pruned: &Pruned<'_>, fates: &[Fate], unseen: bool) -> Tally {
    let count = |fate| fates.iter().filter(|found| **found == fate).count();
    let blind =
        |token: &usize| fates[*token] == Fate::Kept && pruned.layout.region(*token).is_empty();
    Tally {
        kept: count(Fate::Kept),
        blind: (0..fates.len()).filter(blind).count(),
        refined: pruned.stage1.is_some().then(|| count(Fate::Stage1)),
        dropped: count(Fate::Dropped),
        unseen,
    }
}

fn drawn_size(size: Size) -> Size {
    let long = size.width.max(size.height);
    let scale = f64::from(long.clamp(*LONG_SIDE.start(), *LONG_SIDE.end())) / f64::from(long);
    let side = |side: u32| ((f64::from(side) * scale).round() as u32).max(MIN_SHORT_SIDE);
    Size::new(side(size.width), side(size.height))
}

/// A rectangle of whole drawn pixels, not empty.
struct Area {
    x0: usize,
    y0: usize,
    x1: usize,
    y1: usize,
}

/// From image pixels to drawn pixels.
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

/// Draws the border of `area`, inside it, at the pixels that are `allowed`.
fn outline(out: &mut RgbImage, area: &Area, allowed: impl Fn(usize) -> bool, colour: [u8; 3]) {
    let side = (area.x1 - area.x0).min(area.y1 - area.y0);
    let thick = if side as f32 >= THICK_FROM { 2 } else { 1 };
    for y in area.y0..area.y1 {
        let level = y < area.y0 + thick || y + thick >= area.y1;
        for x in area.x0..area.x1 {
            let border = level || x < area.x0 + thick || x + thick >= area.x1;
            if border && allowed(y * out.width() + x) {
                out.put(x, y, colour);
            }
        }
    }
}
