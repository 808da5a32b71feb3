//! Published methods inside the engine choose what their selectors choose from the dumped signals, on
//! every family, before the decoder and inside it; and their positions are their authors'.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_engine::pruner::Pruning;
use mico_engine::{Dump, Outcome};
use mico_select::methods::{pruner_by_name, pruners, selector_by_name};
use mico_select::schedule::Budget;
use mico_select::{Inputs, Matrix, Options, Selection, Settings, Signal, select};
use support::{Case, dumped_positions, stage2, weights};

/// A tensor of a dump as rows.
struct Rows {
    values: Vec<f32>,
    count: usize,
    width: usize,
}

impl Rows {
    fn of(dump: &Dump, name: &str) -> Self {
        let tensor = dump.get(name).unwrap_or_else(|| panic!("no {name}"));
        let (count, width) = match tensor.dims() {
            [count] => (*count, 1),
            [count, width] => (*count, *width),
            other => panic!("{name} is {other:?}"),
        };
        let values = tensor.flatten_all().unwrap().to_vec1().unwrap();
        Self { values, count, width }
    }

    fn matrix(&self) -> Matrix<'_> {
        Matrix::from_f32(&self.values, self.count, self.width).unwrap()
    }
}

/// Runs a selector on dumped tensors, by the names it knows them by.
fn pick(
    dump: &Dump,
    tensors: &[(Signal, &str)],
    method: (&str, &[(&str, String)]),
    budget: usize,
    groups: Option<&[i64]>,
) -> Selection {
    let rows: Vec<(Signal, Rows)> =
        tensors.iter().map(|&(tensor, name)| (tensor, Rows::of(dump, name))).collect();
    let mut inputs = Inputs::new();
    for (tensor, rows) in &rows {
        inputs = inputs.with(*tensor, rows.matrix());
    }
    if let Some(groups) = groups {
        inputs = inputs.with_groups(groups);
    }
    let settings = method.1.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    let selector = selector_by_name(method.0, Settings::new(settings)).unwrap();
    select(selector.as_ref(), &inputs, budget, &Options::default()).unwrap()
}

fn pruning(method: &str, tokens: usize) -> Pruning {
    Pruning::new(pruner_by_name(method, Settings::default()).unwrap(), Budget::Tokens(tokens))
}

/// The first image's request of a case under a method, if the model and budget admit it.
fn run(case: &Case, method: &str, tokens: usize) -> Option<Outcome> {
    let mut request = case.request(&case.runs("unpruned")[0]);
    request.options.pruning = pruning(method, tokens);
    request.turn.generation.max_new_tokens = 2;
    case.engine.run(&request, &mut ()).ok()
}

const TOWER: (Signal, &str) = (Signal::Features, "stage1.features");
const EMBEDDED: (Signal, &str) = (Signal::Features, "visual_embeds");
const DEEP: (Signal, &str) = (Signal::Reliability, "stage1.reliability");

