//! Changes of JSON documents that leave them JSON.

use mico_util::SplitMix64;
use serde_json::{Map, Value};

/// What a key or string begins with that stands for something `Value` cannot hold; taken out of the text.
const MARK: &str = "\u{1}";
/// The mark as the text has it.
const MARK_TEXT: &str = "\\u0001";
/// Values of every kind, as text. Those that are no value of Rust are JSON nevertheless.
const VALUES: [&str; 30] = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "64",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "-0.0",
    "0.5",
    "1e-300",
    "1e308",
    "1e999",
    "\"\"",
    "\"0\"",
    "\"\\u001b[31m\\n\"",
    "\"\\ud83d\\ude42\"",
    "[]",
    "{}",
    "[[]]",
    "[null]",
];
/// How long strings are tried, and how deep nests.
const LONG: usize = 5000;
const DEEP: usize = 120;

/// A changed copy of a document; `None` if it is none. `other` gives parts, if it is a document.
pub(super) fn change(
    random: &mut SplitMix64,
    tokens: &[&str],
    data: &[u8],
    other: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(data).ok()?;
    let place = random.below(count(&document));
    // A foreign part is asked for rarely, and read only then.
    let foreign = match random.below(8) {
        0 => other.and_then(|other| serde_json::from_slice::<Value>(other).ok()),
        _ => None,
    };
    let own = document.clone();
    let donor = foreign.as_ref().unwrap_or(&own);
    let part = nth(donor, random.below(count(donor))).cloned().unwrap_or(Value::Null);
    let value = nth_mut(&mut document, place)?;
    alter(random, tokens, value, part);
    let text = serde_json::to_string(&document).ok()?;
    Some(if text.contains(MARK_TEXT) { unmarked(&text) } else { text }.into_bytes())
}

/// Changes one value.
fn alter(random: &mut SplitMix64, tokens: &[&str], value: &mut Value, part: Value) {
    match (random.below(10), &mut *value) {
        (0..3, Value::Object(map)) => object(random, tokens, map, part),
        (0..3, Value::Array(list)) => array(random, list, part),
        (0..3, Value::Number(number)) => {
            let step = [-100, -2, -1, 1, 2, 3, 100][random.below(7)];
            let near = number.as_i64().unwrap_or(0).wrapping_add(step);
            *value = Value::from(near);
        }
        (0..3, Value::String(text)) => string(random, tokens, text),
        (3, _) => *value = part,
        (4, _) => *value = Value::String(token(random, tokens).to_owned()),
        (5, _) if random.below(4) == 0 => *value = Value::String("x".repeat(LONG)),
        (6, _) if random.below(4) == 0 => {
            let nest = format!("{MARK}{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
            *value = Value::String(nest);
        }
        _ => *value = Value::String(format!("{MARK}{}", VALUES[random.below(VALUES.len())])),
    }
}

fn object(random: &mut SplitMix64, tokens: &[&str], map: &mut Map<String, Value>, part: Value) {
    let keys: Vec<String> = map.keys().cloned().collect();
    let Some(key) = random.pick(&keys).cloned() else {
        map.insert(token(random, tokens).to_owned(), part);
        return;
    };
    match random.below(5) {
        0 => drop(map.remove(&key)),
        1 => {
            // The same key twice.
            let twin = if random.below(2) == 0 { map[&key].clone() } else { part };
            map.insert(format!("{MARK}{key}"), twin);
        }
        2 => drop(map.insert(token(random, tokens).to_owned(), part)),
        3 => {
            let with = random.pick(&keys).cloned().unwrap_or_default();
            let (a, b) = (map[&key].clone(), map[&with].clone());
            map.insert(key, b);
            map.insert(with, a);
        }
        _ => {
            if let Some(value) = map.remove(&key) {
                map.insert(format!("{key}_"), value);
            }
        }
    }
}

fn array(random: &mut SplitMix64, list: &mut Vec<Value>, part: Value) {
    let at = random.below(list.len());
    match random.below(5) {
        0 if !list.is_empty() => drop(list.remove(at)),
        1 if !list.is_empty() => list.insert(at, list[at].clone()),
        2 if !list.is_empty() => {
            let with = random.below(list.len());
            list.swap(at, with);
        }
        3 => list.truncate(at),
        4 if list.len() < 64 => list.extend_from_within(..),
        _ => list.insert(at, part),
    }
}

fn string(random: &mut SplitMix64, tokens: &[&str], text: &mut String) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = random.pick(&places).copied().unwrap_or(0);
    match random.below(4) {
        0 => text.truncate(at),
        1 => drop(text.drain(..at)),
        2 => text.insert_str(at, &text.clone()),
        _ => text.insert_str(at, token(random, tokens)),
    }
}

