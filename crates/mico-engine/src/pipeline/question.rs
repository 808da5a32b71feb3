//! The words of a question, for pruners that compare them with the image.

use mico_select::Signal;

use super::Turn;
use crate::engine::Engine;
use crate::error::Result;
use crate::features::Features;
use crate::layout::{PromptLayout, Slot};

/// Instructions about the form of the answer, which say nothing about the image.
const INSTRUCTIONS: [&str; 2] = [
    "Answer the question using a single word or phrase.",
    "Answer with the option's letter from the given choices directly.",
];

/// Words that say little about what is to be seen.
const FUNCTION_WORDS: [&str; 47] = [
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had",
    "do", "does", "did", "it", "they", "he", "she", "we", "you", "i", "what", "where", "when",
    "why", "how", "who", "which", "and", "or", "but", "so", "if", "then", "question", "answer",
    "to", "for", "with", "by", "from", "at", "into", "onto", "upon",
];

/// The words of a question that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionWords {
    /// Those that say something about the image: instructions and function words are left out.
    Telling,
    /// All of them, under a heading.
    Whole {
        /// What stands before the question.
        heading: &'static str,
    },
}

/// Input embeddings of the question's words, if the turn's plan compares them with the images: those of
/// the user's message, or of the text behind the last image (all text if there is none) where the prompt
/// came as token ids.
pub(super) fn question(engine: &Engine, turn: &Turn) -> Result<Option<Features>> {
    if !turn.plan.stage1.as_ref().is_some_and(|plan| plan.signals.has(Signal::Text)) {
        return Ok(None);
    }
    let words = engine.family.prompt.question;
    let mut ids = match (&turn.question, &engine.tokenizer) {
        (Some(text), Some(tokenizer)) => tokenizer.encode(&words.of(text))?,
        _ => Vec::new(),
    };
    if ids.is_empty() {
        ids = behind_images(&turn.layout);
    }
    Features::from_tensor(&engine.model.decoder().embed(&ids)?).map(Some)
}

impl QuestionWords {
    /// The text whose words count.
    fn of(self, text: &str) -> String {
        match self {
            Self::Telling => telling(text),
            Self::Whole { heading } => format!("{heading}{text}"),
        }
    }
}

fn telling(text: &str) -> String {
    let text = INSTRUCTIONS.iter().fold(text.to_owned(), |text, said| text.replace(said, ""));
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let telling: Vec<&str> = text
        .split(|c| !word(c))
        .filter(|word| !word.is_empty())
        .filter(|word| !FUNCTION_WORDS.contains(&word.to_lowercase().as_str()))
        .collect();
    if telling.is_empty() { text } else { telling.join(" ") }
}

fn behind_images(layout: &PromptLayout) -> Vec<u32> {
    let last = layout.slots().iter().rposition(|slot| matches!(slot, Slot::Visual(_)));
    let text = |slots: &[Slot]| -> Vec<u32> {
        let ids = slots.iter().filter_map(|slot| match slot {
            Slot::Text(id) => Some(*id),
            Slot::Visual(_) => None,
        });
        ids.collect()
    };
    let behind = text(&layout.slots()[last.map_or(0, |last| last + 1)..]);
    if behind.is_empty() { text(layout.slots()) } else { behind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_tell_nothing_go() {
        assert_eq!(telling("What colour is the cat's hat?"), "colour cat s hat");
        let asked = "How many dogs?\nAnswer the question using a single word or phrase.";
        assert_eq!(telling(asked), "many dogs");
        assert_eq!(telling("What is it?"), "What is it?");
        let whole = QuestionWords::Whole { heading: "Question: " };
        assert_eq!(whole.of("What is it?"), "Question: What is it?");
    }
}
