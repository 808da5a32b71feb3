//! The VQA accuracy over ten annotators, and the answer normaliser that it uses.

use super::vqa_tables::{ARTICLES, CONTRACTIONS, MARKS, NUMBERS};
use crate::text::{is_digit, lower, split, strip};

/// The number of full stops that are removed at most: the published code passes a
/// regular-expression flag (32) where a count is expected.
const STOPS: usize = 32;

/// Which full stops the normaliser removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Full stops not followed by a digit (LLaVA, lmms-eval, VLMEvalKit before May 2025).
    BeforeNoDigit,
    /// Full stops with no digit on either side (VLMEvalKit since May 2025).
    BetweenNoDigits,
}

/// Which toolkit's answer normaliser is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalizer {
    /// The normaliser of LLaVA and lmms-eval, which also drops commas and question marks first.
    Llava,
    /// The normaliser of VLMEvalKit, whose treatment of full stops changed in May 2025.
    VlmEvalKit(Stop),
}

impl Normalizer {
    /// VLMEvalKit's normaliser since May 2025.
    pub const CURRENT: Self = Self::VlmEvalKit(Stop::BetweenNoDigits);
}

/// The text with punctuation removed or replaced by spaces, as the VQA evaluation code does.
pub fn punctuation(text: &str, stop: Stop) -> String {
    let all: Vec<char> = text.chars().collect();
    let comma_number =
        all.windows(3).any(|three| three[1] == ',' && is_digit(three[0]) && is_digit(three[2]));
    let beside_space = |mark: char| {
        all.windows(2)
            .any(|two| (two[0] == mark && two[1] == ' ') || (two[0] == ' ' && two[1] == mark))
    };
    let deleted = MARKS.map(|mark| comma_number || beside_space(mark));
    let mut out = Vec::with_capacity(all.len());
    for c in all {
        match MARKS.iter().position(|mark| *mark == c) {
            None => out.push(c),
            Some(mark) if deleted[mark] => {}
            Some(_) => out.push(' '),
        }
    }
    without_stops(&out, stop)
}

fn without_stops(text: &[char], stop: Stop) -> String {
    let digit_at = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| is_digit(*c));
    let mut left = STOPS;
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.iter().enumerate() {
        let kept = digit_at(at.checked_add(1))
            || (stop == Stop::BetweenNoDigits && digit_at(at.checked_sub(1)));
        if *c == '.' && !kept && left > 0 {
            left -= 1;
        } else {
            out.push(*c);
        }
    }
    out
}

/// The replacement of a word in the table, or the word itself.
fn mapped<'a>(word: &'a str, table: &[(&'static str, &'static str)]) -> &'a str {
    table.iter().find(|(key, _)| *key == word).map_or(word, |(_, value)| value)
}

fn words(text: &str) -> String {
    let lowered = lower(text);
    let numbered = split(&lowered).into_iter().map(|word| mapped(word, &NUMBERS));
    let kept = numbered.filter(|word| !ARTICLES.contains(word));
    kept.map(|word| mapped(word, &CONTRACTIONS)).collect::<Vec<_>>().join(" ")
}

/// The normal form in which answers are compared.
pub fn normalize(text: &str, normalizer: Normalizer) -> String {
    let (text, stop) = match normalizer {
        Normalizer::VlmEvalKit(stop) => (text.to_owned(), stop),
        Normalizer::Llava => {
            let text = lower(text).replace([',', '?'], "").replace("'s", " 's");
            (strip(&text).to_owned(), Stop::BeforeNoDigit)
        }
    };
    let text = text.replace(['\n', '\t'], " ");
    words(&punctuation(strip(&text), stop))
}

/// VQA accuracy, from 0 to 1: the mean over annotators of min(1, number of other agreeing
/// annotators / 3).
pub fn score(prediction: &str, answers: &[String], normalizer: Normalizer) -> f64 {
    let prediction = normalize(prediction, normalizer);
    let agree: Vec<bool> =
        answers.iter().map(|answer| normalize(answer, normalizer) == prediction).collect();
    let agreeing = agree.iter().filter(|agrees| **agrees).count();
    if answers.is_empty() {
        return 0.0;
    }
    let of_one = |agrees: &bool| ((agreeing - usize::from(*agrees)) as f64 / 3.0).min(1.0);
    agree.iter().map(of_one).sum::<f64>() / answers.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten(first: &str, count: usize, rest: &str) -> Vec<String> {
        (0..10).map(|at| if at < count { first } else { rest }.to_owned()).collect()
    }

    #[test]
    fn a_stop_after_a_digit_tells_the_normalizers_apart() {
        assert_eq!(normalize("3.", Normalizer::Llava), "3");
        assert_eq!(normalize("3.", Normalizer::CURRENT), "3.");
        assert_eq!(normalize("3.", Normalizer::VlmEvalKit(Stop::BeforeNoDigit)), "3");
        assert_eq!(normalize("3.5", Normalizer::Llava), "3.5");
    }

    #[test]
    fn words_numbers_and_contractions() {
        assert_eq!(normalize("The Two\tdogs dont", Normalizer::CURRENT), "2 dogs don't");
        assert_eq!(normalize("What's?", Normalizer::Llava), "what 's");
        assert_eq!(normalize("coca-cola", Normalizer::CURRENT), "coca cola");
        assert_eq!(normalize("coca -cola", Normalizer::CURRENT), "coca cola");
        assert_eq!(normalize("1,000 a-b", Normalizer::CURRENT), "1000 ab");
    }

    #[test]
    fn only_thirty_two_stops_go() {
        assert_eq!(punctuation(&".".repeat(40), Stop::BeforeNoDigit).len(), 8);
    }

    #[test]
    fn the_score_counts_the_other_nine() {
        let expected = [0.0, 0.3, 0.6, 0.9, 1.0, 1.0];
        for (count, score) in expected.into_iter().enumerate() {
            let got = super::score("red", &ten("red", count, "blue"), Normalizer::Llava);
            assert!((got - score).abs() < 1e-12, "{count}: {got}");
        }
        assert_eq!(super::score("The Red.", &ten("red", 2, "dark red"), Normalizer::Llava), 0.6);
        assert_eq!(super::score("x", &[], Normalizer::Llava), 0.0);
    }
}
