//! Reads the JSON input of a rule leniently: numbers for texts, lists for maps, indices for letters.

use serde_json::Value;

use super::RawError;
use crate::rules::Choices;
use crate::text::{self, capital, literal};

/// Most characters of an unusable value that an error message quotes.
const SHOWN: usize = 60;

/// The error for a field that is missing or has the wrong type.
pub(crate) fn fault(field: &str, found: Option<&Value>, accepted: &'static str) -> RawError {
    let found = found.map_or_else(|| "missing".to_owned(), |value| shortened(&value.to_string()));
    RawError::Field { field: field.to_owned(), found, accepted }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

/// A value as Python would print it; null gives the empty text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            Some(float.map_or_else(|| number.to_string(), text::repr))
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A field read as text; see `text_of` for how other types are converted.
pub(crate) fn text(input: &Value, field: &str) -> Result<String, RawError> {
    let value = input.get(field);
    value.and_then(text_of).ok_or_else(|| fault(field, value, "a text"))
}

/// The answer to be scored; null is an empty answer, and a list of one stands for its element.
pub(crate) fn prediction(input: &Value) -> Result<String, RawError> {
    match input.get("prediction") {
        Some(Value::Array(only)) if only.len() == 1 => {
            text_of(&only[0]).ok_or_else(|| fault("prediction", only.first(), "a text or null"))
        }
        value => {
            value.and_then(text_of).ok_or_else(|| fault("prediction", value, "a text or null"))
        }
    }
}

/// The accepted gold answers: a JSON list, a Python list literal, or one text.
pub(crate) fn answers(input: &Value) -> Result<Vec<String>, RawError> {
    let field = if input.get("answers").is_some() { "answers" } else { "answer" };
    let value = input.get(field);
    let texts = match value {
        Some(Value::Array(items)) => items.iter().map(text_of).collect(),
        Some(Value::String(cell)) => {
            Some(literal::texts(cell).unwrap_or_else(|_| vec![cell.clone()]))
        }
        Some(value) => text_of(value).map(|text| vec![text]),
        None => None,
    };
    texts.ok_or_else(|| fault(field, value, "a text or a list of texts"))
}

/// The gold answer; the first one of a list.
pub(crate) fn answer(input: &Value) -> Result<String, RawError> {
    match input.get("answer") {
        Some(Value::Array(items)) if !items.is_empty() => {
            text_of(&items[0]).ok_or_else(|| fault("answer", items.first(), "a text"))
        }
        _ => text(input, "answer"),
    }
}

/// The options: a map, a list, or one field per letter. Options that are null do not exist.
pub(crate) fn choices(input: &Value) -> Result<Choices, RawError> {
    let field = if input.get("options").is_some() { "options" } else { "choices" };
    let accepted = "a map from letters to texts or a list of texts";
    let value = input.get(field).filter(|value| !value.is_null());
    let mut choices = Choices::new();
    let mut add = |letter: Option<char>, value: &Value| -> Result<(), RawError> {
        let (letter, text) =
            letter.zip(text_of(value)).ok_or_else(|| fault(field, Some(value), accepted))?;
        if !value.is_null() {
            choices.insert(letter, text);
        }
        Ok(())
    };
    match value {
        Some(Value::Object(map)) => {
            for (name, value) in map {
                add(only_letter(name), value)?;
            }
        }
        Some(Value::Array(list)) => {
            for (at, value) in list.iter().enumerate() {
                add(capital(at), value)?;
            }
        }
        Some(Value::String(cell)) => {
            let texts = literal::texts(cell).map_err(|_| fault(field, value, accepted))?;
            for (at, text) in texts.into_iter().enumerate() {
                add(capital(at), &Value::from(text))?;
            }
        }
        Some(value) => return Err(fault(field, Some(value), accepted)),
        None => {
            let cells = input.as_object().into_iter().flatten();
            for (name, value) in cells.filter(|(name, _)| only_letter(name).is_some()) {
                add(only_letter(name), value)?;
            }
        }
    }
    Ok(choices)
}

fn only_letter(name: &str) -> Option<char> {
    let mut letters = name.chars();
    letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none())
}

