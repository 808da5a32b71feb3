//! VTC-Bench: separates questions that need full resolution from those that do not, using
//! lmms-eval's sample logs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::percent;
use crate::text::{is_printable, lower, repr, strip};

/// A logged score from this value on counts as right.
const HALF: f64 = 0.5;

/// Whether a logged record of the given dataset was answered correctly.
///
/// A record without the dataset's own score field is judged by its text: the gold must equal it or
/// be contained in it. A malformed record is wrong, as in the public code.
pub fn correct(dataset: &str, record: &Value) -> bool {
    let dataset = dataset.to_lowercase();
    let has = |name: &str| dataset.contains(name);
    let judged = if has("chartqa") {
        Ok(logged(record, "relaxed_overall"))
    } else if has("pope") {
        score(record, "pope_accuracy")
    } else if has("ocrbench") {
        score(record, "ocrbench_accuracy")
    } else if has("gqa") {
        Ok(logged(record, "exact_match"))
    } else if has("mme") {
        match (score(record, "mme_perception_score"), score(record, "mme_cognition_score")) {
            (Ok(None), cognition) => cognition,
            (Ok(_), Err(shape)) => Err(shape),
            (perception, _) => perception,
        }
    } else if has("mmstar") {
        score(record, "average")
    } else if has("mmbench") {
        letters(record)
    } else {
        Ok(None)
    };
    judged.is_ok_and(|judged| judged.unwrap_or_else(|| by_text(record)))
}

/// The record does not have the expected structure.
struct Shape;

fn logged(record: &Value, field: &str) -> Option<bool> {
    record.get(field).filter(|value| !value.is_null()).map(truthy)
}

fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(value) => value.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn score(record: &Value, field: &str) -> Result<Option<bool>, Shape> {
    let Some(holder) = record.get(field) else { return Ok(None) };
    match holder.as_object().ok_or(Shape)?.get("score") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(right)) => Ok(Some(*right)),
        Some(score) => score.as_f64().map(|score| Some(score >= HALF)).ok_or(Shape),
    }
}

fn letters(record: &Value) -> Result<Option<bool>, Shape> {
    let Some(holder) = record.get("gpt_eval_score") else { return Ok(None) };
    let holder = holder.as_object().ok_or(Shape)?;
    let both = [holder.get("answer"), holder.get("prediction")]
        .map(|value| value.filter(|value| truthy(value)));
    match both {
        [Some(answer), Some(prediction)] => {
            let [answer, prediction] = [answer, prediction].map(Value::as_str);
            let (answer, prediction) = answer.zip(prediction).ok_or(Shape)?;
            Ok(Some(plain(answer) == plain(prediction)))
        }
        _ => Ok(None),
    }
}

fn by_text(record: &Value) -> bool {
    let response = record.get("filtered_resps").map_or_else(String::new, written);
    let answer = match record.get("doc") {
        None => String::new(),
        Some(Value::Object(doc)) => doc.get("answer").map_or_else(String::new, written),
        Some(_) => return false,
    };
    plain(&response).contains(&plain(&answer))
}

fn plain(text: &str) -> String {
    lower(strip(&text.replace('.', "")))
}

/// A value as Python's `str` prints it.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => quoted(value),
    }
}

fn quoted(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => repr(float),
            None => number.to_string(),
        },
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let text: String = text.chars().map(|c| escaped(c, quote)).collect();
            format!("{quote}{text}{quote}")
        }
        Value::Array(items) => format!("[{}]", join(items.iter().map(quoted).collect())),
        Value::Object(fields) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}: {}", quoted(&Value::from(name.as_str())), quoted(value))
            };
            format!("{{{}}}", join(fields.iter().map(pair).collect()))
        }
    }
}

/// A character as it appears in Python's `repr` of a string.
fn escaped(c: char, quote: char) -> String {
    match (c, u32::from(c)) {
        ('\\', _) => "\\\\".to_owned(),
        ('\n', _) => "\\n".to_owned(),
        ('\t', _) => "\\t".to_owned(),
        ('\r', _) => "\\r".to_owned(),
        (c, _) if c == quote => format!("\\{c}"),
        (c, _) if is_printable(c) => c.to_string(),
        (_, code @ 0..0x100) => format!("\\x{code:02x}"),
        (_, code @ 0x100..0x1_0000) => format!("\\u{code:04x}"),
        (_, code) => format!("\\U{code:08x}"),
    }
}

