//! The integer filter weights of one axis of a resize.

use std::ops::Range;

use super::ResizeBackend;

/// Half width of the bicubic kernel, in source pixels at scale 1.
const SUPPORT: f64 = 2.0;
/// The cubic convolution parameter `a`; Pillow and torch's antialiased resize share it.
const A: f64 = -0.5;
/// Fractional bits of Pillow's weights: 32 less 8 for the pixel and 2 for overshoot and sign.
const PILLOW_BITS: u32 = 22;
/// torch keeps the largest weight below 2^15 so that weights fit 16 bits.
const TORCH_WEIGHT_BITS: u32 = 15;

/// One axis of a resize, with all lengths in pixels.
#[derive(Debug, Clone)]
pub(super) struct AxisPlan {
    /// Length of the canvas, before resizing.
    pub(super) length: u32,
    /// Offset of the image on the canvas.
    pub(super) margin: u32,
    /// Length of the image on the canvas.
    pub(super) image: u32,
    /// Length of the resized canvas.
    pub(super) target: u32,
    /// The part of the resized canvas that is computed.
    pub(super) window: Range<u32>,
}

/// The source pixels that contribute to one pixel of the result.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    first: usize,
    len: usize,
    outside: i32,
}

/// The filter weights of one pixel of the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taps<'a> {
    /// Index of the first image pixel with a weight.
    pub(super) start: usize,
    /// Fixed-point weights of the image pixels from there on.
    pub(super) weights: &'a [i32],
    /// Sum of the weights that fall on the background beside the image.
    pub(super) outside: i32,
}

/// The filter weights of every pixel along an axis.
#[derive(Debug)]
pub(super) struct Axis {
    spans: Vec<Span>,
    weights: Vec<i32>,
    bits: u32,
}

impl Axis {
    pub(super) fn new(plan: &AxisPlan, backend: ResizeBackend) -> Self {
        let kernel = Kernel::new(plan.length, plan.target);
        let bits = match backend {
            ResizeBackend::Pillow => PILLOW_BITS,
            ResizeBackend::Torch => torch_bits(&kernel),
        };
        let mut axis =
            Self { spans: Vec::with_capacity(plan.window.len()), weights: Vec::new(), bits };
        let mut taps = Vec::new();
        for i in plan.window.clone() {
            let lo = kernel.taps(i, &mut taps);
            axis.push(plan, lo, &taps);
        }
        axis
    }

    /// Adds one pixel's weights: those on the image are kept, those beside it summed.
    fn push(&mut self, plan: &AxisPlan, lo: u32, taps: &[f64]) {
        let image = plan.margin..plan.margin.saturating_add(plan.image);
        let first = self.weights.len();
        let (mut outside, mut start) = (0, 0);
        for (at, &weight) in (lo..).zip(taps) {
            let weight = fixed(weight, self.bits);
            if image.contains(&at) {
                if self.weights.len() == first {
                    start = (at - plan.margin) as usize;
                }
                self.weights.push(weight);
            } else {
                outside += weight;
            }
        }
        self.spans.push(Span { start, first, len: self.weights.len() - first, outside });
    }

    /// The number of pixels of the result along the axis.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The weights of the result's pixel `i` (counted inside the window).
    pub(super) fn tap(&self, i: usize) -> Taps<'_> {
        let Span { start, first, len, outside } = self.spans[i];
        Taps { start, weights: &self.weights[first..first + len], outside }
    }

    /// The weights of every pixel of the result in order.
    pub(super) fn taps(&self) -> impl Iterator<Item = Taps<'_>> {
        (0..self.len()).map(|i| self.tap(i))
    }

    /// The range of image pixels that have a weight anywhere.
    pub(super) fn reach(&self) -> Range<usize> {
        let used = || self.spans.iter().filter(|span| span.len > 0);
        let start = used().map(|span| span.start).min().unwrap_or(0);
        start..used().map(|span| span.start + span.len).max().unwrap_or(0)
    }

    /// Half a unit in fixed point: where a sum starts, so that the final shift rounds.
    pub(super) fn rounding(&self) -> i32 {
        1 << (self.bits - 1)
    }

    /// Converts a fixed-point sum to a pixel, clamped to 0 to 255.
    pub(super) fn to_u8(&self, sum: i32) -> u8 {
        (sum >> self.bits).clamp(0, 255) as u8
    }
}

/// The bicubic kernel scaled to an axis (antialiasing when it shrinks).
struct Kernel {
    length: u32,
    target: u32,
    scale: f64,
    support: f64,
    shrink: f64,
}

impl Kernel {
    fn new(length: u32, target: u32) -> Self {
        let scale = f64::from(length) / f64::from(target);
        let stretch = scale.max(1.0);
        Self { length, target, scale, support: SUPPORT * stretch, shrink: 1.0 / stretch }
    }

    /// Writes the weights of the result's pixel `i`, which sum to one, and returns the index of the
    /// first.
    fn taps(&self, i: u32, taps: &mut Vec<f64>) -> u32 {
        taps.clear();
        if self.length == self.target {
            taps.push(1.0);
            return i;
        }
        let center = (f64::from(i) + 0.5) * self.scale;
        let lo = (center - self.support + 0.5).max(0.0) as u32;
        let hi = ((center + self.support + 0.5) as u32).min(self.length);
        taps.extend((lo..hi).map(|j| cubic((f64::from(j) - center + 0.5) * self.shrink)));
        let total: f64 = taps.iter().sum();
        if total != 0.0 {
            for tap in taps.iter_mut() {
                *tap /= total;
            }
        }
        lo
    }
}

fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

/// A weight with `bits` fractional bits, rounded half away from zero.
fn fixed(weight: f64, bits: u32) -> i32 {
    let scaled = weight * f64::from(1_u32 << bits);
    (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32
}

/// The most fractional bits with which the axis's largest weight stays below 2^15.
fn torch_bits(kernel: &Kernel) -> u32 {
    let mut taps = Vec::new();
    let mut largest = 0.0_f64;
    for i in 0..kernel.target {
        kernel.taps(i, &mut taps);
        largest = taps.iter().copied().fold(largest, f64::max);
    }
    (0..PILLOW_BITS)
        .find(|bits| fixed(largest, bits + 1) >= 1 << TORCH_WEIGHT_BITS)
        .unwrap_or(PILLOW_BITS)
}
