//! Sweeps as plain data: methods, budgets, refinement blocks, pools and ablation switches, multiplied.

mod builtin;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use mico_engine::Setting;
use mico_engine::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::Budget;
use mico_util::input::read_regular;
use mico_util::text::{escaped, quoted};
use serde::Deserialize;

use crate::condition::Condition;
use crate::error::{Error, Result};

pub use builtin::BUILTIN_SWEEPS;
use builtin::builtin;

/// The most settings of a sweep: each is asked every item, and lists multiply.
const MAX_CONDITIONS: usize = 10_000;

/// A sweep as its file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The file, or the name of a built-in sweep, as errors call it.
    #[serde(skip)]
    pub name: String,
    /// What tables are headed with.
    pub title: String,
    /// A built-in suite to ask.
    #[serde(default)]
    pub suite: Option<String>,
    /// Benchmarks to ask; their files come from the command line.
    #[serde(default)]
    pub tasks: Vec<String>,
    /// The most items of each track.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Budgets of every entry that has none of its own.
    #[serde(default)]
    pub budgets: Vec<usize>,
    /// Whether the unpruned model is asked, too, as Rel needs it.
    #[serde(default = "yes")]
    pub unpruned: bool,
    /// Whether it is also asked about plain grey.
    #[serde(default)]
    pub blank: bool,
    /// The entries, each the product of its own lists.
    #[serde(default, rename = "setting")]
    pub entries: Vec<Entry>,
}

/// Settings that differ in nothing but the lists given here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What tables call it; block and pool are added where there are several.
    #[serde(default)]
    pub label: Option<String>,
    /// One pruner, with settings as `name:key=value`.
    #[serde(default)]
    pub method: Option<String>,
    /// Several pruners, each in the form of `method`; one of the two is given.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Budgets, in place of the sweep's.
    #[serde(default)]
    pub budgets: Vec<usize>,
    /// Refinement blocks, in place of the model's own.
    #[serde(default)]
    pub refine_layers: Option<Layers>,
    /// Stage-1 pools as multiples of the budget.
    #[serde(default)]
    pub pools: Vec<usize>,
    /// Switches of the engine, each entry `name=value`, separated by commas.
    #[serde(default)]
    pub switches: Vec<String>,
    /// Whether counts are the authors' own.
    #[serde(default)]
    pub authors: bool,
}

/// The refinement blocks of a sweep's entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Layers {
    /// Block numbers, from 1.
    Explicit(Vec<usize>),
    /// `"all"`: every block of the model that can be refined after.
    Word(String),
}

fn yes() -> bool {
    true
}

impl Sweep {
    /// A sweep that comes with the program, by its name, or one from a file.
    pub fn open(name: &str) -> Result<Self> {
        let text = match builtin(name) {
            Some(text) => text.to_owned(),
            None => read(name)?,
        };
        Self::parse(name, &text)
    }

    /// Reads a sweep's text.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |message: String| Error::Sweep { name: name.to_owned(), message };
        let mut sweep: Self = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            wrong(format!("line {line}: {}", escaped(error.message())))
        })?;
        name.clone_into(&mut sweep.name);
        if sweep.suite.is_some() != sweep.tasks.is_empty() {
            return Err(wrong("one of suite and tasks is needed".into()));
        }
        for (at, entry) in sweep.entries.iter().enumerate() {
            if entry.method.is_some() != entry.methods.is_empty() {
                let at = at + 1;
                return Err(wrong(format!("setting {at}: one of method and methods is needed")));
            }
            if entry.budgets.is_empty() && sweep.budgets.is_empty() {
                return Err(wrong(format!("setting {}: no budgets", at + 1)));
            }
            if entry.budgets.iter().chain(&sweep.budgets).any(|tokens| *tokens == 0) {
                let at = at + 1;
                return Err(wrong(format!(
                    "setting {at}: budget is 0, accepted: at least 1 token"
                )));
            }
            if let Some(Layers::Word(word)) = &entry.refine_layers
                && word != "all"
            {
                let at = at + 1;
                let message = format!(
                    "setting {at}: refine_layers '{}', accepted: numbers or \"all\"",
                    quoted(word)
                );
                return Err(wrong(message));
            }
        }
        Ok(sweep)
    }

    /// An error that names the sweep.
    pub(crate) fn wrong(&self, message: impl Into<String>) -> Error {
        Error::Sweep { name: self.name.clone(), message: message.into() }
    }

    /// Every condition, each once; `all` are the model's blocks that can be refined after, and `base` is
    /// what the run says of switches, limits and prompt style.
    pub fn conditions(&self, all: &[usize], base: &Setting) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        if self.unpruned {
            conditions.push(Condition::unpruned(base));
        }
        if self.blank {
            conditions.push(Condition::blank(base));
        }
        let counts = self.entries.iter().map(|entry| entry.count(&self.budgets, all));
        let count = counts.fold(0_usize, usize::saturating_add);
        if count > MAX_CONDITIONS {
            let accepted = format!("at most {MAX_CONDITIONS} settings of all entries together");
            return Err(Error::OutOfRange { what: "sweep of", found: count.to_string(), accepted });
        }
        let mut known: BTreeSet<String> = conditions.iter().map(Condition::key).collect();
        for (at, entry) in self.entries.iter().enumerate() {
            let named = |error: Error| self.wrong(format!("setting {}: {error}", at + 1));
            let listed = entry.conditions(&self.budgets, all, base).map_err(named)?;
            conditions.extend(listed.into_iter().filter(|one| known.insert(one.key())));
        }
        Ok(conditions)
    }
}

