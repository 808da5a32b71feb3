//! Builds canonical fields, so that every reader delivers the same names and types.

use mico_score::{Fields, Track};
use mico_util::digest::sha256;
use serde_json::{Map, Value, json};

use crate::error::excerpt;
use crate::literal;

/// Sets a field unless the value is `None`.
pub(crate) fn put(fields: &mut Fields, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

/// The option letter of a 0-based index; `None` above 25.
pub(crate) fn letter(place: usize) -> Option<char> {
    u8::try_from(place).ok().filter(|n| *n < 26).map(|n| char::from(b'A' + n))
}

/// Options as a map from letter to text.
pub(crate) fn choices(texts: impl IntoIterator<Item = String>) -> Value {
    let lettered = texts.into_iter().enumerate();
    let map: Map<_, _> = lettered
        .filter_map(|(place, text)| Some((letter(place)?.to_string(), Value::String(text))))
        .collect();
    Value::Object(map)
}

/// Checks that a gold answer is an option letter. It need not be among the options: an option whose
/// text counts as a missing value is dropped, and its question then cannot be answered correctly.
pub(crate) fn check_letter(answer: &str) -> Result<(), String> {
    let mut letters = answer.chars();
    match (letters.next(), letters.next()) {
        (Some('A'..='Z'), None) => Ok(()),
        _ => Err(format!("answer is '{}', accepted: a capital letter", excerpt(answer))),
    }
}

/// The gold texts of a cell, which is a list literal or one plain text. Text in brackets that does
/// not parse as a list, such as a formula, is taken as plain text.
pub(crate) fn gold_texts(cell: &str) -> Vec<String> {
    if literal::looks_like_list(cell)
        && let Ok(texts) = literal::texts(cell)
        && !texts.is_empty()
    {
        return texts;
    }
    vec![cell.to_owned()]
}

/// The subject in an MMMU id such as `validation_Art_Theory_3`.
pub(crate) fn mmmu_subject(id: &str) -> Option<&str> {
    let (_, rest) = id.split_once('_')?;
    let (subject, number) = rest.rsplit_once('_')?;
    (!subject.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(subject)
}

/// A name for an image that has none: the first 16 hexadecimal digits of its SHA-256.
pub(crate) fn picture_name(bytes: &[u8]) -> String {
    let mut digits = sha256(bytes);
    digits.truncate(16);
    digits
}

/// Sets the gold answer of an MMMU question, open or multiple-choice.
pub(crate) fn put_mmmu_answer(fields: &mut Fields, answer: &str) -> Result<(), String> {
    if fields.get("question_type").and_then(Value::as_str) == Some("open") {
        let texts = gold_texts(answer);
        if let [text] = texts.as_slice() {
            fields.insert("answer".into(), json!(text));
        }
        fields.insert("answers".into(), json!(texts));
        return Ok(());
    }
    check_letter(answer)?;
    fields.insert("answer".into(), json!(answer));
    Ok(())
}

/// A list of exactly four numbers, or an error text.
pub(crate) fn four_numbers(value: &Value) -> Result<[f64; 4], String> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let numbers: Vec<f64> = items.iter().filter_map(Value::as_f64).collect();
    match <[f64; 4]>::try_from(numbers) {
        Ok(four) if items.len() == 4 => Ok(four),
        _ => Err(format!("a box is '{}', four numbers are expected", excerpt(&value.to_string()))),
    }
}

/// The referring-expression track that a row's label names, and the split without the track's name:
/// `refcoco+_testA` gives RefCOCO+ and `testA`. `None` if the label names no track.
pub(crate) fn refcoco_split(label: &str) -> (Option<Track>, &str) {
    let lower = label.to_ascii_lowercase();
    // Longer names first, because each begins with the shortest one.
    for (name, track) in [
        ("refcocoplus", Track::RefCocoPlus),
        ("refcoco+", Track::RefCocoPlus),
        ("refcocog", Track::RefCocoG),
        ("refcoco", Track::RefCoco),
    ] {
        if lower.starts_with(name) {
            let rest = label.get(name.len()..).unwrap_or("");
            return (Some(track), rest.trim_start_matches(['_', '-', '/', ' ']));
        }
    }
    (None, label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_referring_expressions() {
        let cases = [
            ("refcoco+_testA", Some(Track::RefCocoPlus), "testA"),
            ("RefCOCO_val", Some(Track::RefCoco), "val"),
            ("refcocog_test", Some(Track::RefCocoG), "test"),
            ("refcocoplus_val", Some(Track::RefCocoPlus), "val"),
            ("testB", None, "testB"),
        ];
        for (label, track, split) in cases {
            assert_eq!(refcoco_split(label), (track, split));
        }
    }

    #[test]
    fn gold_cells() {
        assert_eq!(gold_texts("['a', 'b']"), ["a", "b"]);
        assert_eq!(gold_texts("14"), ["14"]);
        assert_eq!(gold_texts("[x^2]"), ["[x^2]"]);
    }

    #[test]
    fn subjects() {
        assert_eq!(mmmu_subject("validation_Art_Theory_3"), Some("Art_Theory"));
        assert_eq!(mmmu_subject("x"), None);
        assert_eq!(mmmu_subject("a_b"), None);
    }

    #[test]
    fn letters_stop_at_z() {
        assert_eq!((letter(0), letter(25), letter(26)), (Some('A'), Some('Z'), None));
    }
}
