//! JSON that is looked at without being kept, and lists that cannot grow without bound: a body of 64 MiB must not
//! become gigabytes of values before the first check.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Elements that all lists of one request may have together.
const LIST_ELEMENTS: usize = 16_384;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(LIST_ELEMENTS) };
}

/// Parses with a fresh allowance of list elements.
pub(super) fn with_list_budget<T>(parse: impl FnOnce() -> T) -> T {
    LEFT.set(LIST_ELEMENTS);
    parse()
}

/// Counts one element of a list that is kept.
pub(super) fn take_element<E: serde::de::Error>() -> Result<(), E> {
    let left = LEFT.get();
    if left == 0 {
        let message = format!("more than {LIST_ELEMENTS} list elements in one request");
        return Err(E::custom(message));
    }
    LEFT.set(left - 1);
    Ok(())
}

/// A list of a request, counted against the allowance.
pub(super) fn list<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
    mut sequence: A,
) -> Result<Vec<T>, A::Error> {
    let mut values = Vec::new();
    while let Some(value) = sequence.next_element()? {
        take_element()?;
        values.push(value);
    }
    Ok(values)
}

struct ListVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        list(sequence)
    }
}

/// For `#[serde(deserialize_with)]` on a list.
pub(super) fn bounded<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(ListVisitor(std::marker::PhantomData))
}

/// A value of any type, of which only as much is kept as rules ask for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Loose {
    /// Null, or absent.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
    /// An empty list or object.
    Empty,
    /// A list or an object with something in it: its texts, or the values of its keys.
    Filled(Vec<(String, String)>),
}

/// Entries of a list or object that are kept.
const KEPT: usize = 8;

impl Loose {
    /// Whether the field says nothing.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// The text at a key, in an object.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        let Self::Filled(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, text)| text.as_str())
    }

    /// The texts of a list, or of the first few of them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let entries = match self {
            Self::Filled(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(_, text)| text.as_str())
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Loose, E> {
        Ok(Loose::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Loose, E> {
        Ok(Loose::Bool(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose, E> {
        Ok(Loose::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose, E> {
        Ok(Loose::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose, E> {
        Ok(Loose::Number(value as f64))
    }

    fn visit_str<E>(self, value: &str) -> Result<Loose, E> {
        Ok(Loose::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Loose, A::Error> {
        let mut entries = Vec::new();
        while let Some(Scalar(text)) = sequence.next_element()? {
            if entries.len() < KEPT {
                entries.push((String::new(), text));
            }
        }
        Ok(if entries.is_empty() { Loose::Empty } else { Loose::Filled(entries) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, Scalar(text))) = map.next_entry::<String, Scalar>()? {
            if entries.len() < KEPT {
                entries.push((key, text));
            }
        }
        Ok(if entries.is_empty() { Loose::Empty } else { Loose::Filled(entries) })
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

/// A text, a number or a truth value as text; lists and objects are passed over as `...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Scalar, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar("...".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar("...".to_owned()))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_rules_ask_for_is_kept() {
        let read = |text: &str| serde_json::from_str::<Loose>(text).unwrap();
        assert_eq!(read("null"), Loose::Null);
        assert_eq!(read("[]"), Loose::Empty);
        assert_eq!(read("{}"), Loose::Empty);
        assert_eq!(read("0"), Loose::Number(0.0));
        assert_eq!(read(r#"{"type":"text"}"#).text_at("type"), Some("text"));
        assert_eq!(read(r#"["text","audio"]"#).texts().collect::<Vec<_>>(), ["text", "audio"]);
        let long = format!("[{}]", vec!["[]"; 100_000].join(","));
        assert_eq!(read(&long).texts().count(), KEPT);
    }
}
