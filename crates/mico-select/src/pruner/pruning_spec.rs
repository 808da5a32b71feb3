//! The textual form of a pruning: a method, a budget, and overrides of the method's own counts.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Refinement;
use super::pruning::Pruning;
use super::quotas::check_budget;
use super::spec::MethodSpec;
use crate::error::{Error, Result};
use crate::schedule::{Budget, DEFAULT_POOL};

/// A pruned run as text: `mico:idle=random T=64 K=7 n=3 authors`.
///
/// The first word is the method; `T=64` or `keep=0.25` is the budget; `K` overrides the refinement block
/// and `n` the pool; `authors` selects the token counts published by the method's authors.
///
/// ```
/// use mico_select::pruner::PruningSpec;
/// let spec: PruningSpec = "mico T=64 K=7".parse()?;
/// assert_eq!((spec.refine_layer, spec.to_string().as_str()), (Some(7), "mico T=64 K=7"));
/// assert_eq!(spec.build()?.pruner.name(), "mico");
/// # Ok::<(), mico_select::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PruningSpec {
    /// The method with its settings.
    pub method: MethodSpec,
    /// The layer-average number of tokens per image, or per frame of a video.
    pub budget: Budget,
    /// Refinement block K, counted from 1; `None` for the model's or the method's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refine_layer: Option<usize>,
    /// Size of the Stage-1 pool as a multiple of the budget; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<usize>,
    /// Whether to use the token counts the method's authors publish for that budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub authors: bool,
}

impl PruningSpec {
    /// A method at a budget, with nothing overridden.
    pub fn new(method: MethodSpec, budget: Budget) -> Self {
        Self { method, budget, refine_layer: None, pool: None, authors: false }
    }

    /// Whether `word` belongs to a pruning's text (`T=`, `keep=`, `K=`, `n=` or `authors`).
    pub fn is_word(word: &str) -> bool {
        word == AUTHORS
            || word
                .split_once('=')
                .is_some_and(|(key, _)| [TOKENS, KEEP, LAYER, POOL].contains(&key))
    }

    /// Builds the pruning. An error if the method is unknown or lacks what is overridden.
    pub fn build(&self) -> Result<Pruning> {
        let pruner = self.method.build()?;
        let name = pruner.name();
        if !pruner.prunes() {
            let accepted = format!("none, {name} prunes nothing");
            return Err(Error::range("budget", BudgetWord(self.budget), accepted));
        }
        check_budget(self.budget)?;
        let refinement = pruner.refinement();
        if let (Some(block), Refinement::None) = (self.refine_layer, refinement) {
            let accepted = format!("none, {name} drops nothing inside the decoder");
            return Err(Error::range("refine-layer", block, accepted));
        }
        if let Some(pool) = self.pool.filter(|_| refinement != Refinement::Model) {
            return Err(Error::range("pool", pool, format!("none, {name} has no pool")));
        }
        let mut pruning = Pruning::new(pruner, self.budget);
        pruning.refine_layer = self.refine_layer;
        pruning.pool = self.pool.unwrap_or(DEFAULT_POOL);
        pruning.authors = self.authors;
        Ok(pruning)
    }
}

const TOKENS: &str = "T";
const KEEP: &str = "keep";
const LAYER: &str = "K";
const POOL: &str = "n";
const AUTHORS: &str = "authors";

/// Displays a budget as in the text: `T=64` or `keep=0.25`.
struct BudgetWord(Budget);

impl Display for BudgetWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Budget::Tokens(tokens) => write!(f, "{TOKENS}={tokens}"),
            Budget::Share(share) => write!(f, "{KEEP}={share}"),
        }
    }
}

impl Display for PruningSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, BudgetWord(self.budget))?;
        if let Some(block) = self.refine_layer {
            write!(f, " {LAYER}={block}")?;
        }
        if let Some(pool) = self.pool {
            write!(f, " {POOL}={pool}")?;
        }
        if self.authors {
            write!(f, " {AUTHORS}")?;
        }
        Ok(())
    }
}

impl FromStr for PruningSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split_whitespace();
        let method = words.next().filter(|word| !Self::is_word(word));
        let method = method.ok_or_else(|| wrong(text, "a method first"))?.parse()?;
        let mut read = Words::default();
        for word in words {
            read.take(word)?;
        }
        let budget = read.budget.ok_or_else(|| wrong(text, "a budget: T=TOKENS or keep=SHARE"))?;
        let Words { refine_layer, pool, authors, .. } = read;
        Ok(Self { method, budget, refine_layer, pool, authors: authors.is_some() })
    }
}

