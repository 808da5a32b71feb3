//! Character classes, trimming and splitting as in Python.

use std::sync::LazyLock;

use regex::Regex;

// Python's `isalpha` is exactly the letter categories, which the standard library does not offer:
// its `is_alphabetic` also takes combining marks and letter-like numbers.
static LETTER: LazyLock<Regex> = LazyLock::new(|| constant(r"\A\p{L}\z"));
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| constant(r"\A\p{Nd}\z"));
static HIDDEN: LazyLock<Regex> = LazyLock::new(|| constant(r"\A[\p{C}\p{Z}]\z"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| constant(r"\A\p{N}\z"));

#[expect(clippy::expect_used, reason = "the patterns are constants, and each has a test")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

fn in_class(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Whether `str.split` and `\s` treat it as white space: Unicode white space and U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether it is a letter of any script (Python's `str.isalpha`).
pub fn is_alpha(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { in_class(&LETTER, c) }
}

/// Whether `\d` matches it: a decimal digit of any script.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { in_class(&DECIMAL, c) }
}

/// Whether `\w` matches it: a letter, a number of any kind, or `_`.
pub fn is_word(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '_'
    } else {
        in_class(&LETTER, c) || in_class(&NUMBER, c)
    }
}

/// Whether `repr` prints it unescaped: not a control, format or unassigned character, nor a space
/// other than U+0020.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() { !c.is_ascii_control() } else { !in_class(&HIDDEN, c) }
}

/// The value of a decimal digit of any script, from 0 to 9; `None` for other characters.
pub fn digit_value(c: char) -> Option<u32> {
    if !is_digit(c) {
        return None;
    }
    // Unicode arranges decimal digits in runs of whole sets of ten that start with a zero.
    let mut start = u32::from(c);
    while start.checked_sub(1).and_then(char::from_u32).is_some_and(is_digit) {
        start -= 1;
    }
    Some((u32::from(c) - start) % 10)
}

/// Removes white space at both ends (Python's `str.strip`).
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Splits at runs of white space (Python's `str.split`); no part is empty.
pub fn split(text: &str) -> Vec<&str> {
    text.split(is_space).filter(|part| !part.is_empty()).collect()
}

/// Converts to lower case by the full Unicode rules (Python's `str.lower`).
pub fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// The number of code points after conversion to upper case (`ß` becomes two).
pub fn upper_len(text: &str) -> usize {
    text.chars().flat_map(char::to_uppercase).count()
}

/// Removes the 32 ASCII punctuation marks (Python's `string.punctuation`).
pub fn delete_ascii_punctuation(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_punctuation()).collect()
}

/// The capital letter with the given 0-based index; `None` above 25.
pub fn capital(index: usize) -> Option<char> {
    u8::try_from(index).ok().filter(|index| *index < 26).map(|index| char::from(b'A' + index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_pythons() {
        for c in ['\u{1c}', '\u{1f}', '\u{85}', '\u{a0}', '\u{3000}', '\u{2028}', '\t', '\u{b}'] {
            assert!(is_space(c), "{c:?}");
        }
        for c in ['\u{200b}', '\u{feff}', '\u{0}', 'a'] {
            assert!(!is_space(c), "{c:?}");
        }
        assert_eq!(strip("\u{1c} a b\u{85}"), "a b");
        assert_eq!(split("\u{3000}a\u{1d}b  c "), ["a", "b", "c"]);
    }

    #[test]
    fn classes_are_pythons() {
        assert!(is_alpha('狗') && is_alpha('é') && !is_alpha('\u{301}') && !is_alpha('Ⅷ'));
        assert!(is_digit('３') && is_digit('٣') && !is_digit('²') && !is_digit('Ⅷ'));
        assert!(is_word('²') && is_word('_') && is_word('狗') && !is_word('\u{301}'));
    }

    #[test]
    fn what_cannot_be_seen_is_not_printable() {
        for c in ['a', ' ', 'é', '狗', '。', '😀', '\u{301}'] {
            assert!(is_printable(c), "{c:?}");
        }
        for c in ['\n', '\u{7f}', '\u{a0}', '\u{ad}', '\u{200b}', '\u{3000}', '\u{e000}', '\u{378}']
        {
            assert!(!is_printable(c), "{c:?}");
        }
    }

    #[test]
    fn digits_have_values_in_every_script() {
        assert_eq!(digit_value('７'), Some(7));
        assert_eq!(digit_value('٤'), Some(4));
        assert_eq!(digit_value('𝟗'), Some(9));
        assert_eq!(digit_value('x'), None);
    }

    #[test]
    fn casing_is_full() {
        assert_eq!(lower("ΟΔΟΣ İ"), "οδος i\u{307}");
        assert_eq!(upper_len("straße"), 7);
    }

    #[test]
    fn capitals_end_at_z() {
        assert_eq!((capital(0), capital(25), capital(26)), (Some('A'), Some('Z'), None));
    }
}
