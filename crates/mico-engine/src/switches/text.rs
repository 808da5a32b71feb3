//! Switches as text and as a map: what differs from the default.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::{SwitchValue, Switches};
use crate::error::{Error, Result};

impl FromStr for Switches {
    type Err = Error;

    /// Reads `name=value` pairs separated by commas, the rest staying at its default.
    fn from_str(text: &str) -> Result<Self> {
        let mut switches = Self::default();
        switches.set_all(text)?;
        Ok(switches)
    }
}

impl Switches {
    /// Sets what `text` lists as `name=value` pairs separated by commas, the rest staying as it is.
    pub fn set_all(&mut self, text: &str) -> Result<()> {
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Error::range("switch", pair, "name=value"));
            };
            self.set(name, value)?;
        }
        Ok(())
    }
}

impl fmt::Display for Switches {
    /// `name=value` pairs separated by commas, of the switches that are not at their default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, SwitchValue { name, value, .. }) in self.changed().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{name}={value}")?;
        }
        Ok(())
    }
}

impl Serialize for Switches {
    /// A map of the switches that are not at their default.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for SwitchValue { name, value, .. } in self.changed() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Switches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs)
    }
}

/// Reads a map of names and words.
struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Switches;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of switches, name to value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Switches, A::Error> {
        let mut switches = Switches::default();
        while let Some((name, value)) = map.next_entry::<String, String>()? {
            switches.set(&name, &value).map_err(serde::de::Error::custom)?;
        }
        Ok(switches)
    }
}