/// The gold option letter, given as a letter or as a 0-based number.
pub(crate) fn letter(input: &Value) -> Result<char, RawError> {
    let fields = ["answer_index", "correct_choice", "answer", "gold", "label"];
    let field = fields.into_iter().find(|field| input.get(field).is_some()).unwrap_or("answer");
    let value = input.get(field);
    let found = match value {
        Some(Value::String(text)) => {
            let text = text::strip(text);
            let upper = text.to_ascii_uppercase();
            only_letter(&upper).or_else(|| text.parse().ok().and_then(capital))
        }
        Some(value) => value.as_u64().and_then(|at| usize::try_from(at).ok()).and_then(capital),
        None => None,
    };
    found.ok_or_else(|| fault(field, value, "a letter or its number from 0"))
}

/// The list of rows of a set, from the field `items` or `rows`.
pub(crate) fn rows(input: &Value) -> Result<&[Value], RawError> {
    let field = if input.get("items").is_some() { "items" } else { "rows" };
    let value = input.get(field);
    value.and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| fault(field, value, "a list"))
}

/// A whole number, which may be written as text.
pub(crate) fn integer(input: &Value, field: &str) -> Result<i64, RawError> {
    let value = input.get(field);
    let whole =
        |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    let found = match value {
        Some(Value::Number(number)) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Some(Value::String(text)) => text::strip(text).parse().ok(),
        _ => None,
    };
    found.ok_or_else(|| fault(field, value, "a whole number"))
}

/// A number; a truth value counts as 0 or 1, and text is read as Python's `float` does.
fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(value) => Some(f64::from(*value)),
        Value::String(text) => text::float(text),
        _ => None,
    }
}

/// A number that takes the default if it is absent or null.
pub(crate) fn number_or(input: &Value, field: &str, default: f64) -> Result<f64, RawError> {
    match input.get(field).filter(|value| !value.is_null()) {
        None => Ok(default),
        value => value.and_then(number_of).ok_or_else(|| fault(field, value, "a number")),
    }
}

/// A list of numbers, as JSON or as a Python list literal.
pub(crate) fn numbers(input: &Value, field: &str) -> Result<Vec<f64>, RawError> {
    let value = input.get(field);
    let list = match value {
        Some(Value::Array(items)) => items.iter().map(number_of).collect(),
        Some(Value::String(cell)) => {
            literal::parse(cell).ok().and_then(|list| match list.to_value() {
                Value::Array(items) => items.iter().map(number_of).collect(),
                _ => None,
            })
        }
        _ => None,
    };
    list.ok_or_else(|| fault(field, value, "a list of numbers"))
}

/// A list of exactly four numbers, such as a box.
pub(crate) fn four(input: &Value, field: &str) -> Result<[f64; 4], RawError> {
    let accepted = "four numbers";
    let list = numbers(input, field).map_err(|_| fault(field, input.get(field), accepted))?;
    list.try_into().map_err(|_| fault(field, input.get(field), accepted))
}

/// A list of boxes, four numbers each.
pub(crate) fn fours(input: &Value, field: &str) -> Result<Vec<[f64; 4]>, RawError> {
    let value = input.get(field);
    let four = |item: &Value| -> Option<[f64; 4]> {
        let numbers: Option<Vec<f64>> = item.as_array()?.iter().map(number_of).collect();
        numbers?.try_into().ok()
    };
    let list = value.and_then(Value::as_array).and_then(|items| items.iter().map(four).collect());
    list.ok_or_else(|| fault(field, value, "a list of boxes of four numbers"))
}

/// A list of texts, as JSON or as a Python list literal.
pub(crate) fn texts(input: &Value, field: &str) -> Result<Vec<String>, RawError> {
    let value = input.get(field);
    let list = match value {
        Some(Value::Array(items)) => items.iter().map(text_of).collect(),
        Some(Value::String(cell)) => literal::texts(cell).ok(),
        _ => None,
    };
    list.ok_or_else(|| fault(field, value, "a list of texts"))
}
