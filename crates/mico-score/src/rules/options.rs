//! VLMEvalKit's parser of option letters, as used without a judge model.

use super::Choices;
use crate::text::{is_space, lower, split};

const API_FAILED: &str = "Failed to obtain answer via API";
const REFUSALS: [&str; 4] = [
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
];
const MARKS: [char; 13] = ['.', '(', ')', '[', ']', ',', ':', ';', '!', '*', '#', '{', '}'];
/// A lone letter counts only among this many words at the end.
const TAIL: usize = 4;

/// The version of the toolkit, by the date of a change to its parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Before August 2025: no limit on a letter's position or an answer's length.
    Before,
    /// August 2025 to May 2026: a lone letter must be near the end, and long answers are not
    /// searched for option texts.
    August2025,
    /// Since June 2026: the pattern "answer is X" is accepted too.
    June2026,
}

/// The option letter that a reply names; `Z` for a refusal, `None` if there is none.
pub fn extract(prediction: &str, choices: &Choices, version: Version) -> Option<char> {
    if prediction.contains(API_FAILED) {
        return by_text(prediction, choices, version);
    }
    if REFUSALS.iter().any(|refusal| prediction.contains(refusal)) {
        return Some('Z');
    }
    by_letter(prediction, choices, version)
        .or_else(|| {
            let letter =
                (version >= Version::June2026).then(|| after_answer_is(prediction)).flatten();
            letter.filter(|letter| choices.contains_key(letter))
        })
        .or_else(|| by_text(prediction, choices, version))
}

fn by_letter(prediction: &str, choices: &Choices, version: Version) -> Option<char> {
    let spaced = prediction.replace(MARKS, " ");
    let words = split(&spaced);
    let place = |letter: char| words.iter().position(|word| word.chars().eq([letter]));
    let mut present = choices.keys().filter_map(|letter| place(*letter).map(|at| (*letter, at)));
    match (present.next(), present.next()) {
        (Some((letter, at)), None) => {
            (version < Version::August2025 || at + TAIL >= words.len()).then_some(letter)
        }
        (None, _) => place('Z').map(|_| 'Z'),
        _ => None,
    }
}

fn by_text(prediction: &str, choices: &Choices, version: Version) -> Option<char> {
    let prediction = lower(prediction);
    let lengths: usize = choices.values().map(|text| text.chars().count()).sum();
    if version >= Version::August2025 && prediction.chars().count() > 2 * lengths {
        return None;
    }
    let mut found = choices.iter().filter(|(_, text)| prediction.contains(&lower(text)));
    match (found.next(), found.next()) {
        (Some((letter, _)), None) => Some(*letter),
        _ => None,
    }
}

/// The letter of the first "answer is X" in which X is one of A to D, in any case.
fn after_answer_is(prediction: &str) -> Option<char> {
    let all: Vec<char> = prediction.chars().collect();
    (0..all.len()).find_map(|start| {
        let rest = after_word(all.get(start..)?, "answer")?;
        let rest = after_word(after_spaces(rest)?, "is")?;
        let rest = after_spaces(rest)?;
        let letter = rest.iter().find(|c| **c != '*')?.to_ascii_uppercase();
        ('A'..='D').contains(&letter).then_some(letter)
    })
}

fn after_word<'a>(text: &'a [char], word: &str) -> Option<&'a [char]> {
    let length = word.len();
    let same = |(c, wanted): (&char, char)| folded(*c) == wanted;
    let matches = text.len() >= length && text.iter().zip(word.chars()).all(same);
    matches.then(|| &text[length..])
}

/// Case folding as in Python's case-insensitive matching, in which `ſ` equals `s` and `ı`, `İ` equal `i`.
fn folded(c: char) -> char {
    match c {
        'ſ' => 's',
        'ı' | 'İ' => 'i',
        c => c.to_ascii_lowercase(),
    }
}

fn after_spaces(text: &[char]) -> Option<&[char]> {
    let spaces = text.iter().take_while(|c| is_space(**c)).count();
    (spaces > 0).then(|| &text[spaces..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn animals() -> Choices {
        ["cat", "dog", "bird", "fish"]
            .into_iter()
            .enumerate()
            .map(|(at, text)| (crate::text::capital(at).unwrap(), text.to_owned()))
            .collect()
    }

    #[test]
    fn letters_and_texts() {
        let cases = [
            ("B. dog", Some('B')),
            ("It is a dog", Some('B')),
            ("A or B", None),
            ("A dog", Some('A')),
            ("'B'", None),
            ("b", None),
            ("Z", Some('Z')),
            ("", None),
            ("Cannot determine the answer", Some('Z')),
            ("Failed to obtain answer via API B", None),
            ("The answer is dubious, I would say so indeed", Some('D')),
            ("ANSWER  IS **c** for a number of good reasons", Some('C')),
            ("the answer is E", None),
        ];
        for (text, letter) in cases {
            assert_eq!(extract(text, &animals(), Version::June2026), letter, "{text:?}");
        }
    }

    #[test]
    fn the_tail_is_four_words() {
        let at = |version| extract("B one two three", &animals(), version);
        assert_eq!(at(Version::August2025), Some('B'));
        let at = |version| extract("B one two three four", &animals(), version);
        assert_eq!((at(Version::Before), at(Version::August2025)), (Some('B'), None));
    }

    #[test]
    fn chinese_examples() {
        let choices: Choices =
            [('A', "猫"), ('B', "狗")].map(|(letter, text)| (letter, text.to_owned())).into();
        let cases = [("B。", None), ("（B）", None), ("答案是 B", Some('B')), ("狗", Some('B'))];
        for (text, letter) in cases {
            assert_eq!(extract(text, &choices, Version::June2026), letter, "{text:?}");
        }
    }
}
