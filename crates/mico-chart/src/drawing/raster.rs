//! Rendering of shapes as pixels, for PNG files and overlays.

use mico_vision::{RgbImage, Size};
use tiny_skia::{
    FillRule, LineJoin, Path, PathBuilder, Pixmap, Stroke as SkiaStroke, StrokeDash, Transform,
};

use super::{Anchor, Drawing, Fill, Place, RenderError, Shape, Stroke, TextStyle};
use crate::color::{Paint, Theme};
use crate::font;

/// Renders a picture with `scale` pixels per unit.
pub(crate) fn pixels(drawing: &Drawing, scale: f64) -> Result<RgbImage, RenderError> {
    let side = |units: u32| (f64::from(units) * scale).round().max(1.0) as u32;
    let (width, height) = (side(drawing.width), side(drawing.height));
    let unable = RenderError::Size { width, height };
    let Some(mut pixmap) = Pixmap::new(width, height) else { return Err(unable) };
    let ground = Theme::LIGHT.color(drawing.ground);
    pixmap.fill(tiny_skia::Color::from_rgba8(ground.0, ground.1, ground.2, u8::MAX));
    let mut canvas = Canvas { pixmap, scale };
    for shape in &drawing.shapes {
        canvas.draw(shape);
    }
    // The background is opaque, so every pixel is: premultiplied bytes are the colors themselves.
    let data = canvas.pixmap.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    RgbImage::new(Size::new(width, height), data).map_err(|_| unable)
}

/// A picture while it is being rendered.
struct Canvas {
    pixmap: Pixmap,
    /// Pixels of the raster per unit of the drawing.
    scale: f64,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { points, stroke } => self.stroke(points, stroke),
            Shape::Area { points, fill } => self.fill(polygon(points), *fill),
            Shape::Disc { center: (x, y), radius, fill } => {
                let disc = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                self.fill(disc, *fill);
            }
            Shape::Text { at, text, style } => self.text(*at, text, style),
        }
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.scale as f32, self.scale as f32)
    }

    /// Fills a path; shapes without an extent have none and are not drawn.
    fn fill(&mut self, path: Option<Path>, fill: Fill) {
        if let Some(path) = path {
            let transform = self.transform();
            let paint = skia_paint(fill.paint, fill.opacity);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, transform, None);
        }
    }

    fn stroke(&mut self, points: &[Place], stroke: &Stroke) {
        let Some(path) = polyline(points).finish() else { return };
        // A solid line has no lengths, of which no dash pattern can be made.
        let dash = StrokeDash::new(stroke.dash.lengths().to_vec(), 0.0);
        let look = SkiaStroke {
            width: stroke.width as f32,
            line_join: LineJoin::Round,
            dash,
            ..SkiaStroke::default()
        };
        let paint = skia_paint(stroke.paint, stroke.opacity);
        let transform = self.transform();
        self.pixmap.stroke_path(&path, &paint, &look, transform, None);
    }

    fn text(&mut self, (x, y): Place, text: &str, style: &TextStyle) {
        let width = font::width(text, style.size);
        let x = match style.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        // Baselines on whole pixels keep letters crisp.
        let y = (y * self.scale).round() / self.scale;
        self.fill(font::outlines(text, style.size, (x, y)), style.paint.into());
    }
}

fn polyline(points: &[Place]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path
}

fn polygon(points: &[Place]) -> Option<Path> {
    let mut path = polyline(points);
    path.close();
    path.finish()
}