#[test]
fn choices_before_the_decoder_are_those_of_the_selectors() {
    let mut compared = 0;
    for &name in weights() {
        let case = Case::load(name);
        let (family, traits) = (case.engine.family().name(), case.engine.family().traits());
        let (qwen, per_frame) = (traits.native_resolution, case.engine.schedule().per_frame);
        let in_tower = traits.projects_tokens;
        for tokens in [3, 6, 8] {
            for method in
                ["divprune", "vispruner", "scope", "holov", "visionzip", "mmtok", "vscan", "apet"]
            {
                let Some(outcome) = run(&case, method, tokens) else { continue };
                let layout = &outcome.images[0].layout;
                let unit = layout.len() / if per_frame { layout.groups().len() } else { 1 };
                let frames = if per_frame { layout.groups().len() } else { 1 };
                let whole = tokens >= unit;
                if whole || outcome.images.len() > 1 {
                    continue;
                }
                let groups: Vec<i64> = (0..layout.len())
                    .map(|token| i64::try_from(layout.group_of(token).unwrap()).unwrap())
                    .collect();
                let together = matches!(method, "divprune" | "holov") && !per_frame;
                let columns = layout.groups()[0].columns;
                let three_halves = mico_select::round_ratio(3 * tokens as i128, 2) as usize;
                let budget = match method {
                    "vscan" | "apet" => three_halves,
                    _ => tokens,
                };
                let tensors: Vec<(Signal, &str)> = match method {
                    "divprune" => vec![EMBEDDED],
                    "vispruner" | "scope" => vec![TOWER, DEEP],
                    "holov" => vec![EMBEDDED, DEEP],
                    "visionzip" => vec![DEEP, (Signal::Keys, "stage1.keys")],
                    "mmtok" => vec![
                        TOWER,
                        (Signal::Projected, "visual_embeds"),
                        (Signal::Text, "stage1.text"),
                    ],
                    "vscan" => vec![
                        EMBEDDED,
                        DEEP,
                        (Signal::ReliabilityShallow, "stage1.reliability_shallow"),
                    ],
                    _ if in_tower => vec![TOWER],
                    _ => vec![EMBEDDED],
                };
                let settings: Vec<(&str, String)> = match method {
                    "holov" if qwen => {
                        let runs = (1024 * layout.len() / (576 * tokens)).max(1);
                        vec![("runs", runs.to_string())]
                    }
                    "mmtok" if qwen => vec![("tau_t", "0.01".into())],
                    "vscan" if qwen => vec![
                        ("window", "4".into()),
                        ("local", "cap".into()),
                        ("columns", columns.to_string()),
                    ],
                    "apet" if qwen => vec![("blend", "0.5".into())],
                    _ => Vec::new(),
                };
                // A padded image's empty patches are taken last; these images have none.
                let padded = (0..layout.len()).any(|token| layout.region(token).is_empty());
                if method == "mmtok" && traits.pads_to_square && padded {
                    continue;
                }
                let dump = outcome.tensors.as_ref().unwrap();
                let own = (!together).then_some(groups.as_slice());
                let mut options_budget = budget * frames;
                if family == "internvl" && !together {
                    // Tiles divide the budget with the remainder to the first of them.
                    options_budget = budget - budget % layout.groups().len();
                    if options_budget != budget {
                        continue;
                    }
                }
                let picked = pick(dump, &tensors, (method, &settings), options_budget, own);
                let kept = &outcome.stage1.as_ref().unwrap().kept;
                assert_eq!(kept, &picked.kept, "{name} {method} {tokens}");
                let mut merged: Vec<(usize, Vec<usize>)> =
                    picked.merges.iter().map(|m| (m.target, m.sources.clone())).collect();
                let mut found = outcome.merged.clone();
                if outcome.cuts.is_empty() || method != "apet" {
                    merged.sort();
                    found.sort();
                    assert_eq!(found, merged, "{name} {method} {tokens}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn choices_inside_the_decoder_are_those_of_the_selectors() {
    let mut compared = std::collections::BTreeMap::<&str, usize>::new();
    for &name in weights() {
        let case = Case::load(name);
        let qwen = case.engine.family().traits().native_resolution;
        for tokens in [6, 9, 12, 14] {
            for method in ["fastv", "sparsevlm", "vscan", "apet", "pyramiddrop", "dart", "mico"] {
                let Some(outcome) = run(&case, method, tokens) else { continue };
                let Some(cut) = outcome.cuts.first().filter(|_| outcome.images.len() == 1) else {
                    continue;
                };
                let before: Vec<usize> = match &outcome.stage1 {
                    Some(stage1) => stage1.kept.clone(),
                    None => (0..outcome.usage.visual_tokens).collect(),
                };
                // What the first cut saw is by the name of its block where there are several.
                let several = outcome.cuts.len() > 1;
                let place = if several { format!("cut{}", cut.block) } else { "stage2".to_owned() };
                let kept = &cut.kept;
                if kept.len() == before.len() {
                    continue;
                }
                let layout = [outcome.images[0].layout.as_ref()];
                let options = pruning(method, tokens).into();
                assert_eq!(outcome.plan, case.engine.plan(&options, &layout).unwrap());
                let name_of = |signal: &str| format!("{place}.{signal}");
                let signals: &[(Signal, &str)] = match method {
                    "fastv" | "vscan" | "pyramiddrop" => &[(Signal::Relevance, "relevance")],
                    "apet" => &[(Signal::Features, "features")],
                    "dart" => &[
                        (Signal::Features, "features"),
                        (Signal::Text, "text"),
                        (Signal::Keys, "keys"),
                        (Signal::TextKeys, "text_keys"),
                    ],
                    _ => &[(Signal::Features, "features"), (Signal::Relevance, "relevance")],
                };
                let names: Vec<String> = signals.iter().map(|(_, name)| name_of(name)).collect();
                let tensors: Vec<(Signal, &str)> =
                    signals.iter().zip(&names).map(|((t, _), name)| (*t, name.as_str())).collect();
                let settings: Vec<(&str, String)> = match method {
                    "apet" if qwen => vec![
                        ("slots", "error".into()),
                        ("blend", "0.5".into()),
                        ("ridge", "0.1".into()),
                    ],
                    "apet" => vec![("slots", "error".into())],
                    _ => Vec::new(),
                };
                let selector = if method == "vscan" { "fastv" } else { method };
                let dump = outcome.tensors.as_ref().unwrap();
                let picked =
                    pick(dump, &tensors, (selector, &settings), outcome.plan.cuts[0].ask, None);
                let picked: Vec<usize> = picked.kept.iter().map(|&place| before[place]).collect();
                assert_eq!(kept, &picked, "{name} {method} {tokens}");
                *compared.entry(method).or_default() += 1;
            }
        }
    }
    assert!(compared.len() == 7 && compared.values().all(|&count| count >= 5), "{compared:?}");
}

/// Renumbered where the authors renumber, which nobody does where positions have three axes.
#[test]
fn positions_are_those_of_the_authors() {
    for &name in weights() {
        let case = Case::load(name);
        let original = |outcome: &Outcome| {
            let gaps = outcome
                .stage1
                .as_ref()
                .is_some_and(|stage1| stage1.kept.len() < outcome.usage.visual_tokens);
            let ids = &dumped_positions(outcome)[0];
            !gaps || !ids.windows(2).all(|pair| pair[1] == pair[0] + 1)
        };
        let spatial = case.engine.model().config().decoder.rope.axes.is_spatial();
        for method in pruners() {
            let Some(outcome) = run(&case, method.name, 5) else { continue };
            let keeps =
                matches!(method.name, "mico" | "mico-s1" | "random" | "none" | "fastv" | "dart");
            if keeps || spatial {
                assert!(original(&outcome) || spatial, "{name} {}", method.name);
            } else if outcome.stage1.is_some() {
                let ids = &dumped_positions(&outcome)[0];
                let expected: Vec<i64> = (0..).take(ids.len()).collect();
                assert_eq!(ids, &expected, "{name} {}", method.name);
            }
        }
    }
}

#[test]
fn a_stage_without_components_keeps_the_first_or_draws() {
    let case = Case::load(weights()[0]);
    let kept = |extra: &[(&str, &str)]| {
        let off = [
            ("reliability", "one"),
            ("relevance", "one"),
            ("information", "one"),
            ("coverage", "off"),
        ];
        let pairs = off.iter().chain(extra).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let pruner = pruner_by_name("mico", Settings::new(pairs)).unwrap();
        let mut request = case.request(&case.runs("unpruned")[0]);
        request.options.pruning = Pruning::new(pruner, Budget::Share(0.25));
        request.turn.generation.max_new_tokens = 1;
        let outcome = case.run(&request);
        let last = stage2(&outcome).unwrap().to_vec();
        (outcome.stage1.unwrap().kept, last)
    };
    let first = kept(&[]);
    assert_eq!(first.0, (0..first.0.len()).collect::<Vec<_>>());
    assert_eq!(first.1, first.0[..first.1.len()]);
    let drawn = |seed: &str| kept(&[("idle", "random"), ("seed", seed)]);
    assert_eq!(drawn("1"), drawn("1"));
    assert_ne!(drawn("1"), drawn("2"));
    assert_ne!(drawn("1").0, first.0);
    assert_eq!((drawn("1").0.len(), drawn("1").1.len()), (first.0.len(), first.1.len()));
    // A stage that has something to choose by does not draw.
    let by_norm = |seed| kept(&[("information", "norm"), ("idle", "random"), ("seed", seed)]);
    assert_eq!(by_norm("1"), by_norm("2"));
}
