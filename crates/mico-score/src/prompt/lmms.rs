//! Prompts as lmms-eval builds them; its video prompts are used under every profile.

use super::ask::Ask;
use super::instruction::{LETTER, LETTER_CN_LMMS, ONE_WORD, SHORT, VIDEO_MME, YES_NO};
use crate::Track;

/// The pre- and post-prompt that a task's settings put around the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// The text before the question; empty for most tasks.
    pub(super) pre: String,
    /// The text after the question, usually a line break and an instruction.
    pub(super) post: String,
}

impl Frame {
    /// The default settings of a task. MMMU has one set for questions with options and one for
    /// those without.
    pub(super) fn of(track: Track, open: bool) -> Self {
        let post = match track {
            Track::Gqa | Track::Pope | Track::TextVqa | Track::DocVqa | Track::Mme => {
                format!("\n{SHORT}")
            }
            Track::ChartQa => format!("\n{ONE_WORD}"),
            Track::ScienceQaImg
            | Track::SeedBenchImg
            | Track::Ai2d
            | Track::MmbenchEn
            | Track::VideoMme => format!("\n{LETTER}"),
            // This task's instruction lacks the full stop.
            Track::MmStar => format!("\n{}", LETTER.trim_end_matches('.')),
            Track::MmbenchCn => format!("\n{LETTER_CN_LMMS}"),
            Track::Mmmu if open => SHORT.to_owned(),
            Track::Mmmu => LETTER.to_owned(),
            Track::LongVideoBench => format!("{LETTER}\n"),
            Track::MvBench => "Only give the best option.\n".to_owned(),
            Track::Mlvu => "\nOnly give the best option.\nBest option: (".to_owned(),
            Track::HallusionBench
            | Track::OcrBench
            | Track::RefCoco
            | Track::RefCocoPlus
            | Track::RefCocoG
            | Track::GrefCoco
            | Track::VtcBench => String::new(),
        };
        Self { pre: String::new(), post }
    }
}

/// The prompt text of an item, without the image placeholder.
pub(super) fn text(track: Track, ask: &Ask, frame: &Frame) -> String {
    let Frame { pre, post } = frame;
    let Ask { question, .. } = ask;
    match track {
        Track::Pope | Track::OcrBench => format!("{pre}{}{post}", question.trim()),
        Track::TextVqa => format!("{pre}{}{}{post}", capitalised(question), tokens(ask)),
        Track::Mme | Track::MmStar => own_instruction(ask, frame),
        Track::Ai2d => format!("{pre}{question}\n{}{post}", ask.lines("", ". ")),
        Track::ScienceQaImg => {
            let hint = ask.hint.as_deref().filter(|hint| !hint.is_empty());
            let context = hint.map(|hint| format!("Context: {hint}\n")).unwrap_or_default();
            format!("{pre}{context}{question}\n{}{post}", ask.lines("", ". "))
        }
        Track::SeedBenchImg => format!("{question}\n{}\n{LETTER}", ask.lines("", ". ")),
        Track::MmbenchEn | Track::MmbenchCn => mmbench(ask, frame),
        Track::Mmmu if ask.open => format!("{question}\n\n{post}"),
        Track::Mmmu => format!("{question}\n{}\n\n{post}", ask.lines("", ". ")),
        Track::VideoMme => {
            // The option texts already begin with their letters.
            let options: Vec<_> = ask.options.iter().map(|(_, text)| text.as_str()).collect();
            format!("{VIDEO_MME}\n{question}\n{}\n{post}", options.join("\n"))
        }
        Track::MvBench => {
            let options = ask.options.iter().map(|(letter, text)| format!("({letter}) {text}\n"));
            format!("Question:{question}\nOption:\n{}{post}", options.collect::<String>())
        }
        Track::LongVideoBench => format!("{pre}{question}\n{}\n{post}", ask.lines("", ". ")),
        _ => format!("{pre}{question}{post}"),
    }
}

/// The line of OCR tokens, or nothing if there are none.
fn tokens(ask: &Ask) -> String {
    match ask.tokens.as_slice() {
        [] => String::new(),
        tokens => format!("\nReference OCR token: {}", tokens.join(", ")),
    }
}

/// MME and MMStar: the instruction inside the question is replaced by the task's, if it has one.
fn own_instruction(ask: &Ask, frame: &Frame) -> String {
    let mut text = ask.question.trim().to_owned();
    if !ask.options.is_empty() {
        text = format!("{text}\n{}", ask.lines("", ". "));
    }
    if !(frame.pre.is_empty() && frame.post.is_empty()) {
        text = text.replace(&format!(" {YES_NO}"), "");
    }
    format!("{}{text}{}", frame.pre, frame.post)
}

/// MMBench: hint, question and options in this order.
fn mmbench(ask: &Ask, frame: &Frame) -> String {
    let hint = ask.hint.as_ref().map(|hint| format!("{hint} ")).unwrap_or_default();
    let mut text = format!("{hint}{} There are several options:\n", ask.question);
    text.push_str(&ask.lines("", ". "));
    // The task drops line breaks at the end of the options, or of the heading if there are no options.
    text.truncate(text.trim_end_matches('\n').len());
    format!("{text}\n{}", frame.post)
}

/// Python's `str.capitalize`: the first letter in upper case, the rest in lower case.
fn capitalised(text: &str) -> String {
    let Some(first) = text.chars().next() else {
        return String::new();
    };
    // Lower-cased as a whole, because the lower-case form of a final sigma depends on what precedes it.
    let rest = text.to_lowercase().chars().skip(first.to_lowercase().count()).collect::<String>();
    let mut upper = first.to_uppercase();
    let head = upper.next().into_iter().collect::<String>();
    format!("{head}{}{rest}", upper.collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::capitalised;

    #[test]
    fn only_the_first_letter_is_a_capital() {
        let cases =
            [("WHAT Brand?", "What brand?"), ("", ""), ("éTÉ", "Été"), ("ßA", "Ssa"), ("ΑΣ", "Ας")];
        cases.iter().for_each(|(text, expected)| assert_eq!(capitalised(text), *expected));
    }
}
