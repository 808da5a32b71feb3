//! Regular expressions by which texts are cut: only those whose cost is known.
//!
//! The engine behind them backtracks as soon as there is a look-ahead, gives up after a million steps, and
//! what it has not matched by then is cut differently without a word. So a pattern is either one of those
//! that published models have, or it is *flat*: alternatives of characters and classes with at most one
//! quantifier each, groups only of fixed texts, and no look-ahead but `\s+(?!\S)`, which takes back at most
//! one character. Matching a flat pattern is at worst quadratic in the text, which [`super`] therefore
//! bounds. No pattern may match nothing: replacing nothing by something confuses the library's offsets.

use std::iter::Peekable;
use std::str::Chars;

use super::super::qwen2;

/// Where GPT-2 cuts, Llama 3, Qwen3.5, GPT-4o, and Mistral's Tekken; Qwen2's is [`qwen2::PIECES`].
const PUBLISHED: [&str; 6] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    qwen2::PIECES,
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];
/// The one look-ahead of flat patterns, and what must stand before it as its whole alternative.
const LOOK_AHEAD: &str = r"(?!\S)";
const LOOKED_AHEAD: &str = r"\s+";
/// Longest flat pattern in bytes.
const MAX_BYTES: usize = 1024;
/// Most alternatives: with the longest text, fewer failures than the engine's million steps.
const MAX_BRANCHES: usize = 24;
/// Most characters and classes, counted as often as they are repeated: each is compiled by itself.
const MAX_ITEMS: u32 = 256;
/// Largest count in braces.
const MAX_REPEATS: u32 = 16;

/// Whether a pattern is one of a published model; an error if it is none and not flat either.
pub(super) fn check(pattern: &str) -> Result<bool, &'static str> {
    if PUBLISHED.contains(&pattern) {
        return Ok(true);
    }
    if pattern.len() > MAX_BYTES {
        return Err("too long");
    }
    let mut reader = Reader { pattern, rest: pattern.chars().peekable(), items: 0 };
    for _ in 0..MAX_BRANCHES {
        reader.branch()?;
        match reader.rest.next() {
            None => return Ok(false),
            Some('|') => {}
            Some(_) => return Err("unmatched parenthesis"),
        }
    }
    Err("too many alternatives")
}

/// How often an item occurs.
struct Times {
    least: u32,
    most: Option<u32>,
}

impl Times {
    const ONCE: Self = Self { least: 1, most: Some(1) };
}

struct Reader<'p> {
    pattern: &'p str,
    rest: Peekable<Chars<'p>>,
    items: u32,
}