fn token<'t>(random: &mut SplitMix64, tokens: &[&'t str]) -> &'t str {
    random.pick(tokens).copied().unwrap_or("key")
}

/// The number of values of a document, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(map) => map.values().map(count).sum(),
        Value::Array(list) => list.iter().map(count).sum(),
        _ => 0,
    }
}

/// The value of that number, counted as they are written.
fn nth(value: &Value, mut number: usize) -> Option<&Value> {
    if number == 0 {
        return Some(value);
    }
    number -= 1;
    let children: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let size = count(child);
        if number < size {
            return nth(child, number);
        }
        number -= size;
    }
    None
}

/// The same, to be changed.
fn nth_mut(value: &mut Value, mut number: usize) -> Option<&mut Value> {
    if number == 0 {
        return Some(value);
    }
    number -= 1;
    let children: Vec<&mut Value> = match value {
        Value::Object(map) => map.values_mut().collect(),
        Value::Array(list) => list.iter_mut().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let size = count(child);
        if number < size {
            return nth_mut(child, number);
        }
        number -= size;
    }
    None
}

/// Marked strings as the bare text they hold, marked keys as keys that stand twice.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let opening = format!("\"{MARK_TEXT}");
    while let Some((before, after)) = rest.split_once(&opening) {
        out.push_str(before);
        let end = closing(after);
        let (held, tail) = after.split_at(end);
        let is_key = tail.starts_with("\":");
        let bare: Option<String> =
            if is_key { None } else { serde_json::from_str(&format!("\"{held}\"")).ok() };
        out.push_str(bare.as_deref().unwrap_or("\""));
        rest = if bare.is_some() { tail.get(1..).unwrap_or_default() } else { after };
    }
    out.push_str(rest);
    out
}

/// Where a string's closing mark stands.
fn closing(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_what_they_stand_for() {
        let text = |value: &Value| unmarked(&serde_json::to_string(value).unwrap());
        let value = serde_json::json!({ "a": "\u{1}1e999", "b": ["\u{1}\"x\\n\""], "\u{1}a": 1 });
        let written = text(&value);
        assert!(written.contains("\"a\":1e999"), "{written}");
        assert_eq!(written.matches("\"a\":1").count(), 2, "{written}");
        assert!(written.contains(r#"["x\n"]"#), "{written}");
    }

    #[test]
    fn every_value_can_be_reached() {
        let mut document = serde_json::json!({ "a": [1, { "b": 2 }], "c": 3 });
        assert_eq!(count(&document), 6);
        let all: Vec<Value> = (0..6).map(|at| nth(&document, at).unwrap().clone()).collect();
        assert_eq!(all[4], 2);
        assert_eq!(all[5], 3);
        assert_eq!(nth(&document, 6), None);
        *nth_mut(&mut document, 4).unwrap() = Value::Null;
        assert_eq!(document["a"][1]["b"], Value::Null);
    }

    #[test]
    fn what_is_no_document_is_left_to_others() {
        assert_eq!(change(&mut SplitMix64::new(1), &[], b"{", None), None);
    }
}
