//! The embedded font: `DejaVu Sans`, cut down by `font/subset.py`; its licence is `font/LICENSE`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::text;

/// The font family as CSS names it.
pub(crate) const FAMILY: &str = "DejaVu Sans";
/// Height of a capital letter as a share of the font size.
pub(crate) const CAP_HEIGHT: f64 = 0.73;
/// Drawn in place of a character the font lacks.
const REPLACEMENT: char = '\u{fffd}';
/// Width of a character, as a share of the font size, if the font could not be parsed.
const FALLBACK_ADVANCE: f64 = 0.6;

/// The parsed font. A test holds that it can be read; without it texts would have a width and no ink.
static FACE: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("../font/DejaVuSans-subset.ttf"), 0).ok());

/// Marks that would stand above or below the letter before them. The font has no rules to place them, so
/// the letter is drawn alone.
fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}')
}

/// The advance of `character` after `before`, kerning included, as a share of the font size.
pub(crate) fn advance(before: Option<char>, character: char) -> f64 {
    if is_combining(character) {
        return 0.0;
    }
    let Some(face) = FACE.as_ref() else { return FALLBACK_ADVANCE };
    let glyph = glyph(face, character);
    let own = f64::from(face.glyph_hor_advance(glyph).unwrap_or(0));
    let kern = before.map_or(0.0, |before| kerning(face, self::glyph(face, before), glyph));
    (own + kern) / f64::from(face.units_per_em())
}

/// The width of a line of text at a font size, in units.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let mut before = None;
    let advances = text.chars().map(|character| {
        let advance = advance(before, character);
        before = Some(character);
        advance
    });
    advances.sum::<f64>() * size
}

/// The outlines of a line of text that begins at (x, y) on the baseline; `None` if nothing is visible.
pub(crate) fn outlines(text: &str, size: f64, (x, y): (f64, f64)) -> Option<Path> {
    let face = FACE.as_ref()?;
    let scale = size / f64::from(face.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), x, y, scale };
    let mut before = None;
    for character in text.chars().filter(|character| !is_combining(*character)) {
        let glyph = glyph(face, character);
        pen.x += before.map_or(0.0, |before| kerning(face, before, glyph)) * scale;
        face.outline_glyph(glyph, &mut pen);
        pen.x += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        before = Some(glyph);
    }
    pen.path.finish()
}

/// How many different characters of a text are drawn as a replacement, because the font has none for them.
pub fn missing_glyphs(text: &str) -> usize {
    let Some(face) = FACE.as_ref() else { return 0 };
    let shown = text::clean(text);
    let missing =
        |character: &char| !is_combining(*character) && face.glyph_index(*character).is_none();
    shown.chars().filter(missing).collect::<BTreeSet<char>>().len()
}

fn glyph(face: &Face<'_>, character: char) -> GlyphId {
    let own = face.glyph_index(character);
    // Glyph 0 is a box in every font.
    own.or_else(|| face.glyph_index(REPLACEMENT)).unwrap_or(GlyphId(0))
}

/// The kerning of two glyphs, in font units.
fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> f64 {
    let tables = face.tables().kern.into_iter().flat_map(|kern| kern.subtables);
    let mut pairs = tables
        .filter(|table| table.horizontal && !table.variable && !table.has_cross_stream)
        .filter_map(|table| table.glyphs_kerning(left, right));
    f64::from(pairs.next().unwrap_or(0))
}

/// Collects glyph outlines in units of the drawing, y downwards.
struct Pen {
    path: PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (x, y) = (f64::from(x) * self.scale, f64::from(y) * self.scale);
        ((self.x + x) as f32, (self.y - y) as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_is_readable_and_has_what_the_charts_write() {
        let face = FACE.as_ref().unwrap();
        let has = |character| face.glyph_index(character).is_some();
        let written =
            "AZaz09 .,:;!?()[]<>=+-\u{2192}\u{2026}\u{394}\u{d7}\u{2013}\u{e9}\u{444}\u{fffd}";
        for character in written.chars() {
            assert!(has(character), "{character:?}");
        }
        assert!(!has('\u{4f60}') && !has('\u{1f600}'));
    }

    #[test]
    fn scripts_that_are_set_letter_by_letter_are_all_there() {
        // Latin with two marks, Greek with breathings, Cyrillic of Ukraine and Kazakhstan, Armenian, Georgian.
        for text in
            ["\u{1ec7}\u{1e9e}", "\u{1f00}\u{3c9}", "\u{491}\u{4d9}", "\u{531}\u{561}", "\u{10d0}"]
        {
            assert_eq!(missing_glyphs(text), 0, "{text}");
        }
        assert_eq!(missing_glyphs("e\u{301} \u{4f60}\u{597d}\u{4f60}\n"), 2, "each counts once");
    }

    #[test]
    fn widths_are_the_font_s_own() {
        assert!(width("i", 10.0) < width("m", 10.0));
        assert_eq!(width("", 10.0), 0.0);
        assert!((width("mm", 20.0) - 4.0 * width("m", 10.0)).abs() < 1e-9);
        assert!(width("AV", 100.0) < width("A", 100.0) + width("V", 100.0), "pairs are kerned");
        assert_eq!(width("\u{4f60}", 10.0), width("\u{fffd}", 10.0));
        assert_eq!(width("e\u{301}", 10.0), width("e", 10.0));
    }

    #[test]
    fn capitals_are_as_high_as_said() {
        let bounds = outlines("H", 100.0, (0.0, 100.0)).unwrap().bounds();
        assert!((f64::from(bounds.height()) - 100.0 * CAP_HEIGHT).abs() < 1.0, "{bounds:?}");
        assert_eq!(bounds.bottom(), 100.0);
        assert!(outlines(" ", 10.0, (0.0, 0.0)).is_none());
    }
}
