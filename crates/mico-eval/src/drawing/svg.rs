//! Shapes as SVG.

use std::fmt::Write as _;

use super::{Anchor, Colour, Drawing, Place, Shape};

impl Drawing {
    /// The picture as an SVG document.
    pub fn svg(&self) -> String {
        self.element("xmlns=\"http://www.w3.org/2000/svg\"")
    }

    /// The picture as an element of an HTML document, with what it shows in words.
    pub fn inline_svg(&self, shows: &str) -> String {
        self.element(&format!("role=\"img\" aria-label=\"{}\"", escape(shows)))
    }

    fn element(&self, attributes: &str) -> String {
        let Self { width, height, shapes } = self;
        let mut text = format!(
            "<svg {attributes} width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for shape in shapes {
            // Writing to a string does not fail.
            let _ = write(&mut text, shape);
        }
        text.push_str("</svg>\n");
        text
    }
}

fn write(out: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Line { points, stroke } => {
            let dashes = if stroke.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
                 stroke-linejoin=\"round\"{dashes}/>",
                places(points),
                hex(stroke.colour),
                stroke.width
            )
        }
        Shape::Area { points, fill, opacity } => writeln!(
            out,
            "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{opacity}\"/>",
            places(points),
            hex(*fill)
        ),
        Shape::Disc { centre: (x, y), radius, fill } => writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\"/>",
            hex(*fill)
        ),
        Shape::Text { at: (x, y), text, font } => {
            let anchor = match font.anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" text-anchor=\"{anchor}\" \
                 fill=\"{}\">{}</text>",
                font.size,
                hex(font.colour),
                escape(text)
            )
        }
    }
}

fn places(points: &[Place]) -> String {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    places.join(" ")
}

fn hex(colour: Colour) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2)
}

fn escape(text: &str) -> String {
    mico_score::table::escape_html(text)
}
