//! Prompts of LLaVA's evaluation files and loaders.

use super::ask::Ask;
use super::instruction::{LETTER, LETTER_CN, SHORT, YES_NO};
use crate::Track;

/// What LLaVA's loaders put in front of every conversation of the kind `vicuna_v1`.
const SYSTEM: &str = "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions.";
/// MMBench has no more options than these; its loader looks no further.
const MMBENCH_OPTIONS: usize = 4;

/// The whole conversation around a user text, up to where the answer begins.
pub(super) fn conversation(user: &str) -> String {
    format!("{SYSTEM} USER: <image>\n{user} ASSISTANT:")
}

/// The user text of an item, the image left out.
pub(super) fn text(track: Track, ask: &Ask) -> String {
    match track {
        Track::TextVqa => {
            let tokens = ask.tokens.join(", ");
            format!("{}\nReference OCR token: {tokens}\n{SHORT}", ask.question)
        }
        Track::Mme => {
            let question = ask.question.replace(&format!(" {YES_NO}"), "");
            format!("{question}\n{SHORT}")
        }
        Track::ScienceQaImg => format!("{}\n{LETTER}", science(ask)),
        Track::MmbenchEn => mmbench(ask, LETTER),
        Track::MmbenchCn => mmbench(ask, LETTER_CN),
        Track::Mmmu => mmmu(ask),
        // Nothing of LLaVA's is known for OCRBench; both other toolkits ask it as it stands.
        Track::OcrBench => ask.question.clone(),
        // MMStar as lmms-eval has it: the question lists its options itself.
        Track::MmStar if ask.options.is_empty() => format!("{}\n{LETTER}", ask.question),
        _ if ask.options.is_empty() => format!("{}\n{SHORT}", ask.question),
        _ => format!("{}\n{}\n{LETTER}", ask.question, ask.lines("", ". ")),
    }
}

/// ScienceQA as the released question file has it, without the instruction its loader adds.
pub(super) fn science(ask: &Ask) -> String {
    let hint = ask.hint.as_deref().filter(|hint| !hint.is_empty());
    let context = hint.map(|hint| format!("Context: {hint}\n")).unwrap_or_default();
    let text = format!("{context}{}\n{}", ask.question, ask.lines("", ". "));
    text.trim().to_owned()
}

/// MMBench: the hint in front, options up to the first that is missing.
fn mmbench(ask: &Ask, instruction: &str) -> String {
    let missing = |text: &str| ["nan", "none"].contains(&text.to_lowercase().as_str());
    let hint = ask.hint.clone().filter(|hint| !missing(hint));
    let mut lines: Vec<String> = hint.into_iter().chain([ask.question.clone()]).collect();
    let letters = ('A'..='Z').map(String::from).take(MMBENCH_OPTIONS);
    let options = ask.options.iter().zip(letters);
    let listed = options.take_while(|((letter, text), place)| letter == place && !missing(text));
    lines.extend(listed.map(|((letter, text), _)| format!("{letter}. {text}")));
    lines.push(instruction.to_owned());
    lines.join("\n")
}

/// MMMU as its authors' runner for LLaVA asks it; marks of images stay in the text.
fn mmmu(ask: &Ask) -> String {
    if ask.open {
        return format!("{}\n{SHORT}", ask.question);
    }
    format!("{}\n{}\n\n{LETTER}", ask.question, ask.lines("(", ") "))
}
