//! Reads gold answers from an item's canonical fields. A missing field or a wrong type is an error,
//! because it means that a data reader is broken.

use serde_json::Value;

use crate::rules::Choices;
use crate::rules::boxes::Xyxy;
use crate::text::capital;
use crate::{Fields, Track};

/// Most characters of an unusable value that an error message quotes.
const SHOWN: usize = 60;

/// Why an answer could not be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// The track cannot be scored answer by answer (VTC-Bench compares whole logs).
    #[error("task '{0}' has no rule for single answers")]
    NoRule(Track),
    /// A gold field is missing or has the wrong type.
    #[error("field '{field}': {found}, accepted: {accepted}")]
    Field {
        /// The canonical name of the field.
        field: &'static str,
        /// The value found, shortened to 60 characters, or "missing".
        found: String,
        /// The type or range of values that is accepted.
        accepted: &'static str,
    },
}

fn fault(fields: &Fields, field: &'static str, accepted: &'static str) -> JudgeError {
    let shown = |value: &Value| value.to_string().chars().take(SHOWN).collect();
    let found = fields.get(field).map_or_else(|| "missing".to_owned(), shown);
    JudgeError::Field { field, found, accepted }
}

/// A field that must be a JSON string.
pub(super) fn text<'a>(fields: &'a Fields, field: &'static str) -> Result<&'a str, JudgeError> {
    let value = fields.get(field).and_then(Value::as_str);
    value.ok_or_else(|| fault(fields, field, "a text"))
}

/// A field that must be exactly one capital letter, such as the gold option.
pub(super) fn letter(fields: &Fields, field: &'static str) -> Result<char, JudgeError> {
    let mut letters = text(fields, field)?.chars();
    let letter =
        letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none());
    letter.ok_or_else(|| fault(fields, field, "a capital letter"))
}

/// A field that must be a list of JSON strings.
pub(super) fn texts(fields: &Fields, field: &'static str) -> Result<Vec<String>, JudgeError> {
    let list = fields.get(field).and_then(Value::as_array);
    let texts =
        list.and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    texts.ok_or_else(|| fault(fields, field, "a list of texts"))
}

/// The accepted gold answers: the list `answers`, or `answer` alone if there is no such list.
pub(super) fn answers(fields: &Fields) -> Result<Vec<String>, JudgeError> {
    if !fields.contains_key("answers") && fields.contains_key("answer") {
        return text(fields, "answer").map(|answer| vec![answer.to_owned()]);
    }
    texts(fields, "answers")
}

/// The options of a multiple-choice question, keyed by capital letter.
pub(super) fn choices(fields: &Fields) -> Result<Choices, JudgeError> {
    let entry = |(name, text): (&String, &Value)| {
        let mut letters = name.chars();
        let letter =
            letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none());
        Some((letter?, text.as_str()?.to_owned()))
    };
    let map = fields.get("choices").and_then(Value::as_object);
    let choices = map.and_then(|map| map.iter().map(entry).collect());
    choices.ok_or_else(|| fault(fields, "choices", "a map from capital letters to texts"))
}

/// The option letter of a 0-based index from 0 to 25.
pub(super) fn numbered_letter(fields: &Fields, field: &'static str) -> Result<char, JudgeError> {
    let number = fields.get(field).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
    number.and_then(capital).ok_or_else(|| fault(fields, field, "a number from 0 to 25"))
}

fn numbers<const N: usize>(value: &Value) -> Option<[f64; N]> {
    let numbers: Option<Vec<f64>> = value.as_array()?.iter().map(Value::as_f64).collect();
    numbers?.try_into().ok()
}

/// The gold box of a referring-expression item: the four numbers of the field `box`.
pub(super) fn one_box(fields: &Fields) -> Result<Xyxy, JudgeError> {
    fields.get("box").and_then(numbers).ok_or_else(|| fault(fields, "box", "four numbers"))
}

/// The gold boxes of a gRefCOCO item, four numbers each; empty if the expression matches nothing.
pub(super) fn boxes(fields: &Fields) -> Result<Vec<Xyxy>, JudgeError> {
    let list = fields.get("boxes").and_then(Value::as_array);
    let boxes = list.and_then(|list| list.iter().map(numbers).collect());
    boxes.ok_or_else(|| fault(fields, "boxes", "a list of boxes of four numbers"))
}

/// A width or height: a number above 0.
pub(super) fn size(fields: &Fields, field: &'static str) -> Result<f64, JudgeError> {
    let value = fields.get(field).and_then(Value::as_f64).filter(|size| *size > 0.0);
    value.ok_or_else(|| fault(fields, field, "a number above 0"))
}

/// Width and height in pixels of the resized image that the model was given.
pub(super) fn model_input(fields: &Fields) -> Result<[f64; 2], JudgeError> {
    let found: Option<[f64; 2]> = fields.get("model_input").and_then(numbers);
    let positive = found.filter(|size| size.iter().all(|length| *length > 0.0));
    positive.ok_or_else(|| fault(fields, "model_input", "width and height above 0"))
}
