//! The canvas onto which WebP frames are composed, following libwebp's rules and arithmetic.

use mico_vision::Size;

/// Bytes per pixel: red, green, blue and alpha, not premultiplied.
const RGBA: usize = 4;

/// The position of a frame on the canvas, and how it is combined with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) size: Size,
    /// Whether the coded picture states that it has transparency.
    pub(super) has_alpha: bool,
    /// Whether the frame is alpha-blended over the canvas instead of replacing it.
    pub(super) blends: bool,
    /// Whether the frame's area is cleared to transparent before the next frame.
    pub(super) is_cleared: bool,
}

impl Placement {
    fn covers(&self, canvas: Size) -> bool {
        self.size == canvas
    }

    fn contains(&self, x: u32, y: u32) -> bool {
        (self.x..self.x + self.size.width).contains(&x)
            && (self.y..self.y + self.size.height).contains(&y)
    }
}

/// The current picture of an animation.
#[derive(Debug)]
pub(super) struct Canvas {
    size: Size,
    rgba: Vec<u8>,
    /// The frame shown last, and whether it was drawn on an empty canvas.
    last: Option<(Placement, bool)>,
}

impl Canvas {
    /// Creates a fully transparent canvas.
    pub(super) fn new(size: Size) -> Self {
        Self { size, rgba: vec![0; size.area() as usize * RGBA], last: None }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// Draws a frame, which must lie within the canvas. The file's background colour is ignored, as
    /// players do: they show what is behind the animation.
    pub(super) fn show(&mut self, frame: &Placement, pixels: &[u8]) {
        let starts_anew = self.starts_anew(frame);
        let mut cleared = None;
        if starts_anew {
            self.rgba.fill(0);
        } else if let Some((last, _)) = self.last.filter(|(last, _)| last.is_cleared) {
            for y in 0..last.size.height {
                self.row(&last, y).fill(0);
            }
            cleared = Some(last);
        }
        let blends = frame.blends && !starts_anew;
        let row_bytes = frame.size.width as usize * RGBA;
        for (y, source) in (0..frame.size.height).zip(pixels.chunks_exact(row_bytes)) {
            let target = self.row(frame, y);
            if !blends {
                target.copy_from_slice(source);
                continue;
            }
            let pairs =
                target.as_chunks_mut::<RGBA>().0.iter_mut().zip(source.as_chunks::<RGBA>().0);
            for (x, (under, &over)) in (frame.x..).zip(pairs) {
                // On a cleared area pixels are copied, because blending with transparency would round.
                let is_cleared = cleared.is_some_and(|last| last.contains(x, frame.y + y));
                *under = if is_cleared { over } else { blend(over, *under) };
            }
        }
        self.last = Some((*frame, starts_anew));
    }

    /// Whether nothing of the previous picture remains, so that there is nothing to blend with.
    fn starts_anew(&self, frame: &Placement) -> bool {
        let Some((last, last_started_anew)) = self.last else { return true };
        let replaces_all = frame.covers(self.size) && !(frame.has_alpha && frame.blends);
        let all_cleared = last.is_cleared && (last.covers(self.size) || last_started_anew);
        replaces_all || all_cleared
    }

    /// The canvas pixels under row `y` of a frame.
    fn row(&mut self, frame: &Placement, y: u32) -> &mut [u8] {
        let start = (frame.y + y) as usize * self.size.width as usize + frame.x as usize;
        &mut self.rgba[start * RGBA..][..frame.size.width as usize * RGBA]
    }
}

/// Blends `over` onto `under`, both not premultiplied. With alphas a (over) and b (under), the
/// visible part of `under` is d = floor(b (256 - a) / 256), the alpha is a + d, and each colour is
/// floor((over a + under d) floor(2^24 / (a + d)) / 2^24). This is libwebp's fixed-point
/// arithmetic, whose results are up to one level below the true quotient. Opaque and transparent
/// pixels are exact.
fn blend(over: [u8; RGBA], under: [u8; RGBA]) -> [u8; RGBA] {
    let alpha = u32::from(over[3]);
    match over[3] {
        0 => return under,
        u8::MAX => return over,
        _ => {}
    }
    let through = (u32::from(under[3]) * (256 - alpha)) >> 8;
    let scale = (1 << 24) / (alpha + through);
    let mixed = |channel: usize| {
        let sum = u32::from(over[channel]) * alpha + u32::from(under[channel]) * through;
        // At most 255 (a + d) floor(2^24 / (a + d)), which is below 2^32.
        ((sum * scale) >> 24) as u8
    };
    [mixed(0), mixed(1), mixed(2), (alpha + through) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: [u8; RGBA] = [200, 0, 0, 255];
    const CLEAR: [u8; RGBA] = [0; RGBA];
    const FULL: Placement = Placement {
        x: 0,
        y: 0,
        size: Size::new(2, 1),
        has_alpha: true,
        blends: true,
        is_cleared: false,
    };
    const RIGHT: Placement = Placement { x: 1, size: Size::square(1), ..FULL };

    #[test]
    fn opaque_and_transparent_pixels_are_exact() {
        for value in 0..=255 {
            let opaque = [value, 255 - value, 7, 255];
            for under in [RED, CLEAR, [1, 2, 3, value]] {
                assert_eq!(blend(opaque, under), opaque);
                assert_eq!(blend([value, value, value, 0], under), under);
            }
        }
    }

    #[test]
    fn mixing_is_within_a_level_and_never_overflows() {
        for alpha in 1..255 {
            for under_alpha in 0..=255 {
                let [white, .., shown] =
                    blend([255, 255, 255, alpha], [255, 255, 255, under_alpha]);
                assert!(white >= 254 && shown >= alpha, "{alpha} on {under_alpha}");
            }
            let [color, .., shown] = blend([255, 0, 0, alpha], [0, 0, 0, 255]);
            assert!(shown >= 254 && color.abs_diff(alpha) <= 1, "{alpha}: {color} {shown}");
        }
    }

    #[test]
    fn a_cleared_place_shows_the_next_frame_itself() {
        let faint = [77, 78, 79, 3];
        assert_ne!(blend(faint, CLEAR), faint, "the case would prove nothing");
        let mut canvas = Canvas::new(FULL.size);
        canvas.show(&FULL, [RED, RED].as_flattened());
        canvas.show(&Placement { is_cleared: true, ..RIGHT }, &faint);
        assert_eq!(canvas.rgba()[..RGBA], RED);
        assert_eq!(canvas.rgba()[RGBA..], blend(faint, RED));
        canvas.show(&FULL, [CLEAR, faint].as_flattened());
        assert_eq!(canvas.rgba(), [RED, faint].as_flattened());
    }

    #[test]
    fn a_frame_that_does_not_blend_replaces() {
        let mut canvas = Canvas::new(FULL.size);
        canvas.show(&FULL, [RED, RED].as_flattened());
        canvas.show(&Placement { blends: false, ..RIGHT }, &[9, 9, 9, 0]);
        assert_eq!(canvas.rgba(), [RED, [9, 9, 9, 0]].as_flattened());
    }
}