impl Entry {
    /// The number of settings in the product of everything listed.
    fn count(&self, budgets: &[usize], all: &[usize]) -> usize {
        let budgets = if self.budgets.is_empty() { budgets } else { &self.budgets };
        let layers = match &self.refine_layers {
            None => 1,
            Some(Layers::Explicit(layers)) => layers.len(),
            Some(Layers::Word(_)) => all.len(),
        };
        let methods = self.methods.len() + usize::from(self.method.is_some());
        let lists = [methods, layers, self.pools.len().max(1), self.switches.len().max(1)];
        lists.into_iter().fold(budgets.len(), usize::saturating_mul)
    }

    /// The product of everything listed.
    fn conditions(
        &self,
        budgets: &[usize],
        all: &[usize],
        base: &Setting,
    ) -> Result<Vec<Condition>> {
        let budgets = if self.budgets.is_empty() { budgets } else { &self.budgets };
        let layers: Vec<Option<usize>> = match &self.refine_layers {
            None => vec![None],
            Some(Layers::Explicit(layers)) => layers.iter().copied().map(Some).collect(),
            Some(Layers::Word(_)) => all.iter().copied().map(Some).collect(),
        };
        let pools: Vec<Option<usize>> = match self.pools.as_slice() {
            [] => vec![None],
            pools => pools.iter().copied().map(Some).collect(),
        };
        let mut conditions = Vec::new();
        for &tokens in budgets {
            for method in self.method.iter().chain(&self.methods) {
                let method = method.parse::<MethodSpec>().map_err(mico_engine::Error::from)?;
                let mut pruning = PruningSpec::new(method, Budget::Tokens(tokens));
                pruning.authors = self.authors;
                for &refine_layer in &layers {
                    for &pool in &pools {
                        (pruning.refine_layer, pruning.pool) = (refine_layer, pool);
                        let setting = base.with_pruning(Some(pruning.clone()));
                        conditions.extend(self.switched(&setting, base, layers.len())?);
                    }
                }
            }
        }
        Ok(conditions)
    }

    /// A setting under each of the entry's switches.
    fn switched(&self, setting: &Setting, base: &Setting, layers: usize) -> Result<Vec<Condition>> {
        let plain = [String::new()];
        let switches = if self.switches.is_empty() { &plain[..] } else { &self.switches };
        let condition = |words: &String| {
            let mut setting = setting.clone();
            setting.switches.set_all(words)?;
            // Methods and their settings are looked up here, while the entry they stand in is known.
            setting.options()?;
            let mut condition = Condition::of(setting, base);
            if let Some(label) = self.labeled(&condition, layers, words) {
                condition.label = label;
            }
            Ok(condition)
        };
        switches.iter().map(condition).collect()
    }

