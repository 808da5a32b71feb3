//! OCRBench: an answer is right if it contains a gold text.

use crate::text::{lower, strip};

/// The category in which spaces are ignored but case matters.
pub const FORMULAS: &str = "Handwritten Mathematical Expression Recognition";
/// The categories that are reported together as "Text Recognition".
pub const RECOGNITION: [&str; 6] = [
    "Regular Text Recognition",
    "Irregular Text Recognition",
    "Artistic Text Recognition",
    "Handwriting Recognition",
    "Digit String Recognition",
    "Non-Semantic Text Recognition",
];
/// The other categories, each reported by itself.
pub const OTHERS: [&str; 4] =
    ["Scene Text-centric VQA", "Doc-oriented VQA", "Key Information Extraction", FORMULAS];

/// Which toolkit's version of the rule is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// VLMEvalKit's rule; also lmms-eval's from April to June 2026.
    Plain,
    /// lmms-eval since July 2026: full-width ASCII is converted to plain ASCII, except in formulas.
    Folded,
    /// lmms-eval before April 2026: the answer is lower-cased even for formulas.
    Lowered,
}

/// Whether the answer contains any of the gold texts.
pub fn right(prediction: &str, answers: &[String], category: &str, version: Version) -> bool {
    let formula = category == FORMULAS;
    let prediction =
        if version == Version::Lowered { lower(prediction) } else { prediction.to_owned() };
    let plain = |text: &str| {
        if formula {
            return strip(text).replace(['\n', ' '], "");
        }
        let text = if version == Version::Folded { folded(text) } else { text.to_owned() };
        strip(&lower(&text)).replace('\n', " ")
    };
    let prediction = plain(strip(&prediction));
    answers.iter().any(|answer| prediction.contains(&plain(answer)))
}

fn folded(text: &str) -> String {
    let fold = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    };
    text.chars().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_on_case_and_width() {
        let check = |prediction, answer: &str, category, version| {
            right(prediction, &[answer.to_owned()], category, version)
        };
        let regular = RECOGNITION[0];
        assert!(check("The word is CENTRE.", "centre", regular, Version::Plain));
        assert!(!check("two  words", "two words", regular, Version::Plain));
        assert!(check("x ^ 2\n+ y", "x^2+y", FORMULAS, Version::Plain));
        assert!(!check("X^2+y", "x^2+y", FORMULAS, Version::Plain));
        assert!(check("X^2+y", "x^2+y", FORMULAS, Version::Lowered));
        assert!(!check("ＡＢ", "ab", regular, Version::Plain));
        assert!(check("ＡＢ", "ab", regular, Version::Folded));
        assert!(!check("ＡＢ", "AB", FORMULAS, Version::Folded));
        assert!(!check("", "a", regular, Version::Plain));
    }
}
