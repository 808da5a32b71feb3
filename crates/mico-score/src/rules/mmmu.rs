//! MMMU's multiple-choice questions: the parsers of its authors and of lmms-eval.

use super::Choices;
use crate::text::{capital, lower, split};

const ENDS: [char; 7] = [',', '.', '!', '?', ';', ':', '\''];
/// Option texts are searched for only in answers of more words than this.
const FEW_WORDS: usize = 5;

/// Which of the two public parsers is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// The parser in the authors' repository.
    Official,
    /// lmms-eval's, which also accepts "X " at the end of a word, and "X.".
    Lmms,
}

/// The option letter that a reply names; the last one mentioned if there are several. `None` where
/// the public code picks at random.
pub fn letter(response: &str, options: &[String], parser: Parser) -> Option<char> {
    let mut response = response;
    for mark in ENDS {
        response = response.trim_matches(mark);
    }
    let text = format!(" {response} ");
    let letters: Vec<char> = (0..options.len()).map_while(capital).collect();
    let with = |before: &str, after: &str| -> Vec<char> {
        let present = |letter: &&char| text.contains(&format!("{before}{letter}{after}"));
        letters.iter().filter(present).copied().collect()
    };
    let bracketed = with("(", ")");
    if !bracketed.is_empty() {
        return latest(&bracketed, |letter| text.rfind(&format!("({letter})")));
    }
    let loose = match parser {
        Parser::Official => with(" ", " "),
        Parser::Lmms => {
            Some(with("", " ")).filter(|found| !found.is_empty()).unwrap_or_else(|| with("", "."))
        }
    };
    if !loose.is_empty() {
        return latest(&loose, |letter| text.rfind(&format!(" {letter} ")));
    }
    if split(&text).len() <= FEW_WORDS {
        return None;
    }
    let text = lower(&text);
    let option = |letter: &char| {
        letters.iter().position(|other| other == letter).and_then(|at| options.get(at))
    };
    let place = |letter: &char| option(letter).and_then(|option| text.rfind(&lower(option)));
    let named: Vec<char> =
        letters.iter().filter(|letter| place(letter).is_some()).copied().collect();
    latest(&named, |letter| place(&letter))
}

/// The two options that VLMEvalKit gives an open question, and the letter that counts as right:
/// `A`, unless the gold is itself a capital letter, which the toolkit then takes for the option.
pub fn closed(gold: &str) -> (Choices, char) {
    let options = [('A', gold.to_owned()), ('B', "Other Answers".to_owned())].into();
    let mut letters = gold.chars();
    let letter =
        letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none());
    (options, letter.unwrap_or('A'))
}

/// The letter with the largest position, the first of equals; a letter without a position ranks lowest.
fn latest(letters: &[char], place: impl Fn(char) -> Option<usize>) -> Option<char> {
    let mut best: Option<(Option<usize>, char)> = None;
    for letter in letters {
        let at = place(*letter);
        if best.is_none_or(|(best, _)| at > best) {
            best = Some((at, *letter));
        }
    }
    best.map(|(_, letter)| letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, parser: Parser) -> Option<char> {
        letter(text, &["x ray", "y ray", "z ray"].map(str::to_owned), parser)
    }

    #[test]
    fn the_last_mention_wins() {
        let cases = [
            ("B", Some('B')),
            ("(A) is wrong, so (C)", Some('C')),
            ("A or B", Some('B')),
            ("it must be the Y RAY here", Some('B')),
            ("y ray", None),
            ("D", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, Parser::Official), expected, "{text:?}");
        }
    }

    #[test]
    fn open_questions_become_closed() {
        let (options, letter) = closed("steel");
        assert_eq!((options[&'A'].as_str(), options.len(), letter), ("steel", 2, 'A'));
        assert_eq!(closed("B").1, 'B');
    }

    #[test]
    fn lmms_reads_more() {
        assert_eq!((read("B. y", Parser::Official), read("B. y", Parser::Lmms)), (None, Some('B')));
        assert_eq!(
            (read("TABLA is", Parser::Official), read("TABLA is", Parser::Lmms)),
            (None, Some('A'))
        );
        // Neither has a " X " to compare, so the first stays.
        assert_eq!(read("XB XA end", Parser::Lmms), Some('A'));
    }
}
