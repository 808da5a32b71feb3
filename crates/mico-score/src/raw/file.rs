//! Simulates how cells change when VLMEvalKit writes predictions to a file and reads them back.

use serde_json::Value;

use crate::rules::missing::{is_missing, through_file};

/// The input after a round trip through a file: predictions and options, including those of its rows.
pub(super) fn read_back(input: &Value) -> Value {
    let Value::Object(fields) = input else { return input.clone() };
    let cell = |(name, value): (&String, &Value)| {
        let value = match (name.as_str(), value) {
            ("prediction", Value::Null) => Value::from("nan"),
            ("prediction", Value::String(text)) => Value::from(through_file(text)),
            ("predictions" | "rows" | "items", Value::Array(rows)) => rows
                .iter()
                .map(|row| match row {
                    Value::String(text) => Value::from(through_file(text)),
                    row => read_back(row),
                })
                .collect(),
            ("choices" | "options", Value::Object(options)) => {
                options.iter().map(|(letter, text)| (letter.clone(), option(text))).collect()
            }
            ("choices" | "options", Value::Array(options)) => options.iter().map(option).collect(),
            (name, value) if name.len() == 1 => option(value),
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    };
    Value::Object(fields.iter().map(cell).collect())
}

fn option(text: &Value) -> Value {
    if text.as_str().is_some_and(is_missing) { Value::Null } else { text.clone() }
}

/// A row as VLMEvalKit sees it before predictions are written: options that count as empty cells
/// become null, the prediction is unchanged.
pub(super) fn options_read_back(row: &Value) -> Value {
    let mut read = read_back(row);
    if let (Some(cell), Some(kept)) = (read.get_mut("prediction"), row.get("prediction")) {
        *cell = kept.clone();
    }
    read
}
