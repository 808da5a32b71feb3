//! lmms-eval's parser of option letters since April 2026, shared by several benchmarks.

use crate::text::{is_alpha, lower, strip};

const PHRASES: [&str; 27] = [
    "the answer is",
    "answer is",
    "the correct answer is",
    "correct answer is",
    "the best answer is",
    "best answer is",
    "the correct option is",
    "correct option is",
    "the best option is",
    "best option is",
    "the choice is",
    "choice is",
    "the correct choice is",
    "correct choice is",
    "i choose",
    "i select",
    "i pick",
    "my answer is",
    "my choice is",
    "옵션",
    "정답은",
    "답은",
    "답:",
    "答案是",
    "答案为",
    "选",
    "答えは",
];
const ENDS: [char; 8] = [',', '.', '!', '?', ';', ':', '\'', '"'];

/// The form in which a letter occurs, in ascending order of priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Fallback,
    Space,
    RightParen,
    Colon,
    Period,
    Parentheses,
    Phrase,
    End,
    Start,
}

/// The option letter that a reply names, among `letters`; `None` if there is none.
///
/// The form of highest priority wins, then the last position, then the form that is tried first.
pub fn extract(response: &str, letters: &[char]) -> Option<char> {
    let mut text = strip(response);
    for mark in ENDS {
        text = text.trim_matches(mark);
    }
    if strip(response).is_empty() {
        return None;
    }
    let padded: Vec<char> = format!(" {text} ").chars().collect();
    let mut found: Vec<(Form, usize, char)> = Vec::new();
    let forms: [(Form, &str, &str); 5] = [
        (Form::Parentheses, "(", ")"),
        (Form::Period, "", "."),
        (Form::Colon, "", ":"),
        (Form::RightParen, "", ")"),
        (Form::Space, "", " "),
    ];
    for (form, before, after) in forms {
        for letter in letters {
            let wanted: Vec<char> = format!("{before}{letter}{after}").chars().collect();
            found.extend(last(&padded, &wanted).map(|at| (form, at, *letter)));
        }
    }
    after_phrases(&padded, letters, &mut found);
    at_the_ends(&padded, letters, &mut found);
    if found.is_empty() {
        for letter in letters {
            found.extend(last(&padded, &[*letter]).map(|at| (Form::Fallback, at, *letter)));
        }
    }
    let mut best: Option<(Form, usize, char)> = None;
    for candidate in found {
        if best.is_none_or(|best| (candidate.0, candidate.1) > (best.0, best.1)) {
            best = Some(candidate);
        }
    }
    best.map(|(_, _, letter)| letter)
}

/// Adds every letter that occurs after a phrase such as "the answer is", at any distance.
fn after_phrases(padded: &[char], letters: &[char], found: &mut Vec<(Form, usize, char)>) {
    let text: String = padded.iter().collect();
    let lowered: Vec<char> = lower(&text).chars().collect();
    for phrase in PHRASES {
        let phrase: Vec<char> = phrase.chars().collect();
        let Some(start) = lowered.windows(phrase.len()).position(|part| part == phrase) else {
            continue;
        };
        let after = start + phrase.len();
        for letter in letters {
            let place = padded.iter().skip(after).position(|c| c == letter);
            found.extend(place.map(|at| (Form::Phrase, after + at, *letter)));
        }
    }
}

fn at_the_ends(padded: &[char], letters: &[char], found: &mut Vec<(Form, usize, char)>) {
    let text: String = padded.iter().collect();
    let inner: Vec<char> = strip(&text).chars().collect();
    let standalone = |beside: Option<&char>| beside.is_none_or(|c| !is_alpha(*c));
    for letter in letters {
        if inner.first() == Some(letter) && standalone(inner.get(1)) {
            found.push((Form::Start, 0, *letter));
        }
    }
    for letter in letters {
        if inner.last() == Some(letter) && standalone(inner.iter().rev().nth(1)) {
            found.push((Form::End, padded.len() - 1, *letter));
        }
    }
}

fn last(text: &[char], wanted: &[char]) -> Option<usize> {
    text.windows(wanted.len()).rposition(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_compete() {
        let cases = [
            ("", None),
            (" \n", None),
            ("...", None),
            ("B", Some('B')),
            ("\"B.\"", Some('B')),
            ("The answer is B because Dogs bark", Some('D')),
            ("答案是B", Some('B')),
            ("Answer: B", Some('B')),
            ("A or B", Some('A')),
            ("(A) no, (C) yes", Some('C')),
            ("option B. it is", Some('B')),
            ("xBx", Some('B')),
            ("b", None),
            ("I pick (C), surely", Some('C')),
        ];
        for (text, letter) in cases {
            assert_eq!(extract(text, &['A', 'B', 'C', 'D']), letter, "{text:?}");
        }
    }
}
