//! Views: rectangles of model input, and the mapping from them back to the image.
//!
//! Every processor produces a list of views. The same four values (canvas, scaled size, origin, size)
//! give both the view's pixels and the region of the source image that a patch shows, so that the two
//! cannot disagree.

use crate::layout::Region;
use crate::pixels::{RgbImage, Size};
use crate::resample::{Canvas, ResizeBackend, Window, resize_window};

/// A rectangle cut out of the resized canvas that holds the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The image on its background, before resizing.
    pub canvas: Canvas,
    /// Size of the canvas after resizing.
    pub scaled: Size,
    /// Column of the view's left border on the scaled canvas; negative if it begins to the left of it.
    pub left: i64,
    /// Row of the view's top border on the scaled canvas; negative if it begins above it.
    pub top: i64,
    /// Size of the view, in pixels.
    pub size: Size,
}

impl View {
    /// The whole canvas, resized to `size` whatever its aspect ratio.
    pub const fn whole(canvas: Canvas, size: Size) -> Self {
        Self { canvas, scaled: size, left: 0, top: 0, size }
    }

    /// Renders the view's pixels; what lies outside the scaled canvas is black.
    pub fn render(&self, image: &RgbImage, backend: ResizeBackend) -> RgbImage {
        let mut out = RgbImage::filled(self.size, [0; 3]);
        let columns = overlap(self.left, self.size.width, self.scaled.width);
        let rows = overlap(self.top, self.size.height, self.scaled.height);
        if let (Some((x, columns)), Some((y, rows))) = (columns, rows) {
            let window = Window { columns, rows };
            let part = resize_window(image, &self.canvas, self.scaled, &window, backend);
            if part.size() == out.size() {
                return part;
            }
            out.paste(&part, x, y);
        }
        out
    }

    /// The region of an image of size `image` that the view's rectangle from (x0, y0) to (x1, y1)
    /// shows.
    pub fn region(&self, image: Size, corners: [f64; 4]) -> Region {
        let x = |at: f64| {
            let scale = f64::from(self.canvas.size.width) / f64::from(self.scaled.width);
            let place = (at + self.left as f64) * scale - f64::from(self.canvas.left);
            place.clamp(0.0, f64::from(image.width)) as f32
        };
        let y = |at: f64| {
            let scale = f64::from(self.canvas.size.height) / f64::from(self.scaled.height);
            let place = (at + self.top as f64) * scale - f64::from(self.canvas.top);
            place.clamp(0.0, f64::from(image.height)) as f32
        };
        let [x0, y0, x1, y1] = corners;
        let region = Region { x0: x(x0), y0: y(y0), x1: x(x1), y1: y(y1) };
        if region.is_empty() { Region::EMPTY } else { region }
    }

    /// The region shown by the patch in a row and column of a grid of square patches.
    pub fn patch_region(&self, image: Size, patch: u32, row: usize, column: usize) -> Region {
        let side = f64::from(patch);
        let (x, y) = (column as f64 * side, row as f64 * side);
        self.region(image, [x, y, x + side, y + side])
    }
}

/// Of a view from `origin` on, the part that lies on a scaled axis of length `scaled`: its offset
/// in the view and the range on the axis.
fn overlap(origin: i64, length: u32, scaled: u32) -> Option<(usize, std::ops::Range<u32>)> {
    let start = origin.clamp(0, i64::from(scaled));
    let end = origin.saturating_add(i64::from(length)).clamp(0, i64::from(scaled));
    let range = u32::try_from(start).ok()?..u32::try_from(end).ok()?;
    (!range.is_empty()).then_some((usize::try_from(start.saturating_sub(origin)).ok()?, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_beside_the_canvas_is_black_and_shows_nothing() {
        let image = RgbImage::filled(Size::new(4, 4), [200; 3]);
        let canvas = Canvas::bare(image.size());
        let view = View { left: 8, ..View::whole(canvas, Size::square(8)) };
        assert!(view.render(&image, ResizeBackend::Pillow).data().iter().all(|&byte| byte == 0));
        assert!(view.patch_region(image.size(), 4, 0, 0).is_empty());
    }

    #[test]
    fn regions_lead_back_through_margin_and_scale() {
        // 40 x 20 on a 40 x 40 ground, resized to 20 x 20, patches of 5: the first row is margin.
        let image = Size::new(40, 20);
        let view = View::whole(Canvas::square(image, [0; 3]), Size::square(20));
        assert!(view.patch_region(image, 5, 0, 3).is_empty());
        let region = view.patch_region(image, 5, 1, 3);
        assert_eq!(region, Region { x0: 30.0, y0: 0.0, x1: 40.0, y1: 10.0 });
    }
}
