//! Text and bytes as parts of an HTML document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub(super) use mico_util::escape_markup as escape;

/// The longest text of a file that is shown whole, in characters.
pub(super) const LONGEST: usize = 1200;

/// The same, cut at [`LONGEST`] with a note of how much is missing.
pub(super) fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST) else { return escape(text) };
    let left = text[end..].chars().count();
    format!("{} <span class=\"muted\">[… {left} more characters]</span>", escape(&text[..end]))
}

/// A name that can stand in an address: letters, digits and dashes.
pub(super) fn anchor(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            'A'..='Z' => name.push(c.to_ascii_lowercase()),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.trim_matches('-').to_owned()
}

/// A JPEG file as an address that holds it.
pub(super) fn data_uri(jpeg: &[u8]) -> String {
    format!("data:image/jpeg;base64,{}", STANDARD.encode(jpeg))
}

/// A command line, with quotes where words would fall apart.
pub(super) fn command(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
    let word = |word: &String| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", word.replace('\'', "'\\''")),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// `one thing`, `2 things`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é<".repeat(LONGEST);
        let shown = cut(&text);
        assert!(shown.contains(&format!("[… {LONGEST} more characters]")), "{shown}");
        assert_eq!(shown.matches("&lt;").count(), LONGEST / 2);
        assert_eq!(cut("a\"b"), "a&quot;b");
    }

    #[test]
    fn bytes_become_base64() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            let uri = data_uri(bytes.as_bytes());
            assert_eq!(uri, format!("data:image/jpeg;base64,{expected}"));
        }
        assert!(data_uri(&[0xff, 0xfe, 0xfd]).ends_with("//79"));
    }

    #[test]
    fn names_and_words() {
        assert_eq!(anchor("RefCOCO+ / <b>"), "refcoco-b");
        let argv = ["mico", "eval", "a b", "it's"].map(str::to_owned);
        assert_eq!(command(&argv), "mico eval 'a b' 'it'\\''s'");
        assert_eq!(counted(1, "item", "items"), "1 item");
        assert_eq!(counted(2, "item", "items"), "2 items");
    }
}
