//! What a prompt is made of, wherever it was read from.

use serde_json::{Map, Value};

use super::PromptError;
use crate::{Fields, Track};

/// A question with what belongs to it. Missing cells are absent here, never empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    /// The question itself.
    pub(super) question: String,
    /// A text to read before the question.
    pub(super) hint: Option<String>,
    /// Letters and texts of the options, in order.
    pub(super) options: Vec<(String, String)>,
    /// Words an OCR system found in the image.
    pub(super) tokens: Vec<String>,
    /// Whether it is asked without options although its track has them (MMMU).
    pub(super) open: bool,
}

impl Ask {
    /// The question of an item in canonical fields.
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
            // Other tracks number their kinds of questions under the same name.
            open: options.is_empty() || (track == Track::Mmmu && is_open(fields)),
            options,
            tokens: fields.get("ocr_tokens").map(texts).unwrap_or_default(),
        })
    }

    /// The options, one per line, each with its letter and what stands around it.
    pub(super) fn lines(&self, before: &str, after: &str) -> String {
        let lines =
            self.options.iter().map(|(letter, text)| format!("{before}{letter}{after}{text}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Whether the item says of itself that it is asked without options.
pub(super) fn is_open(fields: &Map<String, Value>) -> bool {
    fields
        .get("question_type")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind != "multiple-choice")
}

/// A cell as text; nothing if it is missing.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The texts of a list; missing members are left out.
pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).collect()
}

/// The members named by one capital letter, in the order of the alphabet.
pub(super) fn letters(row: &Map<String, Value>) -> Vec<(String, String)> {
    let letters = ('A'..='Z').map(String::from);
    letters
        .filter_map(|letter| row.get(&letter).and_then(text).map(|text| (letter, text)))
        .collect()
}

/// Texts with the letters of their places. The alphabet ends the list: no track comes near it.
pub(super) fn lettered(texts: &[String]) -> Vec<(String, String)> {
    ('A'..='Z').map(String::from).zip(texts.iter().cloned()).collect()
}

/// Whether a Chinese character occurs, in the one block the toolkits look at.
pub(super) fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}