/// The two groups of questions, by document id in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// Questions answered correctly at full resolution but not on the downsampled image.
    pub hard: Vec<String>,
    /// Questions answered correctly in both cases.
    pub easy: Vec<String>,
}

/// Sorts questions into groups by the reference model's answers. Questions that it got wrong at
/// full resolution, or that were not asked on downsampled images, are in neither group.
pub fn groups(full: &BTreeMap<String, bool>, downsampled: &BTreeMap<String, bool>) -> Groups {
    let mut groups = Groups::default();
    for (id, _) in full.iter().filter(|(_, right)| **right) {
        match downsampled.get(id) {
            Some(true) => groups.easy.push(id.clone()),
            Some(false) => groups.hard.push(id.clone()),
            None => {}
        }
    }
    // Document ids are numbers stored as text, so "10" would sort before "2".
    for group in [&mut groups.hard, &mut groups.easy] {
        group.sort_by_key(|id| (id.parse::<u64>().unwrap_or(u64::MAX), id.clone()));
    }
    groups
}

/// The evaluated model's accuracy on a group in percent; unanswered questions count as wrong.
pub fn group_percent(group: &[String], target: &BTreeMap<String, bool>) -> f64 {
    percent(group.iter().filter(|id| target.get(*id) == Some(&true)).count(), group.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_are_judged_by_their_field_or_their_text() {
        let cases = [
            ("chartqa", json!({"relaxed_overall": 1.0}), true),
            ("chartqa", json!({"relaxed_overall": 0}), false),
            (
                "mme",
                json!({"mme_perception_score": {"score": 0.0}, "mme_cognition_score": {"score": 1.0}}),
                false,
            ),
            ("mme", json!({"mme_cognition_score": {"score": 1.0}}), true),
            (
                "mmbench_cn_dev",
                json!({"gpt_eval_score": {"answer": "B", "prediction": " b. "}}),
                true,
            ),
            (
                "mmbench_en_dev",
                json!({"gpt_eval_score": {"answer": "B", "prediction": "B. dog"}}),
                false,
            ),
            (
                "mmbench_en_dev",
                json!({"gpt_eval_score": {"answer": "B", "prediction": ""}, "filtered_resps": ["B. dog"], "doc": {"answer": "B"}}),
                true,
            ),
            ("gqa", json!({"filtered_resps": ["No"], "doc": {"answer": "no"}}), true),
            ("gqa", json!({"filtered_resps": ["yes"], "doc": {"answer": "no"}}), false),
            ("pope", json!({"pope_accuracy": null}), false),
            ("pope", json!({"pope_accuracy": {"score": "x"}}), false),
        ];
        for (dataset, record, right) in cases {
            assert_eq!(correct(dataset, &record), right, "{dataset} {record}");
        }
    }

    #[test]
    fn groups_follow_the_reference() {
        let map = |pairs: &[(&str, bool)]| {
            pairs.iter().map(|(id, right)| ((*id).to_owned(), *right)).collect()
        };
        let full =
            map(&[("0", true), ("1", true), ("2", false), ("3", true), ("4", true), ("10", true)]);
        let down = map(&[("0", true), ("1", false), ("2", true), ("3", false), ("10", false)]);
        let groups = groups(&full, &down);
        assert_eq!(
            (groups.hard.as_slice(), groups.easy.as_slice()),
            (&["1", "3", "10"].map(str::to_owned)[..], &["0".to_owned()][..])
        );
        assert_eq!(group_percent(&groups.hard, &map(&[("1", true)])), 100.0 / 3.0);
        assert_eq!(group_percent(&[], &map(&[])), 0.0);
    }

    #[test]
    fn lists_are_written_as_python_writes_them() {
        assert_eq!(written(&json!(["it's", "a", 1.0, null])), "[\"it's\", 'a', 1.0, None]");
        assert_eq!(written(&json!(["it's \"\n\u{a0}\u{200b}狗"])), r#"['it\'s "\n\xa0\u200b狗']"#);
    }
}
