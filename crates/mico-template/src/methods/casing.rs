//! Upper and lower case, and the tests of characters.

use crate::lexer::is_space;

pub(crate) fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// A word with its first letter in upper case, as jinja2's `title` writes it.
pub(crate) fn upper_first(word: &str) -> String {
    let mut chars = word.chars();
    let mut text: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    text.push_str(&chars.as_str().to_lowercase());
    text
}

/// One character in title case: of those that become several, only the first is in upper case.
fn push_title(c: char, out: &mut String) {
    let mut upper = c.to_uppercase();
    out.extend(upper.next());
    upper.for_each(|c| out.extend(c.to_lowercase()));
}

pub(super) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::new();
    if let Some(first) = chars.next() {
        push_title(first, &mut out);
    }
    out.push_str(&chars.as_str().to_lowercase());
    out
}

fn is_letter_case(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}

pub(super) fn title(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            push_title(c, &mut out);
        }
        inside = is_letter_case(c);
    }
    out
}

pub(super) fn swap(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

/// Python's `casefold`, which differs from lower case in few letters.
pub(super) fn fold(text: &str) -> String {
    text.to_lowercase().replace('ß', "ss").replace('ς', "σ")
}

/// Whether the letters with a case are all in the wanted one, and there is one.
pub(crate) fn is_cased(text: &str, upper: bool) -> bool {
    let wanted = |c: char| if upper { c.is_uppercase() } else { c.is_lowercase() };
    let mut cased = text.chars().filter(|c| is_letter_case(*c)).peekable();
    cased.peek().is_some() && cased.all(wanted)
}

fn is_title(text: &str) -> bool {
    let mut inside = false;
    let mut any = false;
    for c in text.chars() {
        if is_letter_case(c) {
            if c.is_uppercase() == inside {
                return false;
            }
            any = true;
        }
        inside = is_letter_case(c);
    }
    any
}

/// Zeros of the scripts whose decimal digits follow each other; the library has no table of them.
const ZEROS: [u32; 18] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
    0xE50, 0xED0, 0xF20, 0x1040, 0xFF10,
];

fn is_decimal(c: char) -> bool {
    ZEROS.iter().any(|zero| (*zero..zero + 10).contains(&(c as u32)))
}

fn is_digit(c: char) -> bool {
    is_decimal(c) || matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨')
}

/// The tests `is...` of a string; none for other names.
pub(super) fn test(text: &str, name: &str) -> Option<bool> {
    let every = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    Some(match name {
        "isalnum" => every(char::is_alphanumeric),
        "isalpha" => every(char::is_alphabetic),
        "isascii" => text.is_ascii(),
        "isdecimal" => every(is_decimal),
        "isdigit" => every(is_digit),
        "isnumeric" => every(|c| is_digit(c) || c.is_numeric()),
        "isspace" => every(is_space),
        "islower" => is_cased(text, false),
        "isupper" => is_cased(text, true),
        "istitle" => is_title(text),
        _ => return None,
    })
}
