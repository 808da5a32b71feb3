//! Rendering of shapes as SVG, as a file or inside an HTML document.

use std::fmt::Write as _;

use mico_util::escape_markup;

use super::{Anchor, Drawing, Fill, Place, Shape};
use crate::color::{Paint, Theme};
use crate::font;
use crate::text::clean;

/// Where an SVG takes its colors from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colors {
    /// Fixed colors for a white background, in the file itself.
    Own,
    /// CSS custom properties of the surrounding document, falling back to those for a white background.
    Document,
}

impl Drawing {
    /// The picture as an SVG file.
    pub fn svg(&self) -> String {
        self.element("xmlns=\"http://www.w3.org/2000/svg\"", Colors::Own)
    }

    /// The picture as an element of an HTML document; `shows` describes it for screen readers. Colors
    /// are those of [`theme_css`](crate::theme_css), if the document includes it.
    pub fn inline_svg(&self, shows: &str) -> String {
        let shows = escape_markup(&clean(shows));
        self.element(&format!("role=\"img\" aria-label=\"{shows}\""), Colors::Document)
    }

    fn element(&self, attributes: &str, colors: Colors) -> String {
        let Self { width, height, ground, shapes } = self;
        let mut text = format!(
            "<svg {attributes} width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"{}, Verdana, Arial, sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
            font::FAMILY,
            color(*ground, colors)
        );
        for shape in shapes {
            // Writing to a string does not fail.
            let _ = write(&mut text, shape, colors);
        }
        text.push_str("</svg>\n");
        text
    }
}

fn write(out: &mut String, shape: &Shape, colors: Colors) -> std::fmt::Result {
    match shape {
        Shape::Line { points, stroke } => {
            let dash: Vec<String> = stroke.dash.lengths().iter().map(f32::to_string).collect();
            let paint = color(stroke.paint, colors);
            write!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{paint}\"",
                places(points)
            )?;
            write!(out, " stroke-width=\"{}\" stroke-linejoin=\"round\"", stroke.width)?;
            if !dash.is_empty() {
                write!(out, " stroke-dasharray=\"{}\"", dash.join(" "))?;
            }
            if stroke.opacity < 1.0 {
                write!(out, " stroke-opacity=\"{}\"", stroke.opacity)?;
            }
            out.write_str("/>\n")
        }
        Shape::Area { points, fill } => {
            writeln!(out, "<polygon points=\"{}\"{}/>", places(points), filled(*fill, colors))
        }
        Shape::Disc { center: (x, y), radius, fill } => {
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"{}/>",
                filled(*fill, colors)
            )
        }
        Shape::Text { at: (x, y), text, style } => {
            let anchor = match style.anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\"{anchor} fill=\"{}\">{}</text>",
                style.size,
                color(style.paint, colors),
                escape_markup(text)
            )
        }
    }
}

fn filled(fill: Fill, colors: Colors) -> String {
    let mut attributes = format!(" fill=\"{}\"", color(fill.paint, colors));
    if fill.opacity < 1.0 {
        let _ = write!(attributes, " fill-opacity=\"{}\"", fill.opacity);
    }
    attributes
}

fn color(paint: Paint, colors: Colors) -> String {
    let own = Theme::LIGHT.color(paint).hex();
    match paint.property().filter(|_| colors == Colors::Document) {
        Some(property) => format!("var({property}, {own})"),
        None => own,
    }
}

fn places(points: &[Place]) -> String {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    places.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Stroke, TextStyle};

    #[test]
    fn both_forms_are_well_formed_and_texts_are_only_texts() {
        let odd = "<a href='x'>\"&amp;\" ]]> \u{0}\u{7}\u{202e}\u{ffff}\u{1f600} \u{5e9}";
        let mut drawing = Drawing::new(30, 20);
        drawing.text((1.0, 2.0), odd, TextStyle::new(12.0, Paint::Ink));
        drawing.text((1.0, 2.0), " \u{200b}\n", TextStyle::new(12.0, Paint::Ink));
        drawing.line([(0.0, 0.0), (9.0, 9.0)], Stroke::dashed(Paint::Series(0), 1.5));
        drawing.disc((3.0, 3.0), 2.0, Fill { paint: Paint::Front, opacity: 0.5 });
        for text in [drawing.svg(), drawing.inline_svg(odd)] {
            let document = roxmltree::Document::parse(&text).unwrap();
            let shapes: Vec<&str> = document
                .root_element()
                .children()
                .filter(roxmltree::Node::is_element)
                .map(|node| node.tag_name().name())
                .collect();
            assert_eq!(shapes, ["rect", "text", "polyline", "circle"]);
            let shown = document.descendants().find_map(|node| node.text().filter(|t| t.len() > 5));
            assert_eq!(shown.unwrap(), clean(odd));
        }
        let inline = drawing.inline_svg(odd);
        assert!(inline.contains("var(--chart-ink, #1e1e1e)") && !inline.contains("http:"));
        assert!(!drawing.svg().contains("var("));
    }
}
