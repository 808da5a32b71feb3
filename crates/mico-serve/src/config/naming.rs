//! Names, profiles and the meaning of `detail` as flags write them.

use mico_select::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::Budget;
use mico_util::text::quoted;

use super::flags::NamingFlags;
use crate::names::{DetailMeaning, Names};
use crate::wire::{DEFAULT_METHOD, Detail, Wanted};

/// The names that are served, and what they imply.
pub(super) fn names(
    flags: &NamingFlags,
    model: &str,
    pruning: Option<PruningSpec>,
) -> Result<Names, String> {
    let given = &flags.served_model_name;
    let mut names = Names::of(plain_name(model));
    if !given.is_empty() {
        names.served.clone_from(given);
    }
    for name in &names.served {
        Names::check_name(name).map_err(|why| format!("--served-model-name: {why}"))?;
    }
    for profile in &flags.profile {
        let (name, wanted) = self::profile(profile)?;
        if names.profiles.insert(name, wanted).is_some() {
            return Err(format!("--profile '{}' is given twice", quoted(profile)));
        }
    }
    for detail in &flags.detail {
        let (word, meaning) = self::detail(detail)?;
        if names.detail.insert(word, meaning).is_some() {
            return Err(format!("--detail '{}' is given twice", quoted(detail)));
        }
    }
    names.any_model = flags.any_model;
    names.default = pruning.map_or(Wanted::Unsaid, Wanted::Pruned);
    names.bounds = (flags.min_budget, flags.max_budget);
    match names.bounds {
        (Some(least), Some(most)) if least > most => {
            Err(format!("--min-budget {least} is above --max-budget {most}"))
        }
        (_, Some(most)) if names.default == Wanted::Unsaid => {
            Err(format!("--max-budget {most} needs a default: --budget T or --keep R"))
        }
        _ => Ok(names),
    }
}

/// A model's folder or hub id as a name that clients can write.
fn plain_name(model: &str) -> String {
    let model = model.split('@').next().unwrap_or(model).trim_end_matches('/');
    let name = model.rsplit('/').next().unwrap_or(model);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    if name.is_empty() { "model".to_owned() } else { name }
}

/// `fast=budget:64,method:mico`.
fn profile(text: &str) -> Result<(String, Wanted), String> {
    let accepted =
        "NAME=budget:64 or NAME=keep:0.25 or NAME=off, then method:, pool:, refine_layer:";
    let refused = || format!("--profile '{}', accepted: {accepted}", quoted(text));
    let (name, spec) = text.split_once('=').ok_or_else(refused)?;
    let numeric = name.chars().next().is_none_or(|c| c.is_ascii_digit() || c == '.');
    if numeric || name == "none" || name.contains(':') || Names::check_name(name).is_err() {
        return Err(refused());
    }
    if spec == "off" {
        return Ok((name.to_owned(), Wanted::Off));
    }
    let (mut budget, mut method, mut pool, mut refine_layer) = (None, DEFAULT_METHOD, None, None);
    for word in spec.split(',') {
        let (key, value) = word.split_once(':').ok_or_else(refused)?;
        let number = || value.parse::<usize>().map_err(|_| refused());
        match key {
            "budget" => budget = Some(Budget::Tokens(number()?)),
            "keep" => budget = Some(Budget::Share(value.parse().map_err(|_| refused())?)),
            "method" => method = value,
            "pool" => pool = Some(number()?),
            "refine_layer" => refine_layer = Some(number()?),
            _ => return Err(refused()),
        }
    }
    let failed = |error: mico_select::Error| format!("--profile '{}': {error}", quoted(text));
    let method = method.parse::<MethodSpec>().map_err(failed)?;
    let mut spec = PruningSpec::new(method, budget.ok_or_else(refused)?);
    (spec.pool, spec.refine_layer) = (pool, refine_layer);
    spec.build().map_err(failed)?;
    Ok((name.to_owned(), Wanted::Pruned(spec)))
}

/// `low=64`.
fn detail(text: &str) -> Result<(Detail, DetailMeaning), String> {
    let accepted = "auto, low, high or original, = and default, none or a number of tokens";
    let refused = || format!("--detail '{}', accepted: {accepted}", quoted(text));
    let (word, meaning) = text.split_once('=').ok_or_else(refused)?;
    let meaning = match meaning {
        "default" => DetailMeaning::Default,
        "none" => DetailMeaning::Unpruned,
        tokens => match tokens.parse() {
            Ok(tokens) if tokens > 0 => DetailMeaning::Tokens(tokens),
            _ => return Err(refused()),
        },
    };
    Ok((Detail::named(word).ok_or_else(refused)?, meaning))
}
