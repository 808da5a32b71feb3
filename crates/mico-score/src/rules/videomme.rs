//! Video-MME: lmms-eval's parsers of the option letter before and since April 2026.

use super::mcq;
use crate::text::{lower, strip};

const PREFIXES: [&str; 6] = [
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option isThe correct option is",
    "Best answer:Best option:",
];

/// The letter by the parser in use since April 2026; empty if there is none.
pub fn current(prediction: &str) -> String {
    mcq::extract(prediction, &['A', 'B', 'C', 'D']).map_or_else(String::new, String::from)
}

/// The parser before April 2026: the first capital A to D after set phrases are removed; empty if
/// there is none.
///
/// The published list joins two pairs of phrases by mistake, so those phrases are not removed
/// individually.
pub fn legacy(prediction: &str) -> String {
    first_capital(prediction, &PREFIXES, 'D').map_or_else(String::new, String::from)
}

/// The first capital from `A` to `last` after the phrases are removed.
pub(super) fn first_capital(prediction: &str, phrases: &[&str], last: char) -> Option<char> {
    let text =
        phrases.iter().fold(strip(prediction).to_owned(), |text, phrase| text.replace(phrase, ""));
    text.chars().find(|c| ('A'..=last).contains(c))
}

/// Whether the letter found by [`current`] is the gold, in any case.
pub fn right_current(reading: &str, answer: &str) -> bool {
    lower(reading) == lower(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legacy_reader_takes_the_first_capital() {
        assert_eq!((current("Answer: B"), legacy("Answer: B")), ("B".to_owned(), "A".to_owned()));
        assert_eq!(legacy("The best answer is: D"), "D");
        assert_eq!(legacy("Best option: C"), "B");
        assert_eq!(legacy("nothing of the kind"), "");
    }
}