    /// The label with whatever differs between this entry's settings.
    fn labeled(&self, condition: &Condition, layers: usize, switches: &str) -> Option<String> {
        let (mut label, pruning) = (escaped(self.label.as_deref()?), condition.pruning()?);
        if self.methods.len() > 1 {
            let _ = write!(label, " {}", pruning.method);
        }
        if let (Some(layer), true) = (pruning.refine_layer, layers > 1) {
            let _ = write!(label, " K={layer}");
        }
        if let (Some(pool), true) = (pruning.pool, self.pools.len() > 1) {
            let _ = write!(label, " n={pool}");
        }
        if self.switches.len() > 1 {
            let _ = write!(label, " {switches}");
        }
        Some(label)
    }
}

/// A sweep's file is read up to this size: it is a page of text.
const MAX_BYTES: u64 = 1 << 20;

fn read(name: &str) -> Result<String> {
    let path = Path::new(name);
    let wrong = |message: String| Error::Sweep { name: name.to_owned(), message };
    let known: Vec<&str> = BUILTIN_SWEEPS.iter().map(|(name, _)| *name).collect();
    let bytes = read_regular(path, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            wrong(format!("{error}; accepted: a file, or one of {}", known.join(", ")))
        }
        _ => wrong(error.to_string()),
    })?;
    String::from_utf8(bytes).map_err(|_| wrong("is no UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_multiplied_and_nothing_is_asked_twice() {
        let text = r#"
            title = "t"
            suite = "tiny"
            budgets = [64, 32]
            [[setting]]
            label = "MiCo"
            method = "mico"
            refine_layers = "all"
            pools = [2, 3]
            [[setting]]
            methods = ["random", "mico"]
            budgets = [64]
            switches = ["position_mode=original", "position_mode=compact"]
            [[setting]]
            methods = ["random", "random"]
            budgets = [16]
        "#;
        let sweep = Sweep::parse("t", text).unwrap();
        let settings = sweep.conditions(&[1, 2, 3], &Setting::default()).unwrap();
        assert_eq!(settings.len(), 1 + 2 * 3 * 2 + 2 * 2 + 1);
        assert_eq!(settings[1].label, "MiCo K=1 n=2");
        assert_eq!(settings.last().unwrap().tokens(), Some(16));
    }

    #[test]
    fn a_page_of_lists_is_not_multiplied_into_millions() {
        let list: Vec<usize> = (1..300).collect();
        let text = format!(
            "title = \"t\"\nsuite = \"tiny\"\nbudgets = {list:?}\n[[setting]]\nmethod = \"mico\"\npools = {list:?}"
        );
        let error = Sweep::parse("t", &text).unwrap().conditions(&[], &Setting::default());
        let message = error.unwrap_err().to_string();
        assert_eq!(
            message,
            "sweep of 89401, accepted: at most 10000 settings of all entries together"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("title = 3\nsuite = \"tiny\"", "line 1"),
            ("title = \"t\"\nsuite = \"tiny\"\nspeed = 1", "speed"),
            ("title = \"t\"", "suite and tasks"),
            ("title = \"t\"\nsuite = \"tiny\"\n[[setting]]\nbudgets = [1]", "method"),
            ("title = \"t\"\nsuite = \"tiny\"\n[[setting]]\nmethod = \"mico\"", "budgets"),
            (
                "title = \"t\"\nsuite = \"tiny\"\nbudgets = [1]\n[[setting]]\nmethod = \"mico\"\nrefine_layers = \"some\"",
                "some",
            ),
        ];
        for (text, named) in cases {
            let message = Sweep::parse("f.toml", text).unwrap_err().to_string();
            assert!(message.contains(named) && message.contains("f.toml"), "{message}");
        }
        let settings = [
            ("method = \"nope\\u001b[31m\"", "'nope\\u{1b}[31m'"),
            ("method = \"mico:speed=1\"", "speed"),
            ("method = \"mico\"\nbudgets = [0]", "budget is 0"),
            ("method = \"mico\"\nswitches = [\"foo=1\"]", "foo"),
        ];
        for (setting, named) in settings {
            let text =
                format!("title = \"t\"\nsuite = \"tiny\"\nbudgets = [8]\n[[setting]]\n{setting}");
            let read = Sweep::parse("f.toml", &text);
            let error = read.and_then(|sweep| sweep.conditions(&[1], &Setting::default()));
            let message = error.unwrap_err().to_string();
            assert!(message.starts_with("f.toml: setting 1: "), "{message}");
            assert!(message.contains(named), "{message}");
        }
        assert!(Sweep::open("no-such").unwrap_err().to_string().contains("components"));
    }
}
