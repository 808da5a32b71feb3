//! What would have been right, as people read it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mico_score::Fields;
use serde_json::Value;

/// The gold of an item from its fields; empty where they hold none that is known.
pub(super) fn gold(fields: &Fields) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(answer) = fields.get("answer").map(plain) {
        parts.push(match option(fields, &answer) {
            Some(text) => format!("{answer}. {text}"),
            None => answer,
        });
    }
    if let Some(Value::Array(answers)) = fields.get("answers") {
        parts.push(several(answers));
    }
    if let Some(right) = fields.get("correct_choice").and_then(Value::as_u64) {
        let options = fields.get("options").and_then(Value::as_array);
        let text = options.and_then(|options| options.get(usize::try_from(right).ok()?));
        parts.push(text.map_or_else(|| format!("option {}", right + 1), plain));
    }
    if let Some(place) = fields.get("box") {
        parts.push(format!("box {}", plain(place)));
    }
    match fields.get("boxes") {
        Some(Value::Array(boxes)) if boxes.is_empty() => parts.push("no target".into()),
        Some(Value::Array(boxes)) => {
            let boxes: Vec<String> = boxes.iter().map(plain).collect();
            parts.push(format!("boxes {}", boxes.join(", ")));
        }
        _ => {}
    }
    parts.join("; ")
}

/// The text of the option that a letter names.
fn option(fields: &Fields, letter: &str) -> Option<String> {
    if let Some(text) = fields.get("choices").and_then(|choices| choices.get(letter)) {
        return Some(plain(text));
    }
    let options = fields.get("options")?.as_array()?;
    let own = options.iter().find_map(|option| option.as_str()?.strip_prefix(letter));
    own.map(|text| text.trim_start_matches(['.', ')', ':', ' ']).to_owned())
}

/// Each text once, with how often it was given where that is more than once.
fn several(answers: &[Value]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for answer in answers {
        *counts.entry(plain(answer)).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let texts = counts
        .into_iter()
        .map(|(text, count)| if count > 1 { format!("{text} (×{count})") } else { text });
    texts.collect::<Vec<_>>().join(" | ")
}

/// A value without the quotes of JSON around texts.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_gold_can_be_read() {
        let cases = [
            (r#"{"answer":"yes"}"#, "yes"),
            (r#"{"answer":"B","choices":{"A":"cat","B":"dog"}}"#, "B. dog"),
            (r#"{"answer":"B","options":["A. cat","B. dog"]}"#, "B. dog"),
            (r#"{"answers":["stop","go","stop"]}"#, "stop (×2) | go"),
            (r#"{"correct_choice":1,"options":["cat","dog"]}"#, "dog"),
            (r#"{"correct_choice":7,"options":["cat"]}"#, "option 8"),
            (r#"{"box":[0.1,0.2,0.3,0.4]}"#, "box [0.1,0.2,0.3,0.4]"),
            (r#"{"boxes":[]}"#, "no target"),
            (r#"{"boxes":[[1,2,3,4],[5,6,7,8]]}"#, "boxes [1,2,3,4], [5,6,7,8]"),
            (r#"{"answer":3}"#, "3"),
            (r#"{"question":"?"}"#, ""),
        ];
        for (fields, expected) in cases {
            assert_eq!(gold(&serde_json::from_str(fields).unwrap()), expected, "{fields}");
        }
    }
}
