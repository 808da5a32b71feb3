//! Text of files and users inside messages: one line, of bounded length, that cannot command a terminal.

/// Most characters of a value that a message quotes; what is longer is rarely read and hides the message.
pub const MAX_QUOTED: usize = 80;

/// `text` with every character that does not print as itself written as an escape (`\n`, `\u{1b}`): control
/// characters, line separators, marks that change the direction of what follows, and invisible ones. The
/// joiners inside emoji and scripts that need them stay, as do backslashes: the result is to be read, not
/// parsed.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_escaped(&mut out, character);
    }
    out
}

/// `text` of several lines for a terminal or a table: [`escaped`], but for line feeds and tabs.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            character => push_escaped(&mut out, character),
        }
    }
    out
}

/// `text` as a message quotes it: [`escaped`], and cut with "…" if it then has more than [`MAX_QUOTED`]
/// characters. Quotation marks are the message's own.
pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    // Where the cut falls if the text turns out to be too long: whole escapes, and room for the ellipsis.
    let mut cut = 0;
    for character in text.chars() {
        let before = out.len();
        push_escaped(&mut out, character);
        length += out[before..].chars().count();
        if length < MAX_QUOTED {
            cut = out.len();
        } else if length > MAX_QUOTED {
            out.truncate(cut);
            out.push('…');
            break;
        }
    }
    out
}

/// Most characters of another library's message inside one of ours.
pub const MAX_MESSAGE: usize = 240;
/// What is kept of the end of a long one: the place, which parsers name last.
const MESSAGE_END: usize = 60;

/// The message of another library, such as a parser: [`escaped`], and if it has more than [`MAX_MESSAGE`]
/// characters, because it quotes a value whole, its middle left out.
///
/// ```
/// use mico_util::text::{MAX_MESSAGE, brief};
/// let long = format!("unknown field `{}` at line 1 column 7", "x".repeat(5000));
/// let shown = brief(&long);
/// assert!(shown.starts_with("unknown field `xxx") && shown.ends_with("` at line 1 column 7"));
/// assert_eq!(shown.chars().count(), MAX_MESSAGE);
/// ```
pub fn brief(message: impl std::fmt::Display) -> String {
    let message = escaped(&message.to_string());
    let length = message.chars().count();
    if length <= MAX_MESSAGE {
        return message;
    }
    let start = message.chars().take(MAX_MESSAGE - MESSAGE_END - 1);
    start.chain(['…']).chain(message.chars().skip(length - MESSAGE_END)).collect()
}

fn push_escaped(out: &mut String, character: char) {
    match character {
        '\n' | '\r' | '\t' => out.extend(character.escape_default()),
        character if is_hidden(character) => out.extend(character.escape_unicode()),
        character => out.push(character),
    }
}

/// Whether a character has no shape of its own, or changes how others are shown.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_command_a_terminal_or_hide_is_written_out() {
        assert_eq!(escaped("\u{1b}[31mred\u{7f}\u{9b}"), r"\u{1b}[31mred\u{7f}\u{9b}");
        assert_eq!(escaped("a\nb\tc\r"), r"a\nb\tc\r");
        assert_eq!(
            escaped("x\u{202e}y\u{2066}z\u{200b}\u{2029}"),
            r"x\u{202e}y\u{2066}z\u{200b}\u{2029}"
        );
    }

    #[test]
    fn readable_text_stays_as_it_is() {
        for text in ["", "plain", "Größe", "日本語", "👩\u{200d}🔧", r"C:\models\x", "it's \"so\""]
        {
            assert_eq!(escaped(text), text);
            assert_eq!(quoted(text), text);
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn printable_text_keeps_its_lines_and_columns() {
        assert_eq!(printable("a\tb\n\u{1b}[2J\r\n"), "a\tb\n\\u{1b}[2J\\r\n");
    }

    #[test]
    fn a_quotation_has_at_most_eighty_characters() {
        let exact = "é".repeat(MAX_QUOTED);
        assert_eq!(quoted(&exact), exact);
        let cut = quoted(&"é".repeat(MAX_QUOTED + 1));
        assert_eq!(cut, format!("{}…", "é".repeat(MAX_QUOTED - 1)));
        for text in ["\u{1b}".repeat(5000), "a\u{1b}".repeat(5000), "x".repeat(5_000_000)] {
            let cut = quoted(&text);
            assert!(cut.chars().count() <= MAX_QUOTED, "{cut}");
            assert!(cut.ends_with('…'), "{cut}");
        }
    }
}
