//! JSON whose size in memory is known before it is built.

use std::fmt;

use mico_util::text::quoted;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::Fault;

/// Most values in a file. Two bytes of text can become a hundred bytes in memory; vocabularies of 260,000
/// tokens with their merges have less than half as many values.
const MAX_VALUES: usize = 1 << 21;

/// Parses a text that has at most [`MAX_VALUES`] values.
pub(super) fn parse(text: &str) -> Result<Value, Fault> {
    let fail = |error: serde_json::Error| {
        Fault::Corrupt(format!("not JSON: {}", quoted(&error.to_string())))
    };
    let mut left = MAX_VALUES;
    let mut counting = serde_json::Deserializer::from_str(text);
    Counter(&mut left).deserialize(&mut counting).map_err(fail)?;
    serde_json::from_str(text).map_err(fail)
}

/// Visits everything, keeps nothing.
struct Counter<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for Counter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0.checked_sub(1) {
            Some(left) => *self.0 = left,
            None => return Err(D::Error::custom(format!("more than {MAX_VALUES} values"))),
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Counter(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(Counter(self.0))?.is_some() {
            map.next_value_seed(Counter(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_before_they_are_made() {
        let many = format!("[{}0]", "[],".repeat(MAX_VALUES));
        let Err(Fault::Corrupt(message)) = parse(&many) else { panic!("accepted") };
        assert!(message.contains("more than 2097152 values"), "{message}");
        assert_eq!(parse(r#"{"a":[1,"b",null]}"#).unwrap()["a"][1], "b");
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse("{} x").is_err());
    }
}
