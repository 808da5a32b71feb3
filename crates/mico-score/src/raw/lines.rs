//! Applies rules to a stream of JSON lines, each naming a rule and holding its input.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::input::fault;
use super::{RawError, apply, kind_of};

/// Applies lines one after the other; a line may reuse the input of an earlier one (`same_rows_as`).
#[derive(Debug, Default)]
pub struct Lines {
    /// Inputs of earlier lines with the number of bytes of each.
    inputs: BTreeMap<String, (Value, usize)>,
    /// Their bytes together.
    remembered: usize,
    /// Lines that are JSON, and lines that are not.
    counts: [usize; 2],
}

/// The bytes of earlier lines whose inputs can be used again. A longer file can only use those of its first lines.
const REMEMBERED: usize = 16 << 20;

impl Lines {
    /// A reader that has not seen any line yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers a line `{"id","scorer","kind","in"}` with `{"id","out"}` or `{"id","error"}`; `None`
    /// for a blank line.
    pub fn apply(&mut self, line: &str) -> Option<Value> {
        if line.trim().is_empty() {
            return None;
        }
        let length = line.len();
        let read = serde_json::from_str(line);
        self.counts[usize::from(read.is_err())] += 1;
        let line: Value = match read {
            Ok(line) => line,
            Err(error) => {
                let error = format!("line is no JSON: {error}");
                return Some(json!({ "id": null, "error": error }));
            }
        };
        let id = line.get("id").cloned().unwrap_or(Value::Null);
        Some(match self.answer(&line, length) {
            Ok(out) => json!({ "id": id, "out": out }),
            Err(error) => json!({ "id": id, "error": error.to_string() }),
        })
    }

    /// Whether there were lines, and none of them was JSON.
    pub fn are_all_malformed(&self) -> bool {
        self.counts[0] == 0 && self.counts[1] > 0
    }

    fn answer(&mut self, line: &Value, length: usize) -> Result<Value, RawError> {
        let scorer = line.get("scorer").and_then(Value::as_str);
        let scorer =
            scorer.ok_or_else(|| fault("scorer", line.get("scorer"), "a scorer's name"))?;
        let input = line.get("in").ok_or_else(|| fault("in", None, "the scorer's input"))?;
        let input = match input.get("same_rows_as") {
            None => input.clone(),
            Some(earlier) => {
                let found = self.inputs.get(&key(earlier)).map(|(input, _)| input.clone());
                found.ok_or_else(|| {
                    fault("same_rows_as", Some(earlier), "the id of an earlier line")
                })?
            }
        };
        let kind = match line.get("kind") {
            None | Some(Value::Null) => kind_of(scorer, &input),
            Some(Value::String(kind)) => kind,
            found => return Err(fault("kind", found, "item, set or prompt")),
        };
        let out = apply(scorer, kind, &input);
        if let Some(id) = line.get("id") {
            self.remember(key(id), input, length);
        }
        out
    }

    /// Keeps an input for later lines while there is room.
    fn remember(&mut self, id: String, input: Value, length: usize) {
        self.remembered -= self.inputs.remove(&id).map_or(0, |(_, length)| length);
        if self.remembered + length <= REMEMBERED {
            self.remembered += length;
            self.inputs.insert(id, (input, length));
        }
    }
}

/// The id of a line as text; ids may be texts or numbers.
fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Value {
        Lines::new().apply(line).unwrap()
    }

    #[test]
    fn every_bad_line_is_an_error_of_its_own() {
        let bad = [
            ("{", "line is no JSON"),
            ("[]", "field 'scorer': missing"),
            (r#"{"id":1,"scorer":"x","in":{}}"#, "scorer 'x' of kind 'item' is unknown"),
            (r#"{"id":1,"scorer":"llava.gqa"}"#, "field 'in': missing"),
            (r#"{"id":1,"scorer":"llava.gqa","in":{"answer":"x"}}"#, "field 'prediction': missing"),
            (r#"{"id":1,"scorer":"llava.gqa","kind":3,"in":{}}"#, "field 'kind': 3"),
            (
                r#"{"id":1,"scorer":"vlmevalkit.mme","in":{"same_rows_as":"x"}}"#,
                "field 'same_rows_as'",
            ),
        ];
        for (line, start) in bad {
            let error = one(line)["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(start), "{line}: {error}");
            assert!(!error.contains('\n'));
        }
        assert_eq!(Lines::new().apply("  "), None);
    }

    #[test]
    fn a_kind_is_inferred() {
        let item = one(r#"{"id":"a","scorer":"llava.gqa","in":{"prediction":null,"answer":""}}"#);
        assert_eq!(item, json!({"id": "a", "out": {"score": 1.0}}));
        let set = one(r#"{"id":7,"scorer":"llava.gqa","in":{"items":[]}}"#);
        assert_eq!(set, json!({"id": 7, "out": {"accuracy_pct": 0.0}}));
    }

    #[test]
    fn a_file_without_json_is_told_from_one_with_bad_lines() {
        let mut lines = Lines::new();
        assert!(!lines.are_all_malformed());
        lines.apply("no JSON");
        assert!(lines.are_all_malformed());
        lines.apply("[]");
        assert!(!lines.are_all_malformed());
    }

    #[test]
    fn inputs_are_remembered_up_to_a_limit() {
        let mut lines = Lines::new();
        let row = "x".repeat(1 << 20);
        for id in 0..20 {
            let line = format!(r#"{{"id":{id},"scorer":"x","in":{{"rows":["{row}"]}}}}"#);
            lines.apply(&line);
            // The same id again takes the room of the first.
            lines.apply(&line);
        }
        assert!(lines.remembered <= REMEMBERED && lines.inputs.len() == 15);
    }
}
