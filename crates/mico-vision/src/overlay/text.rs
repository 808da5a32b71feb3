//! Words as pixels: an 8 x 8 bitmap font, doubled, and line breaking.

use font8x8::UnicodeFonts;

use crate::pixels::RgbImage;

/// Drawn pixels per font pixel.
const SCALE: usize = 2;
/// Width and height of a drawn character.
pub(super) const CELL: usize = 8 * SCALE;
/// Distance from one line to the next.
pub(super) const LINE: usize = CELL + 6;
/// Longest text drawn; the rest is cut and marked.
const MAX_CHARACTERS: usize = 2000;
/// Shown where text is cut.
const MARK: &str = "...";
/// Shown in place of a character the font lacks.
const UNKNOWN: [u8; 8] = [0x7e, 0x42, 0x42, 0x42, 0x42, 0x42, 0x7e, 0x00];

/// Breaks `text` into lines of at most `columns` characters: at spaces, or inside a word that is
/// longer than a line. Line breaks in the text are kept.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut plain: Vec<char> = text.trim().chars().take(MAX_CHARACTERS + 1).collect();
    if plain.len() > MAX_CHARACTERS {
        plain.truncate(MAX_CHARACTERS);
        plain.extend(MARK.chars());
    }
    let plain: String = plain.into_iter().flat_map(spell).collect();
    plain.lines().flat_map(|line| wrap_line(line, columns.max(1))).collect()
}

/// The first line of `text` in at most `columns` characters, its end marked if it is cut off.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    let line = wrap(text, MAX_CHARACTERS).into_iter().next().unwrap_or_default();
    if line.chars().count() <= columns {
        return line;
    }
    let mark = if columns > MARK.len() { MARK } else { "" };
    line.chars().take(columns - mark.len()).chain(mark.chars()).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > columns {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        if used > 0 {
            current.push(' ');
            used += 1;
        }
        for character in word.chars() {
            if used == columns {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(character);
            used += 1;
        }
    }
    lines.push(current);
    lines
}

/// Typographic signs the font lacks, spelled with signs it has; control characters as spaces.
fn spell(character: char) -> impl Iterator<Item = char> {
    let plain = match character {
        '\n' => "\n",
        '\u{2018}' | '\u{2019}' | '\u{2032}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2022}' => "*",
        '\u{2026}' => "...",
        '\u{2192}' => "->",
        control if control.is_control() => " ",
        _ => "",
    };
    let own = plain.is_empty().then_some(character);
    plain.chars().chain(own)
}

/// Draws one line with its top left corner at (x, y).
pub(super) fn line(out: &mut RgbImage, text: &str, (x, y): (usize, usize), colour: [u8; 3]) {
    for (column, character) in text.chars().enumerate() {
        for (row, bits) in glyph(character).into_iter().enumerate() {
            for bit in (0..8).filter(|bit| bits >> bit & 1 == 1) {
                let (left, top) = (x + column * CELL + bit * SCALE, y + row * SCALE);
                for dot in 0..SCALE * SCALE {
                    out.put(left + dot % SCALE, top + dot / SCALE, colour);
                }
            }
        }
    }
}

/// A character's rows, the leftmost pixel in the lowest bit.
fn glyph(character: char) -> [u8; 8] {
    font8x8::BASIC_FONTS
        .get(character)
        .or_else(|| font8x8::LATIN_FONTS.get(character))
        .or_else(|| font8x8::GREEK_FONTS.get(character))
        .or_else(|| font8x8::HIRAGANA_FONTS.get(character))
        .or_else(|| font8x8::BOX_FONTS.get(character))
        .or_else(|| font8x8::BLOCK_FONTS.get(character))
        .or_else(|| font8x8::MISC_FONTS.get(character))
        .unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("a red bus", 5), ["a red", "bus"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("one\n\ntwo", 9), ["one", "", "two"]);
        assert_eq!(wrap("", 9), Vec::<String>::new());
        assert_eq!(wrap("x", 0), ["x"]);
    }

    #[test]
    fn spells_what_the_font_lacks() {
        assert_eq!(wrap("it\u{2019}s\t1\u{2192}2\u{2026}", 20), ["it's 1->2..."]);
        assert_eq!(glyph('\u{4f60}'), UNKNOWN);
        assert_ne!(glyph('\u{e9}'), UNKNOWN);
    }

    #[test]
    fn one_line_is_shortened() {
        assert_eq!(shorten(" 0:12\nmore ", 9), "0:12");
        assert_eq!(shorten("holiday-in-france.mp4", 10), "holiday...");
        assert_eq!((shorten("abcdef", 3), shorten("abcdef", 0)), ("abc".to_owned(), String::new()));
        assert_eq!(shorten("", 5), "");
    }

    #[test]
    fn long_texts_are_cut() {
        let lines = wrap(&"word ".repeat(10_000), 40);
        assert!(lines.len() < 60);
        assert!(lines.last().unwrap().ends_with("..."));
    }
}
