//! The parts of a question that every toolkit's prompt is built from, read from canonical fields or
//! a raw row.

use serde_json::{Map, Value};

use super::PromptError;
use crate::{Fields, Track};

/// A question and its context. A missing cell is `None` or an empty list, never an empty text.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    /// The question text without options or instruction.
    pub(super) question: String,
    /// A context text that is put before the question; `None` if the item has none.
    pub(super) hint: Option<String>,
    /// The letter and text of each option, in order; empty for an open question.
    pub(super) options: Vec<(String, String)>,
    /// Words that an OCR system found in the image (TextVQA); may be empty.
    pub(super) tokens: Vec<String>,
    /// Whether the question is asked without options although its track has them (MMMU).
    pub(super) open: bool,
}

impl Ask {
    /// The question of an item given in canonical fields.
    pub(super) fn of(track: Track, fields: &Fields) -> Result<Self, PromptError> {
        let question = fields.get("question").and_then(text);
        let listed = ["options", "candidates"].iter().find_map(|name| fields.get(*name));
        let options = match (fields.get("choices"), listed) {
            (Some(Value::Object(choices)), _) => letters(choices),
            (Some(list), _) | (None, Some(list)) => lettered(&texts(list)),
            (None, None) => Vec::new(),
        };
        Ok(Self {
            question: question.ok_or(PromptError::Missing { track, field: "question" })?,
            hint: fields.get("hint").and_then(text),
            // Other tracks use the field `question_type` for something else.
            open: options.is_empty() || (track == Track::Mmmu && is_open(fields)),
            options,
            tokens: fields.get("ocr_tokens").map(texts).unwrap_or_default(),
        })
    }

    /// The options, one per line, with `before` and `after` around each letter.
    pub(super) fn lines(&self, before: &str, after: &str) -> String {
        let lines =
            self.options.iter().map(|(letter, text)| format!("{before}{letter}{after}{text}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Whether the item's `question_type` says that it is asked without options.
pub(super) fn is_open(fields: &Map<String, Value>) -> bool {
    fields
        .get("question_type")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind != "multiple-choice")
}

/// A cell as Python would print it; `None` if it is null, a list or an object.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The texts of a JSON list; null members are left out.
pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).collect()
}

/// The members whose name is one capital letter, in alphabetical order.
pub(super) fn letters(row: &Map<String, Value>) -> Vec<(String, String)> {
    let letters = ('A'..='Z').map(String::from);
    letters
        .filter_map(|letter| row.get(&letter).and_then(text).map(|text| (letter, text)))
        .collect()
}

/// Letters the texts A, B, C and so on. Texts after the 26th are dropped; no track has as many.
pub(super) fn lettered(texts: &[String]) -> Vec<(String, String)> {
    ('A'..='Z').map(String::from).zip(texts.iter().cloned()).collect()
}

/// Whether the text has a Chinese character, in the one Unicode block that the toolkits check.
pub(super) fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}
