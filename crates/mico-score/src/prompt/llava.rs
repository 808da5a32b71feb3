//! Prompts as LLaVA's evaluation files and loaders build them.

use super::ask::Ask;
use super::instruction::{LETTER, LETTER_CN, SHORT, YES_NO};
use crate::Track;

/// The system text that LLaVA's loaders put before a `vicuna_v1` conversation.
const SYSTEM: &str = "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions.";
/// The number of options that LLaVA's MMBench loader looks for.
const MMBENCH_OPTIONS: usize = 4;

/// The whole conversation around a user text, up to where the model's answer begins.
pub(super) fn conversation(user: &str) -> String {
    format!("{SYSTEM} USER: <image>\n{user} ASSISTANT:")
}

/// The user text of an item, without the image placeholder.
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
        // LLaVA has no OCRBench script; the other two toolkits ask the bare question.
        Track::OcrBench => ask.question.clone(),
        // MMStar's questions list their options themselves, as in lmms-eval.
        Track::MmStar if ask.options.is_empty() => format!("{}\n{LETTER}", ask.question),
        _ if ask.options.is_empty() => format!("{}\n{SHORT}", ask.question),
        _ => format!("{}\n{}\n{LETTER}", ask.question, ask.lines("", ". ")),
    }
}

/// ScienceQA's text as in the released question file, without the instruction that the loader adds.
pub(super) fn science(ask: &Ask) -> String {
    let hint = ask.hint.as_deref().filter(|hint| !hint.is_empty());
    let context = hint.map(|hint| format!("Context: {hint}\n")).unwrap_or_default();
    let text = format!("{context}{}\n{}", ask.question, ask.lines("", ". "));
    text.trim().to_owned()
}

/// MMBench: the hint comes first, and options stop at the first missing one.
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

/// MMMU as its authors' runner asks LLaVA; image markers such as `<image 1>` stay in the text.
fn mmmu(ask: &Ask) -> String {
    if ask.open {
        return format!("{}\n{SHORT}", ask.question);
    }
    format!("{}\n{}\n\n{LETTER}", ask.question, ask.lines("(", ") "))
}