impl Reader<'_> {
    fn at(&self) -> usize {
        self.pattern.len() - self.rest.clone().map(char::len_utf8).sum::<usize>()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    /// One alternative: items that together match at least one character.
    fn branch(&mut self) -> Result<(), &'static str> {
        let start = self.at();
        let mut matches_something = false;
        while let Some(&next) = self.rest.peek() {
            if next == '|' || next == ')' {
                break;
            }
            if self.pattern[self.at()..].starts_with(LOOK_AHEAD) {
                if &self.pattern[start..self.at()] != LOOKED_AHEAD {
                    return Err(r"a look-ahead other than \s+(?!\S)");
                }
                self.rest.nth(LOOK_AHEAD.chars().count() - 1);
                return match self.rest.peek() {
                    None | Some('|') => Ok(()),
                    Some(_) => Err("something after a look-ahead"),
                };
            }
            matches_something |= self.item()?;
        }
        if matches_something { Ok(()) } else { Err("an alternative that can match nothing") }
    }

    /// One character, class, anchor or group with its quantifier; true if it matches at least a character.
    fn item(&mut self) -> Result<bool, &'static str> {
        let next = self.rest.peek().copied();
        if matches!(next, Some('^' | '$')) {
            self.rest.next();
            self.count(1)?;
            return if self.quantified() { Err("a quantified anchor") } else { Ok(false) };
        }
        if next == Some('(') {
            let size = self.group()?;
            let times = self.quantifier()?;
            if times.most != Some(1) {
                return Err("a repeated group");
            }
            self.count(size)?;
            return Ok(times.least > 0);
        }
        self.atom()?;
        let times = self.quantifier()?;
        self.count(times.most.unwrap_or(1).max(1))?;
        Ok(times.least > 0)
    }

    fn count(&mut self, items: u32) -> Result<(), &'static str> {
        self.items += items;
        if self.items > MAX_ITEMS { Err("too many parts") } else { Ok(()) }
    }

    /// A group of fixed texts, such as `(?i:'s|'t)`: its number of atoms.
    fn group(&mut self) -> Result<u32, &'static str> {
        self.rest.next();
        if self.take('?') {
            self.take('i');
            if !self.take(':') {
                return Err("a group of an unknown kind");
            }
        }
        let (mut size, mut in_branch) = (0, 0);
        loop {
            match self.rest.peek() {
                None => return Err("an open group"),
                Some('|' | ')') => {
                    if in_branch == 0 {
                        return Err("an empty alternative in a group");
                    }
                    if self.rest.next() == Some(')') {
                        return Ok(size);
                    }
                    in_branch = 0;
                }
                Some(_) => {
                    self.atom()?;
                    if self.quantified() {
                        return Err("a quantifier inside a group");
                    }
                    size += 1;
                    in_branch += 1;
                }
            }
        }
    }

    fn quantified(&mut self) -> bool {
        matches!(self.rest.peek(), Some('?' | '*' | '+' | '{'))
    }

    fn quantifier(&mut self) -> Result<Times, &'static str> {
        let times = match self.rest.peek() {
            Some('?') => Times { least: 0, most: Some(1) },
            Some('*') => Times { least: 0, most: None },
            Some('+') => Times { least: 1, most: None },
            Some('{') => return self.braces(),
            _ => return Ok(Times::ONCE),
        };
        self.rest.next();
        // Lazy, possessive or doubled: none of them is needed to cut a text.
        if self.quantified() { Err("a doubled quantifier") } else { Ok(times) }
    }

    /// `{n}` or `{n,m}`.
    fn braces(&mut self) -> Result<Times, &'static str> {
        self.rest.next();
        let least = self.number()?;
        let most = if self.take(',') { self.number()? } else { least };
        if !self.take('}') || least > most || most == 0 || most > MAX_REPEATS {
            return Err("a count in braces");
        }
        if self.quantified() {
            Err("a doubled quantifier")
        } else {
            Ok(Times { least, most: Some(most) })
        }
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        digits.parse().map_err(|_| "a count in braces")
    }

    /// One character or class.
    fn atom(&mut self) -> Result<(), &'static str> {
        match self.rest.next() {
            Some('\\') => self.escape(),
            Some('[') => self.class(),
            None | Some('*' | '+' | '?' | '{' | '}' | ']' | '(' | ')' | '^' | '$') => {
                Err("a sign out of place")
            }
            Some(_) => Ok(()),
        }
    }

    /// What follows a backslash: a class by letter or property, a control character, or a sign.
    fn escape(&mut self) -> Result<(), &'static str> {
        match self.rest.next() {
            Some('s' | 'S' | 'd' | 'D' | 'w' | 'W' | 'r' | 'n' | 't') => Ok(()),
            Some('p' | 'P') => {
                if !self.take('{') {
                    let letter = self.rest.next_if(char::is_ascii_alphabetic);
                    return letter.map(|_| ()).ok_or("a property without a name");
                }
                let mut length = 0;
                while self
                    .rest
                    .next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '='))
                    .is_some()
                {
                    length += 1;
                }
                if length > 0 && self.take('}') { Ok(()) } else { Err("a property without a name") }
            }
            Some(sign) if sign.is_ascii_punctuation() && !matches!(sign, '<' | '>') => Ok(()),
            _ => Err("an unknown escape"),
        }
    }

    /// The rest of `[...]`: characters, ranges and escapes, without nesting or operators.
    fn class(&mut self) -> Result<(), &'static str> {
        self.take('^');
        let mut before = None;
        let mut empty = true;
        loop {
            let next = self.rest.next();
            match next {
                Some(']') if !empty => return Ok(()),
                Some('\\') => self.escape()?,
                None | Some('[' | ']') => return Err("a class of classes"),
                Some('&' | '~' | '-') if next == before => return Err("an operator in a class"),
                Some(_) => {}
            }
            empty = false;
            before = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_patterns_are_known_and_flat() {
        for pattern in PUBLISHED {
            assert_eq!(check(pattern), Ok(true));
            // With one more alternative it is no published one, and still flat.
            assert_eq!(check(&format!("{pattern}|x")), Ok(false), "{pattern}");
        }
        for pattern in [
            r"[\r\n]",
            r"\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+",
            r"\s+$",
            r" {2,}".replace(",}", ",4}").as_str(),
            r"\p{N}",
        ] {
            assert_eq!(check(pattern), Ok(false), "{pattern}");
        }
    }

    #[test]
    fn patterns_whose_cost_is_unknown_are_refused() {
        let long = "a".repeat(2000);
        let many = "a|".repeat(100);
        for pattern in [
            "",
            "^",
            "$",
            "a*",
            "a?",
            "x|",
            "|x",
            "(a+)+$",
            "(a+)+b",
            "(a|aa)+$",
            "(a*)*b",
            "a**",
            "a++",
            "a+?",
            "(?:a{1,9}){1,9}",
            r"(a)\1",
            r"(?=a+)b",
            r"(?<=a)b",
            r"(?!\S)",
            r"\s+(?!\S)x",
            r"\w+(?!\S)",
            r"a{1000}",
            "a{2,}",
            "a{,3}",
            "a{",
            "a}",
            "(?>a+)b",
            r"\Ka",
            r"\Ga",
            r"(?i)a",
            "(?P<n>a)",
            "(a",
            "a)",
            "[a",
            "[]",
            "[[a]]",
            "[a&&b]",
            "[a--b]",
            r"\",
            r"\q",
            r"\p",
            r"\p{",
            r"\b",
            r"\<a",
            "(?#x)a",
            "()",
            "((a))",
            "(a)+",
            "a|*",
            r"(?(1)a)",
            &long,
            &many,
        ] {
            assert!(check(pattern).is_err(), "{pattern}");
        }
    }
}
