//! Text inside HTML and XML documents.

/// Escapes text for HTML and XML, as element content and inside quoted attributes, so that nothing in it
/// is markup. Control characters other than line breaks and tabs are invalid in XML, and bidirectional
/// overrides change how the rest of a document is displayed: both become replacement characters.
pub fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            character if character.is_control() => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_is_only_text() {
        let odd = "<script>alert('x')</script> \"q\" & \u{0}\u{7}\u{1b}[0m\u{202e}\r\nb";
        let expected = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &quot;q&quot; &amp; \
            \u{fffd}\u{fffd}\u{fffd}[0m\u{fffd}\u{fffd}\nb";
        assert_eq!(escape_markup(odd), expected);
    }
}
