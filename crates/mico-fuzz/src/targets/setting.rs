//! Settings in words, sweeps in TOML, and the names of models.

use mico_engine::Setting;
use mico_eval::{Shard, Sweep};
use mico_hub::ModelRef;

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "setting",
    about: "settings in words, sweep files, parts of a run and names of models",
    run,
    tokens: &[
        "unpruned",
        "mico",
        "mico T=64",
        "fastv",
        "vispruner:ratio=0.5",
        "random:seed=7",
        "T=",
        "keep=",
        "K=",
        "n=",
        "authors",
        "position_mode=compact",
        "relevance=visual_only",
        "resize_backend=torch",
        "min_pixels=",
        "max_pixels=",
        "max_tiles=",
        "style=vicuna",
        "title = ",
        "suite = \"tiny\"",
        "tasks = [",
        "limit = ",
        "budgets = [64, 32]",
        "[[setting]]\n",
        "label = ",
        "method = ",
        "methods = [",
        "refine_layers = \"all\"",
        "pools = [2, 3]",
        "switches = [",
        "authors = true",
        "unpruned = false",
        "blank = true",
        "1/4",
        "org/name",
        "@main",
        "\n",
        " ",
        "=",
        ":",
        ",",
        "18446744073709551615",
        "1e-9",
        "inf",
        "0.25",
    ],
    short_run: 4000,
};

/// The most conditions of a sweep that are written down and read again.
const CONDITIONS: usize = 64;

fn run(data: &[u8], seen: &mut Seen) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(setting) = seen.result("setting", text.parse::<Setting>()) {
        round_trip(&setting, seen);
    }
    if let Some(shard) = seen.result("shard", text.parse::<Shard>()) {
        assert_eq!(shard.to_string().parse::<Shard>().ok(), Some(shard));
    }
    if let Some(ModelRef::Hub(id)) = seen.result("model", ModelRef::parse(text)) {
        assert!(!id.repo().contains("..") && id.repo().matches('/').count() == 1, "{id:?}");
    }
    if let Ok(setting) = serde_json::from_str::<Setting>(text) {
        round_trip(&setting, seen);
    }
    let Some(sweep) = seen.result("sweep", Sweep::parse("sweep.toml", text)) else { return };
    let conditions = sweep.conditions(&[1, 2, 3], &Setting::default());
    let Some(conditions) = seen.result("conditions", conditions) else { return };
    seen.accepted(format_args!("2^{} conditions", conditions.len().checked_ilog2().unwrap_or(0)));
    for condition in conditions.iter().take(CONDITIONS) {
        assert!(!condition.key().is_empty());
        assert_eq!(condition.key().parse::<Setting>().is_ok(), !condition.key().contains("blank"));
    }
}

/// A setting is the same after it was written down, in words and in JSON; its options are made or refused.
fn round_trip(setting: &Setting, seen: &mut Seen) {
    let words = setting.to_string();
    assert_eq!(words.parse::<Setting>().ok().as_ref(), Some(setting), "{words}");
    let json = serde_json::to_string(setting).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert_eq!(serde_json::from_str::<Setting>(&json).ok().as_ref(), Some(setting), "{json}");
    let _ = seen.result("options", setting.options());
}
