//! The configuration file. Its keys are the names of flags, and what it says becomes flags: those that neither the
//! command line nor a variable gives. So one parser checks all values, and the precedence is in one place.

use std::ffi::OsString;
use std::fmt;

use clap::{ArgAction, ArgMatches, Command, parser::ValueSource};
use mico_util::text::quoted;

/// Largest configuration file.
const MAX_FILE: u64 = 1 << 20;
/// Flags whose values are not shown.
const SECRET: [&str; 1] = ["api_key"];
/// Flags that a file cannot give: they say what to do, not how.
const NOT_IN_FILES: [&str; 4] = ["config", "print-config", "check", "help"];

/// The flags that a file adds to a command line, and where each setting comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Further arguments.
    pub arguments: Vec<OsString>,
    /// The names of the flags they give.
    from_file: Vec<String>,
}

/// One setting with its value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: String,
    value: String,
    source: &'static str,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}  # {}", self.name, self.value, self.source)
    }
}

/// Reads a file. `said` are the matches without it, from the command line and variables.
pub fn merged(
    path: &std::path::Path,
    command: &Command,
    said: &ArgMatches,
) -> Result<Merged, String> {
    let failed = |why: &dyn fmt::Display| format!("--config {}: {why}", path.display());
    let about = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if about.len() > MAX_FILE {
        return Err(failed(&"accepted: a file of at most 1 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        failed(&error.to_string().lines().collect::<Vec<_>>().join(" "))
    })?;
    let mut merged = Merged::default();
    for (key, value) in &table {
        merged.add(key, value, command, said).map_err(|why| failed(&why))?;
    }
    Ok(merged)
}

impl Merged {
    fn add(
        &mut self,
        key: &str,
        value: &toml::Value,
        command: &Command,
        said: &ArgMatches,
    ) -> Result<(), String> {
        let name = key.replace('_', "-");
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name.as_str()));
        let Some(arg) = arg.filter(|_| !NOT_IN_FILES.contains(&name.as_str())) else {
            return Err(format!("unknown key '{}'", quoted(key)));
        };
        let source = said.value_source(arg.get_id().as_str());
        if matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
            return Ok(());
        }
        let switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let values = match value {
            toml::Value::Boolean(on) if switch => {
                if *on {
                    self.arguments.push(format!("--{name}").into());
                    self.from_file.push(name);
                }
                return Ok(());
            }
            _ if switch => return Err(format!("{key} is true or false")),
            toml::Value::Array(values) => {
                values.iter().map(|value| plain(key, value)).collect::<Result<_, _>>()?
            }
            toml::Value::Table(table) => entries(&name, table)?,
            value => vec![plain(key, value)?],
        };
        self.arguments.extend(values.into_iter().map(|value| format!("--{name}={value}").into()));
        self.from_file.push(name);
        Ok(())
    }

    /// Every setting of a command with its value and source, secrets hidden.
    pub fn settings(&self, command: &Command, matches: &ArgMatches) -> Vec<Setting> {
        let shown = command.get_arguments().filter_map(|arg| {
            let (id, name) = (arg.get_id().as_str(), arg.get_long()?);
            if NOT_IN_FILES.contains(&name) || name == "version" {
                return None;
            }
            let source = match matches.value_source(id) {
                Some(ValueSource::CommandLine) if self.from_file.iter().any(|own| own == name) => {
                    "file"
                }
                Some(ValueSource::CommandLine) => "flag",
                Some(ValueSource::EnvVariable) => "environment",
                _ => "default",
            };
            let raw = matches.get_raw(id).into_iter().flatten();
            let values: Vec<String> =
                raw.map(|value| value.to_string_lossy().into_owned()).collect();
            let value = match values.as_slice() {
                _ if SECRET.contains(&id) && !values.is_empty() => "***".to_owned(),
                [] => "unset".to_owned(),
                [one] => one.clone(),
                several => several.join(","),
            };
            Some(Setting { name: name.to_owned(), value, source })
        });
        shown.collect()
    }
}

/// A value as the command line writes it.
fn plain(key: &str, value: &toml::Value) -> Result<String, String> {
    Ok(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        _ => return Err(format!("{key} is a text, a number, or a list of them")),
    })
}

/// `[profile.fast]` and `[detail]`, and whatever else the command line writes as NAME=VALUE.
fn entries(name: &str, table: &toml::Table) -> Result<Vec<String>, String> {
    let write = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::Table(inner) => {
            let words = inner.iter().map(|(word, value)| match value {
                toml::Value::Boolean(true) => Ok(word.clone()),
                value => Ok(format!("{word}:{}", plain(word, value)?)),
            });
            let words = words.collect::<Result<Vec<_>, String>>()?;
            Ok(format!("{key}={}", words.join(",")))
        }
        value => Ok(format!("{key}={}", plain(name, value)?)),
    };
    table.iter().map(write).collect()
}