fn skia_paint(paint: Paint, opacity: f64) -> tiny_skia::Paint<'static> {
    let color = Theme::LIGHT.color(paint);
    let alpha = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    let mut paint = tiny_skia::Paint { anti_alias: true, ..tiny_skia::Paint::default() };
    paint.set_color_rgba8(color.0, color.1, color.2, alpha);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Color;

    const fn fixed(r: u8, g: u8, b: u8) -> Paint {
        Paint::Fixed(Color(r, g, b))
    }

    #[test]
    fn shapes_cover_what_they_should() {
        let mut drawing = Drawing::new(20, 20);
        let square = [(2.0, 2.0), (6.0, 2.0), (6.0, 6.0), (2.0, 6.0)];
        drawing.area(square, fixed(255, 0, 0));
        drawing.disc((14.0, 14.0), 3.0, fixed(0, 0, 255));
        drawing.line([(0.0, 10.0), (20.0, 10.0)], Stroke::solid(fixed(0, 255, 0), 1.0));
        let pixels = drawing.image().unwrap();
        assert_eq!(pixels.size(), Size::square(40));
        assert_eq!(pixels.pixel(8, 8), Some([255, 0, 0]));
        assert_eq!(pixels.pixel(1, 1), Some([255; 3]));
        assert_eq!(pixels.pixel(28, 28), Some([0, 0, 255]));
        assert_eq!(pixels.pixel(5, 20), Some([0, 255, 0]));
        assert_eq!(pixels.pixel(5, 25), Some([255; 3]));
    }

    /// Columns and rows of all pixels that are not white.
    fn inked(drawing: &Drawing) -> Vec<(usize, usize)> {
        let pixels = drawing.image().unwrap();
        let all = (0..pixels.height()).flat_map(|y| (0..pixels.width()).map(move |x| (x, y)));
        all.filter(|(x, y)| pixels.pixel(*x, *y) != Some([255; 3])).collect()
    }

    #[test]
    fn text_is_drawn_inside_its_box_and_nowhere_else() {
        for (anchor, at) in [(Anchor::Start, 10.0), (Anchor::Middle, 60.0), (Anchor::End, 110.0)] {
            let mut drawing = Drawing::new(120, 24);
            let text = "Ag\u{e9} \u{2192} \u{4f60}";
            drawing.text((at, 17.0), text, TextStyle::new(12.0, Paint::Ink).anchored(anchor));
            let width = font::width(text, 12.0);
            let left = match anchor {
                Anchor::Start => at,
                Anchor::Middle => at - width / 2.0,
                Anchor::End => at - width,
            };
            let (first, last) =
                ((left * 2.0 - 1.0) as usize, ((left + width) * 2.0 + 1.0) as usize);
            let inked = inked(&drawing);
            assert!(inked.len() > 200, "{} pixels", inked.len());
            let outside = inked.iter().find(|(x, y)| {
                !(first..=last).contains(x) || !((17 - 12) * 2..=(17 + 4) * 2).contains(y)
            });
            assert_eq!(outside, None, "{anchor:?}");
        }
    }

    #[test]
    fn dashes_have_gaps_and_thin_shapes_do_no_harm() {
        let mut drawing = Drawing::new(40, 4);
        drawing.line([(0.0, 2.0), (40.0, 2.0)], Stroke::dashed(Paint::Ink, 1.0));
        let row: Vec<usize> = inked(&drawing).iter().filter(|p| p.1 == 4).map(|p| p.0).collect();
        assert!(row.contains(&6) && !row.contains(&16) && row.contains(&26), "{row:?}");
        let mut odd = Drawing::new(10, 10);
        odd.line([], Stroke::solid(Paint::Ink, 1.0));
        odd.line([(1.0, 1.0)], Stroke::dashed(Paint::Ink, 1.0));
        odd.line([(f64::NAN, 1.0), (2.0, f64::INFINITY)], Stroke::solid(Paint::Ink, 1.0));
        odd.area([], Paint::Ink);
        odd.disc((f64::NAN, 0.0), -1.0, Paint::Ink);
        odd.text((1e300, -1e300), "far away", TextStyle::new(12.0, Paint::Ink));
        assert_eq!(inked(&odd), []);
    }

    #[test]
    fn what_cannot_be_held_is_an_error() {
        let found = Drawing::new(u32::MAX, u32::MAX).png().unwrap_err().to_string();
        assert!(found.contains("cannot be drawn"), "{found}");
        assert_eq!(Drawing::new(0, 0).image().unwrap().size(), Size::square(1));
    }
}
