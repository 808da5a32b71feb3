//! Untrusted text made fit for a picture: cleaned, wrapped and shortened by its drawn width.

use crate::font;

/// The longest text drawn in one place, in characters; the rest is cut and marked.
const MAX_CHARACTERS: usize = 2000;
/// The longest text considered for a single line, in characters: no picture is as wide.
const MAX_LINE: usize = 500;
/// The largest number of lines of one text, however many line breaks it has.
const MAX_LINES: usize = 120;
/// The ellipsis shown where text is cut.
const MARK: char = '\u{2026}';

/// Cleans a text for one line: control characters become spaces, and invisible characters that change
/// how others are shown (direction overrides, joiners, selectors) are removed. The result is valid in
/// XML.
pub(crate) fn clean(text: &str) -> String {
    let shown = |character: char| match character {
        character if character.is_control() => Some(' '),
        '\u{2028}' | '\u{2029}' => Some(' '),
        character if is_invisible(character) => None,
        '\u{fffe}' | '\u{ffff}' => Some('\u{fffd}'),
        character => Some(character),
    };
    text.chars().filter_map(shown).collect()
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Breaks a text into lines at most `width` units wide: at spaces, or inside a word that is longer
/// than a line. Line breaks in the text are kept.
pub(crate) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let text = text.trim();
    let mut start: String = text.chars().take(MAX_CHARACTERS).collect();
    if start.len() < text.len() {
        start.push(MARK);
    }
    let paragraphs = start.lines().map(clean);
    let mut lines: Vec<String> =
        paragraphs.flat_map(|paragraph| wrap_paragraph(&paragraph, width / size)).collect();
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES - 1);
        lines.push(MARK.to_string());
    }
    lines
}

/// A text in one line at most `width` units wide, with an ellipsis if it is cut.
pub(crate) fn shorten(text: &str, size: f64, width: f64) -> String {
    let start: String = text.chars().take(MAX_LINE).collect();
    let line = clean(&start).trim().to_owned();
    if font::width(&line, size) <= width {
        return line;
    }
    let room = width / size - font::advance(None, MARK);
    let (mut used, mut before) = (0.0, None);
    let fits = |character: &char| {
        used += font::advance(before, *character);
        before = Some(*character);
        used <= room
    };
    let start: String = line.chars().take_while(fits).collect();
    let start = start.trim_end();
    // Where not even one character fits beside the ellipsis, it would say nothing alone.
    if start.is_empty() { String::new() } else { format!("{start}{MARK}") }
}

/// Breaks a paragraph into lines at most `room` font sizes wide.
fn wrap_paragraph(paragraph: &str, room: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    for word in paragraph.split_whitespace() {
        if !line.text.is_empty() {
            let width = font::width(word, 1.0) + font::advance(None, ' ');
            if line.width + width > room {
                lines.push(std::mem::take(&mut line).text);
            } else {
                line.push(' ');
            }
        }
        for character in word.chars() {
            if !line.text.is_empty() && line.after(character) > room {
                lines.push(std::mem::take(&mut line).text);
            }
            line.push(character);
        }
    }
    lines.push(line.text);
    lines
}

/// A line being filled, and its width in font sizes.
#[derive(Default)]
struct Line {
    text: String,
    width: f64,
}

impl Line {
    fn after(&self, character: char) -> f64 {
        self.width + font::advance(self.text.chars().next_back(), character)
    }

    fn push(&mut self, character: char) {
        self.width = self.after(character);
        self.text.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        let words = font::width("a red ", 10.0);
        assert_eq!(wrap("a red bus", 10.0, words), ["a red", "bus"]);
        let three = font::width("mmm", 10.0) + 0.01;
        assert_eq!(wrap("mmmmmmmm mi", 10.0, three), ["mmm", "mmm", "mm", "mi"]);
        assert_eq!(wrap("one\n\ntwo", 10.0, 500.0), ["one", "", "two"]);
        assert_eq!(wrap("", 10.0, 500.0), Vec::<String>::new());
        assert_eq!(wrap("xy", 10.0, 0.0), ["x", "y"]);
    }

    #[test]
    fn every_line_fits() {
        let text =
            "What does the sign above the second door on the left say, and in which language? ";
        for width in [90.0, 111.0, 480.0] {
            let lines = wrap(&text.repeat(5), 16.0, width);
            assert!(lines.iter().all(|line| font::width(line, 16.0) <= width), "{lines:?}");
            assert_eq!(lines.join(" ").split_whitespace().count(), 80);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let lines = wrap(&"word ".repeat(10_000), 10.0, 250.0);
        assert!(lines.len() < 60 && lines.last().unwrap().ends_with(MARK), "{lines:?}");
        let lines = wrap(&"x\n".repeat(10_000), 10.0, 250.0);
        assert_eq!((lines.len(), lines[MAX_LINES - 1].as_str()), (MAX_LINES, "\u{2026}"));
    }

    #[test]
    fn one_line_is_shortened() {
        assert_eq!(shorten(" 0:12 ", 10.0, 50.0), "0:12");
        assert_eq!(shorten("two\nlines", 10.0, 90.0), "two lines");
        let short = shorten("holiday-in-france.mp4", 10.0, 60.0);
        assert!(short.starts_with("holi") && short.ends_with(MARK), "{short}");
        assert!(font::width(&short, 10.0) <= 60.0);
        assert_eq!((shorten("abcdef", 10.0, 3.0), shorten("", 10.0, 9.0)), Default::default());
    }

    #[test]
    fn what_is_not_seen_does_not_stay() {
        assert_eq!(clean("a\u{7}b\u{202e}c\u{200d}\u{fe0f}d\u{0}\u{ffff}"), "a bcd \u{fffd}");
        assert_eq!(
            clean("\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600}"),
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600}"
        );
    }
}