/// The words after the method, as parsed so far.
#[derive(Default)]
struct Words {
    budget: Option<Budget>,
    refine_layer: Option<usize>,
    pool: Option<usize>,
    authors: Option<()>,
}

impl Words {
    fn take(&mut self, word: &str) -> Result<()> {
        let once = |free: bool| if free { Ok(()) } else { Err(wrong(word, "each word once")) };
        match word.split_once('=') {
            Some((TOKENS, value)) => {
                once(self.budget.replace(Budget::Tokens(number(word, value)?)).is_none())
            }
            Some((KEEP, value)) => {
                let share = number(word, value)?;
                if !f64::is_finite(share) {
                    return Err(wrong(word, "a number behind the ="));
                }
                once(self.budget.replace(Budget::Share(share)).is_none())
            }
            Some((LAYER, value)) => once(self.refine_layer.replace(number(word, value)?).is_none()),
            Some((POOL, value)) => once(self.pool.replace(number(word, value)?).is_none()),
            None if word == AUTHORS => once(self.authors.replace(()).is_none()),
            _ => Err(wrong(word, "T=TOKENS or keep=SHARE, K=BLOCK, n=MULTIPLE, authors")),
        }
    }
}

fn number<T: FromStr>(word: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| wrong(word, "a number behind the ="))
}

fn wrong(word: &str, accepted: &str) -> Error {
    Error::range("pruning", format!("'{word}'"), accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_are_the_same_thing() {
        for text in [
            "mico T=64",
            "mico:idle=random T=64 K=7 n=3 authors",
            "fastv keep=0.25 K=3",
            "divprune keep=0.1111111111111111 authors",
        ] {
            let spec: PruningSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<PruningSpec>(&json).unwrap(), spec, "{json}");
            spec.build().unwrap();
        }
        let any_order: PruningSpec = "mico  authors n=3 T=64".parse().unwrap();
        assert_eq!(any_order.to_string(), "mico T=64 n=3 authors");
        let json = serde_json::to_value(&any_order).unwrap();
        let expected = serde_json::json!({
            "method": "mico", "budget": { "tokens": 64 }, "pool": 3, "authors": true
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn words_that_are_unknown_repeated_or_missing_are_named() {
        for (text, named) in [
            ("", "a method first"),
            ("T=64", "'T=64'"),
            ("mico", "a budget"),
            ("mico K=7", "a budget"),
            ("mico T=64 T=32", "'T=32', accepted: each word once"),
            ("mico T=64 keep=0.5", "'keep=0.5', accepted: each word once"),
            ("mico T=64 authors authors", "'authors', accepted: each word once"),
            ("mico T=64 K=7 K=7", "'K=7'"),
            ("mico T=64 fast", "'fast'"),
            ("mico T=64 pool=3", "'pool=3'"),
            ("mico T=-1", "'T=-1'"),
            ("mico T=64 K=seven", "'K=seven'"),
            ("mico: T=64", "'mico:'"),
        ] {
            let error = text.parse::<PruningSpec>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
        for (word, own) in [("K=7", true), ("authors", true), ("position_mode=compact", false)] {
            assert_eq!(PruningSpec::is_word(word), own, "{word}");
        }
        assert!(
            serde_json::from_str::<PruningSpec>(r#"{"method":"mico","budget":{"tokens":1},"k":1}"#)
                .is_err()
        );
    }

    #[test]
    fn what_a_method_does_not_have_is_refused() {
        for (text, named) in [
            ("divprune T=64 K=7", "divprune drops nothing inside the decoder"),
            ("fastv T=64 n=3", "fastv has no pool"),
            ("mico-s1 T=64 n=3", "mico-s1 has no pool"),
            ("sparsevlm T=64 n=3", "sparsevlm has no pool"),
            ("none T=64", "budget is T=64, accepted: none, none prunes nothing"),
            ("mico T=0", "budget is 0"),
            ("mico keep=1.5", "keep is 1.5"),
            ("nosuch T=64", "unknown method 'nosuch'"),
            ("mico:speed=1 T=64", "no setting 'speed'"),
        ] {
            let error = text.parse::<PruningSpec>().unwrap().build().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
        let error = "mico keep=NaN".parse::<PruningSpec>().unwrap_err().to_string();
        assert!(error.contains("keep=NaN"), "{error}");
        let pruning = "mico T=64 n=3 authors".parse::<PruningSpec>().unwrap().build().unwrap();
        assert_eq!((pruning.pool, pruning.authors, pruning.refine_layer), (3, true, None));
        let own = "mico T=64".parse::<PruningSpec>().unwrap().build().unwrap();
        assert_eq!(own.pool, DEFAULT_POOL);
    }
}
