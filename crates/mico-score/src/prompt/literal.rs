//! Lists of texts as Python writes them.

/// The texts of a list such as `['a', "b's"]`; `None` if it is none.
pub(super) fn list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('[')?.trim_start();
    let mut texts = Vec::new();
    while !rest.starts_with(']') {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (item, after) = quoted(rest.strip_prefix(quote)?, quote)?;
        texts.push(item);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.starts_with(']') => {}
            None => return None,
        }
    }
    (rest.trim_end() == "]").then_some(texts)
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut item = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            c if c == quote => return Some((item, chars.as_str())),
            '\\' => item.push_str(&escaped(&mut chars)?),
            c => item.push(c),
        }
    }
}

/// What a backslash and the characters after it stand for; one that escapes nothing stays.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<String> {
    let digits = match chars.next()? {
        'n' => return Some("\n".to_owned()),
        't' => return Some("\t".to_owned()),
        'r' => return Some("\r".to_owned()),
        c @ ('\\' | '\'' | '"') => return Some(c.to_string()),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        c => return Some(format!("\\{c}")),
    };
    let code: String = chars.by_ref().take(digits).collect();
    let complete = code.chars().count() == digits && code.chars().all(|c| c.is_ascii_hexdigit());
    let code = u32::from_str_radix(&code, 16).ok().filter(|_| complete)?;
    char::from_u32(code).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn lists_are_read_as_python_writes_them() {
        let cases: [(&str, Option<&[&str]>); 9] = [
            (r#"['a', "b's"]"#, Some(&["a", "b's"])),
            ("[]", Some(&[])),
            (r"['\\alpha', '\d', 'x\n', '\u00e9']", Some(&["\\alpha", "\\d", "x\n", "é"])),
            (" ['a',] ", Some(&["a"])),
            ("['a' 'b']", None),
            ("['a'", None),
            ("['a", None),
            (r"['\x4']", None),
            ("a, b", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|texts| texts.iter().map(ToString::to_string).collect());
            assert_eq!(list(text), expected, "{text}");
        }
    }
}
