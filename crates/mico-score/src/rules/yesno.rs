//! Parsers of yes/no answers, as in five public scorers.

use super::vqa::{Stop, punctuation};
use crate::text::{lower, split, strip};

/// LLaVA on POPE: `no` if "No", "no" or "not" is a word of the first sentence, otherwise `yes`,
/// even for an empty answer.
pub fn llava_pope(text: &str) -> &'static str {
    let sentence = text.split('.').next().unwrap_or_default().replace(',', "");
    if sentence.split(' ').any(|word| matches!(word, "No" | "no" | "not")) { "no" } else { "yes" }
}

/// VLMEvalKit: `Yes` or `No` if exactly one of the two words occurs, otherwise `Unknown`.
pub fn yorn(text: &str, stop: Stop) -> &'static str {
    let text = punctuation(&lower(text), stop);
    let words = split(&text);
    match (words.contains(&"yes"), words.contains(&"no")) {
        (true, false) => "Yes",
        (false, true) => "No",
        _ => "Unknown",
    }
}

/// MME's own tool: `yes` or `no` if it occurs in the first four characters, otherwise `other`.
pub fn mme_official(text: &str) -> &'static str {
    four_characters(&lower(text))
}

/// lmms-eval on MME: as MME's tool after trimming and removing full stops; "y" and "n" count too.
pub fn lmms_mme(text: &str) -> &'static str {
    let text = strip(&lower(text)).replace('.', "");
    match text.as_str() {
        "y" => "yes",
        "n" => "no",
        text => four_characters(text),
    }
}

/// lmms-eval on POPE: the trimmed text in lower case, which must equal the gold as a whole.
pub fn lmms_pope(text: &str) -> String {
    strip(&lower(text)).to_owned()
}

fn four_characters(text: &str) -> &'static str {
    let start: String = text.chars().take(4).collect();
    if start.contains("yes") {
        "yes"
    } else if start.contains("no") {
        "no"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llava_takes_three_words_for_no() {
        for (text, label) in [
            ("", "yes"),
            ("NO", "yes"),
            ("It isn't", "yes"),
            ("no, really", "no"),
            ("Yes. no", "yes"),
            ("a\nno", "yes"),
        ] {
            assert_eq!(llava_pope(text), label, "{text:?}");
        }
    }

    #[test]
    fn vlmevalkit_wants_one_of_the_two() {
        for (text, label) in [
            ("(Yes)", "Yes"),
            ("YES!", "Yes"),
            ("no/yes", "Unknown"),
            ("noyes", "Unknown"),
            ("no.", "No"),
        ] {
            assert_eq!(yorn(text, Stop::BetweenNoDigits), label, "{text:?}");
        }
    }

    #[test]
    fn four_characters_decide_for_mme() {
        for (text, label) in [
            ("Not sure", "no"),
            ("Known", "no"),
            ("Yes", "yes"),
            (" yes", "yes"),
            ("I say yes", "other"),
            ("", "other"),
        ] {
            assert_eq!(mme_official(text), label, "{text:?}");
        }
    }

    #[test]
    fn lmms_also_reads_letters() {
        for (text, label) in
            [(" Y. ", "yes"), ("n", "no"), ("x", "other"), ("yes.", "yes"), ("", "other")]
        {
            assert_eq!(lmms_mme(text), label, "{text:?}");
        }
        assert_eq!(lmms_pope(" Yes. "), "yes.");
    }
}
