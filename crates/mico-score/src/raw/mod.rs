//! JSON front end of the rules: applies a rule by name, so that scores computed elsewhere can be
//! compared with ours.
//!
//! Names, kinds and fields are those of the golden test vectors. A VLMEvalKit scorer with `.file`
//! after its name reads its cells as they come back from a prediction file (see
//! [`crate::rules::missing`]). A scorer that is defined for single items also accepts the kind
//! `set`: `{"items": [...]}` gives the mean of their scores as `accuracy_pct`.

mod boxes;
mod choices;
mod choices_sets;
mod file;
mod input;
mod lines;
mod other;
mod texts;
mod video;
mod yesno;
mod yesno_sets;

use mico_util::text::quoted;
use serde_json::{Value, json};

pub(crate) use input::fault;
pub use lines::Lines;

/// A rule that can be called by name.
pub(crate) struct Entry {
    /// The scorer's name, such as `vlmevalkit.mcq`.
    pub(crate) scorer: &'static str,
    /// What the input is: `item` (one answer), `set` (many) or `prompt` (a prompt to build).
    pub(crate) kind: &'static str,
    /// The function that maps the JSON input to the JSON result.
    pub(crate) rule: fn(&Value) -> Result<Value, RawError>,
}

impl Entry {
    const fn item(scorer: &'static str, rule: fn(&Value) -> Result<Value, RawError>) -> Self {
        Self { scorer, kind: "item", rule }
    }

    const fn set(scorer: &'static str, rule: fn(&Value) -> Result<Value, RawError>) -> Self {
        Self { scorer, kind: "set", rule }
    }
}

/// Why a rule could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// No rule has that name and kind.
    #[error("scorer '{}' of kind '{}' is unknown", quoted(scorer), quoted(kind))]
    Unknown {
        /// The scorer's name as given.
        scorer: String,
        /// The kind as given or inferred from the input.
        kind: String,
    },
    /// A field of the input is missing or has the wrong type.
    #[error("field '{}': {}, accepted: {accepted}", quoted(field), quoted(found))]
    Field {
        /// The name of the field.
        field: String,
        /// The value found, shortened to 60 characters, or "missing".
        found: String,
        /// The type or range of values that is accepted.
        accepted: &'static str,
    },
}

/// The tables of all rules; each module lists its own, including prompts and aggregates.
const TABLES: &[&[Entry]] = &[
    texts::RAW,
    yesno::RAW,
    yesno_sets::RAW,
    choices::RAW,
    choices_sets::RAW,
    boxes::RAW,
    video::RAW,
    other::RAW,
    crate::prompt::RAW,
    crate::aggregate::RAW,
];

/// The name and kind of every rule.
pub fn scorers() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES.iter().copied().flatten().map(|entry| (entry.scorer, entry.kind))
}

fn find(scorer: &str, kind: &str) -> Option<&'static Entry> {
    let mut entries = TABLES.iter().copied().flatten();
    entries.find(|entry| entry.scorer == scorer && entry.kind == kind)
}

/// Applies the rule `scorer` of the given kind to `input`.
pub fn apply(scorer: &str, kind: &str, input: &Value) -> Result<Value, RawError> {
    if let Some(entry) = find(scorer, kind) {
        return (entry.rule)(input);
    }
    if let Some(stem) = scorer.strip_suffix(".file").filter(|stem| stem.starts_with("vlmevalkit."))
    {
        return apply(stem, kind, &file::read_back(input));
    }
    match find(scorer, "item") {
        Some(entry) if kind == "set" => mean(entry, input),
        _ => Err(RawError::Unknown { scorer: scorer.to_owned(), kind: kind.to_owned() }),
    }
}

/// The kind of a line that does not state it: the scorer's only kind, or `set` if the input has a
/// list of rows.
fn kind_of(scorer: &str, input: &Value) -> &'static str {
    let stem = scorer.strip_suffix(".file").unwrap_or(scorer);
    let mut kinds = scorers().filter(|(name, _)| *name == stem).map(|(_, kind)| kind);
    let lists = ["items", "rows", "predictions", "same_rows_as"];
    match (kinds.next(), kinds.next()) {
        (Some("set"), None) => "set",
        (Some("prompt"), _) => "prompt",
        _ if lists.iter().any(|list| input.get(list).is_some()) => "set",
        _ => "item",
    }
}

fn mean(entry: &Entry, input: &Value) -> Result<Value, RawError> {
    let items = input::rows(input)?;
    let mut sum = 0.0;
    for item in items {
        let out = (entry.rule)(item)?;
        let names = ["score", "hit", "correct", "score_current"];
        let score = names.iter().find_map(|name| out.get(name));
        let score =
            score.and_then(|score| score.as_f64().or_else(|| score.as_bool().map(f64::from)));
        sum += score.ok_or_else(|| {
            input::fault("answer", item.get("answer"), "a gold to score every item by")
        })?;
    }
    let mean = if items.is_empty() { 0.0 } else { 100.0 * sum / items.len() as f64 };
    Ok(json!({ "accuracy_pct": mean }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_and_bad_fields_are_errors() {
        let unknown = apply("nobody.nothing", "item", &json!({}));
        assert_eq!(
            unknown.map_err(|error| error.to_string()),
            Err("scorer 'nobody.nothing' of kind 'item' is unknown".into())
        );
        let bad = apply("llava.gqa", "item", &json!({"prediction": "x", "answer": {}}));
        assert!(
            bad.is_err_and(|error| error.to_string().starts_with("field 'answer': {}, accepted: "))
        );
    }

    #[test]
    fn no_name_is_listed_twice() {
        let mut all: Vec<_> = scorers().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn sets_of_items_are_averaged() {
        let items = json!({"items": [{"prediction": "10.4", "answer": "10"}, {"prediction": "x", "answer": 10}]});
        assert_eq!(apply("vlmevalkit.chartqa", "set", &items), Ok(json!({"accuracy_pct": 50.0})));
    }

    #[test]
    fn a_file_turns_an_empty_answer_into_nan() {
        let input = json!({"prediction": "", "choices": {"A": "a", "B": "dog", "C": "None"}, "answer": "A"});
        assert_eq!(
            apply("vlmevalkit.mcq", "item", &input).map(|out| out["extracted"].clone()),
            Ok(Value::Null)
        );
        let out = apply("vlmevalkit.mcq.file", "item", &input);
        assert_eq!(out, Ok(json!({"extracted": "A", "score": 1.0})));
        assert!(apply("llava.gqa.file", "item", &input).is_err());
    }
}
