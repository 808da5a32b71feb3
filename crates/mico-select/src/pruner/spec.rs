//! The textual form of a method: one word for command lines, tables and records.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Pruner, PruningSpec};
use crate::error::{Error, Result};
use crate::methods::pruner_by_name;
use crate::settings::Settings;

/// Words that mean something else where a method could stand.
const RESERVED: [&str; 1] = ["unpruned"];

/// A method with settings, as one word: `name`, or `name:key=value:key=value`.
///
/// ```
/// use mico_select::pruner::MethodSpec;
/// let spec: MethodSpec = "vispruner:ratio=0.75".parse()?;
/// assert_eq!(spec.build()?.name(), "vispruner");
/// assert_eq!(spec.to_string(), "vispruner:ratio=0.75");
/// for wrong in ["mico:", "mico:a", "mico:a=", "mico:=b", "mico:a=1:a=2", "mico:a=b c", "unpruned", "authors", "T=7"] {
///     assert!(wrong.parse::<MethodSpec>().is_err(), "{wrong}");
/// }
/// # Ok::<(), mico_select::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MethodSpec {
    name: String,
    /// Settings by key; ordered, so that equal specs are written alike.
    settings: BTreeMap<String, String>,
}

impl MethodSpec {
    /// A method with settings; a key given twice keeps its last value. An error if the result could not
    /// be written as one word.
    pub fn new(
        name: impl Into<String>,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let spec = Self { name: name.into(), settings: settings.into_iter().collect() };
        let unfit = |part: &str, marks: &[char]| {
            let stray = |c: char| c.is_whitespace() || c.is_control() || marks.contains(&c);
            part.is_empty() || part.contains(stray)
        };
        let unfit_pair =
            |(key, value): (&String, &String)| unfit(key, &[':', '=']) || unfit(value, &[':']);
        let taken = RESERVED.contains(&spec.name.as_str()) || PruningSpec::is_word(&spec.name);
        if taken || unfit(&spec.name, &[':', '=']) || spec.settings.iter().any(unfit_pair) {
            return Err(not_a_word(&spec.to_string()));
        }
        Ok(spec)
    }

    /// The method's name, which is not checked before [`MethodSpec::build`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings by key, which are not checked before [`MethodSpec::build`].
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// Builds the pruner. An error if there is no method of that name, or it lacks one of the settings.
    pub fn build(&self) -> Result<Arc<dyn Pruner>> {
        pruner_by_name(&self.name, Settings::new(self.settings.clone()))
    }

    /// Sets the seed of a method that draws at random, unless it has one already.
    pub fn seeded(mut self, seed: u64) -> Self {
        let idle = self.settings.get("idle").is_some_and(|idle| idle == "random");
        if self.name == "random" || idle {
            self.settings.entry("seed".to_owned()).or_insert_with(|| seed.to_string());
        }
        self
    }
}

fn not_a_word(text: &str) -> Error {
    let accepted = "NAME or NAME:KEY=VALUE:KEY=VALUE, each key once";
    Error::range("method", format!("'{text}'"), accepted)
}

impl FromStr for MethodSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let mut settings = BTreeMap::new();
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(|| not_a_word(text))?;
            if settings.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(not_a_word(text));
            }
        }
        Self::new(name, settings).map_err(|_| not_a_word(text))
    }
}

impl Display for MethodSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

impl TryFrom<String> for MethodSpec {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<MethodSpec> for String {
    fn from(spec: MethodSpec) -> Self {
        spec.to_string()
    }
}
