//! What is compared: the unpruned model, and every method at every budget.

use std::collections::BTreeMap;

use mico_engine::pruner::{Pruning, by_name};
use mico_select::Settings;
use mico_select::schedule::Budget;

use super::args::BenchArgs;
use crate::failure::Failure;

/// Budgets unless said otherwise: the paper's 128, 64 and 32 of LLaVA-1.5's 576 tokens, and 640, 320
/// and 160 of LLaVA-NeXT's 2,880.
const SHARES: [f64; 3] = [2.0 / 9.0, 1.0 / 9.0, 1.0 / 18.0];
/// The name of the setting that prunes nothing.
const NONE: &str = "none";

/// One thing to measure.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) method: &'static str,
    /// The method with the settings it was given, as `name:key=value`.
    pub(super) name: String,
    pub(super) pruning: Pruning,
}

impl Setting {
    pub(super) fn prunes(&self) -> bool {
        self.pruning.pruner.prunes()
    }

    /// Everything that sets it apart from other settings of a bench.
    pub(super) fn key(&self) -> String {
        if !self.prunes() {
            return self.name.clone();
        }
        let budget = match self.pruning.budget {
            Budget::Tokens(tokens) => format!("T={tokens}"),
            Budget::Share(share) => format!("R={share}"),
        };
        let layer = self.pruning.refine_layer.map_or("own".to_owned(), |layer| layer.to_string());
        format!("{} {budget} K={layer} pool={}", self.name, self.pruning.pool)
    }

    /// Its budget in words, before anybody knows how many tokens a share comes to.
    pub(super) fn label(&self) -> String {
        match self.pruning.budget {
            _ if !self.prunes() => "unpruned".to_owned(),
            Budget::Tokens(tokens) => format!("{} T={tokens}", self.name),
            Budget::Share(share) => format!("{} R={share:.3}", self.name),
        }
    }
}

/// The settings of a call, the unpruned one first and none twice.
pub(super) fn settings(args: &BenchArgs) -> Result<Vec<Setting>, Failure> {
    let unpruned = Setting { method: NONE, name: NONE.to_owned(), pruning: Pruning::off() };
    let mut all = vec![unpruned];
    if args.no_prune {
        return Ok(all);
    }
    let tokens = args.budget.iter().map(|&tokens| Budget::Tokens(tokens));
    let shares = args.keep.iter().map(|&share| Budget::Share(share));
    let mut budgets: Vec<Budget> = tokens.chain(shares).collect();
    if budgets.is_empty() {
        budgets.extend(SHARES.map(Budget::Share));
    }
    for text in &args.method {
        let (word, given) = parse(text)?;
        let mut name = word.to_owned();
        given.iter().for_each(|(key, value)| name.extend([":", key, "=", value]));
        let pruner = by_name(word, Settings::new(given))?;
        if !pruner.prunes() {
            continue;
        }
        for &budget in &budgets {
            // A budget that can never be right is told before a model is loaded.
            budget.tokens(1).map_err(|error| Failure::misused(error.to_string()))?;
            let pruning = Pruning {
                refine_layer: args.refine_layer,
                pool: args.pool,
                ..Pruning::new(pruner.clone(), budget)
            };
            let setting = Setting { method: pruner.name(), name: name.clone(), pruning };
            if all.iter().all(|other| other.key() != setting.key()) {
                all.push(setting);
            }
        }
    }
    Ok(all)
}

/// Splits `name:key=value:key=value`; keys are put in order.
fn parse(text: &str) -> Result<(&str, BTreeMap<String, String>), Failure> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut given = BTreeMap::new();
    for part in parts {
        let pair = part.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let Some((key, value)) = pair else {
            let message = format!("--method '{text}', accepted: NAME or NAME:KEY=VALUE:KEY=VALUE");
            return Err(Failure::misused(message));
        };
        if given.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::misused(format!("--method '{text}' gives '{key}' twice")));
        }
    }
    Ok((name, given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_carry_settings() {
        let (name, given) = parse("fastv:layer=1:a=b").unwrap();
        assert_eq!(name, "fastv");
        let given: Vec<(&str, &str)> =
            given.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(given, [("a", "b"), ("layer", "1")]);
        assert_eq!(parse("mico").unwrap().0, "mico");
        for wrong in ["mico:", "mico:a", "mico:a=", "mico:=b", "mico:a=1:a=2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
