//! Pruning beyond the fixtures: single-stage pruners, merging, positions, packings, images encoded once.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::sync::Arc;

use mico_engine::pruner::{
    Cut, Plan, PlanRequest, PositionRule, Pruner, Pruning, Quota, Signals, Stage1Plan, Stage1View,
    Stage2View,
};
use mico_engine::{ImageInput, Observe, SessionOptions, Sink, Switches};
use mico_select::methods::{pruner_by_name, pruners};
use mico_select::schedule::Budget;
use mico_select::{Merge, Result, Selection, Settings, Signal};
use support::{Case, later, logits, pooled, stage2, top};

fn first_run(case: &Case) -> mico_engine::Request {
    case.request(&case.runs("unpruned")[0])
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    Settings::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
}

#[test]
fn single_stage_pruners_spend_the_budget_before_the_decoder() {
    for (name, budget, groups) in [
        ("llava15", 5, vec![5]),
        ("next-llama", 10, vec![3, 3, 3]),
        ("next-llama", 2, vec![1, 1, 1]),
    ] {
        let case = Case::load(name);
        for method in ["mico-s1", "vispruner", "scope", "mmtok", "visionzip", "random"] {
            let mut request = first_run(&case);
            let pruner = pruner_by_name(method, Settings::default()).unwrap();
            request.options.pruning = Pruning::new(pruner, Budget::Tokens(budget));
            let outcome = case.run(&request);
            let stage1 = outcome.stage1.as_ref().unwrap();
            assert_eq!(stage1.groups, groups, "{name} {method}");
            assert!(stage1.kept.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(outcome.cuts.is_empty());
            let kept: usize = groups.iter().sum();
            let usage = outcome.usage;
            assert_eq!(usage.layer_average, kept as f64);
            assert_eq!((usage.visual_tokens_entered, usage.visual_tokens_kept), (kept, kept));
            let text = usage.prompt_tokens - usage.visual_tokens;
            assert!(outcome.cache_lengths.iter().all(|&length| length == Some(text + kept)));
        }
    }
}

#[test]
fn mico_s1_is_mico_with_a_pool_of_one() {
    let case = Case::load("next-mistral");
    let mut request = first_run(&case);
    request.options.pruning = pooled(12, 1);
    let two = case.run(&request);
    request.options.pruning =
        Pruning::new(pruner_by_name("mico-s1", Settings::default()).unwrap(), Budget::Tokens(12));
    let one = case.run(&request);
    assert_eq!(logits(&one), logits(&two));
    assert_eq!(one.stage1, two.stage1);
}

#[test]
fn an_image_encoded_once_answers_like_a_fresh_one() {
    for name in ["llava15", "next-llama"] {
        let case = Case::load(name);
        for method in pruners() {
            let mut request = first_run(&case);
            let pruner = pruner_by_name(method.name, Settings::default()).unwrap();
            let prunes = pruner.prunes();
            request.options.pruning =
                Pruning::new(pruner, Budget::Tokens(if prunes { 12 } else { 1000 }));
            let Ok(fresh) = case.engine.run(&request, &mut ()) else { continue };
            let image = &request.turn.images[0];
            let image = case.engine.encode_image(image, &request.options, &mut ()).unwrap();
            request.turn.images = vec![ImageInput::Features(image)];
            let again = case.run(&request);
            assert_eq!(logits(&fresh), logits(&again), "{name} {}", method.name);
            assert_eq!(fresh.stage1, again.stage1, "{name} {}", method.name);
            assert_eq!(fresh.answer.ids, again.answer.ids);
        }
    }
    // What was packed for one kind of request cannot serve the other.
    let case = Case::load("next-llama");
    let mut request = first_run(&case);
    let pruned = SessionOptions::from(Pruning::mico(Budget::Tokens(12)));
    let image = case.engine.encode_image(&request.turn.images[0], &pruned, &mut ()).unwrap();
    request.turn.images = vec![ImageInput::Features(image)];
    assert!(case.engine.run(&request, &mut ()).is_err());
}

/// Says what it is told and remembers the logits.
struct Told(Vec<u32>, Vec<Vec<f32>>);

impl Sink for Told {
    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        self.1.push(logits.to_vec());
        self.0.get(self.1.len() - 1).copied()
    }
}

#[test]
fn a_steered_answer_says_what_it_is_told() {
    let case = Case::load("llava15");
    let request = first_run(&case);
    let free = case.run(&request).answer.ids;
    let mut silent = Told(Vec::new(), Vec::new());
    case.engine.run(&request, &mut silent).unwrap();
    let mut told = Told(free.clone(), Vec::new());
    let outcome = case.engine.run(&request, &mut told).unwrap();
    assert_eq!((outcome.answer.ids, &told.1), (free.clone(), &silent.1));
    let other = (free[0] + 1) % 100;
    let mut told = Told(vec![other], Vec::new());
    assert_eq!(case.engine.run(&request, &mut told).unwrap().answer.ids[0], other);
    let error = case.engine.run(&request, &mut Told(vec![1 << 30], Vec::new())).unwrap_err();
    assert!(error.to_string().contains("steered token"), "{error}");
}

#[test]
fn chance_follows_its_seed() {
    let case = Case::load("llava15");
    let kept = |seed: &str| {
        let mut request = first_run(&case);
        let pruner = pruner_by_name("random", settings(&[("seed", seed)])).unwrap();
        request.options.pruning = Pruning::new(pruner, Budget::Tokens(6));
        case.run(&request).stage1.unwrap().kept
    };
    assert_eq!(kept("1"), kept("1"));
    assert_ne!(kept("1"), kept("2"));
}

#[test]
fn every_ablation_runs_and_keeps_the_scheduled_number() {
    let case = Case::load("llava15");
    for pair in [
        ("information", "entropy"),
        ("information", "one"),
        ("reliability", "global-similarity"),
        ("reliability", "one"),
        ("relevance", "last-token"),
        ("relevance", "text-similarity"),
        ("relevance", "inverse-text-similarity"),
        ("relevance", "one"),
        ("coverage", "visual-mean"),
        ("coverage", "off"),
    ] {
        let mut request = first_run(&case);
        let pruner = pruner_by_name("mico", settings(&[pair])).unwrap();
        request.options.pruning = Pruning::new(pruner, Budget::Tokens(4));
        request.turn.observe = Observe::default();
        let outcome = case.run(&request);
        assert_eq!(outcome.stage1.as_ref().unwrap().kept.len(), 8, "{pair:?}");
        assert_eq!(stage2(&outcome).unwrap().len(), 3, "{pair:?}");
    }
    assert!(pruner_by_name("mico", settings(&[("relevance", "all")])).is_err());
    assert!(pruner_by_name("mico", settings(&[("speed", "1")])).is_err());
    assert!(
        pruner_by_name("fast", Settings::default()).unwrap_err().to_string().contains("mico-s1")
    );
}

/// Keeps the first tokens and pours the dropped ones into the first.
#[derive(Debug)]
struct Pour;

impl Pruner for Pour {
    fn name(&self) -> &'static str {
        "pour"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let quotas = vec![Quota::Groups(vec![6]); request.images().len()];
        let stage1 = Stage1Plan::new(Signals::default(), quotas, request.images());
        let cut = |block, keep| Cut::new(block, keep, Signals::default());
        Ok(Plan::before_decoder(stage1).with_cuts(vec![cut(1, 4), cut(3, 2)]))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, _: &Quota) -> Result<Selection> {
        assert!(view.observed.rows(Signal::Features).is_err(), "nothing was declared");
        assert!(view.observed.vector(Signal::Reliability).is_err(), "nothing was declared");
        Ok(pour(6, view.layout.len()))
    }

    fn after_block(&self, view: &Stage2View<'_>, keep: usize) -> Result<Selection> {
        assert!(view.observed.rows(Signal::Features).is_err(), "nothing was declared");
        assert!(view.observed.vector(Signal::Relevance).is_err(), "nothing was declared");
        Ok(pour(keep, view.tokens()))
    }
}

fn pour(keep: usize, of: usize) -> Selection {
    let sources: Vec<usize> = (keep..of).collect();
    let shares = vec![0.0; sources.len()];
    let merge = Merge { target: 0, own: 1.0, sources, shares };
    let mut selection = Selection::keeping((0..keep).collect());
    selection.merges.push(merge);
    selection
}

/// Keeps the first tokens.
#[derive(Debug)]
struct First;

impl Pruner for First {
    fn name(&self) -> &'static str {
        "first"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        Pour.plan(request)
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        Ok(Selection::keeping(Pour.before_decoder(view, quota)?.kept))
    }

    fn after_block(&self, view: &Stage2View<'_>, keep: usize) -> Result<Selection> {
        Ok(Selection::keeping(Pour.after_block(view, keep)?.kept))
    }
}

#[test]
fn a_pruner_may_merge_and_cut_several_times() {
    let case = Case::load("llava15");
    let mut request = first_run(&case);
    request.turn.observe = Observe::TRACE;
    request.options.pruning = Pruning::new(Arc::new(First), Budget::Tokens(4));
    let first = case.run(&request);
    assert_eq!(first.cache_lengths, [21, 19, 19, 17].map(Some));
    assert_eq!(stage2(&first).unwrap(), [0, 1]);
    assert_eq!(first.usage.layer_average, 4.0);
    // Merging with shares of 0 changes nothing.
    request.options.pruning = Pruning::new(Arc::new(Pour), Budget::Tokens(4));
    let poured = case.run(&request);
    assert_eq!(top(&first), top(&poured));
    assert_eq!(first.answer.ids, poured.answer.ids);
}

#[test]
fn pruned_unpad_packing_drops_newlines_and_keeps_counts() {
    let mut case = Case::load("next-llama");
    let mut switches = Switches::default();
    switches.set("next_packing", "spatial_unpad").unwrap();
    case.options.switches = switches;
    let mut request = first_run(&case);
    request.options.pruning = Pruning::mico(Budget::Tokens(6));
    let outcome = case.run(&request);
    assert_eq!(outcome.usage.visual_tokens, 36);
    assert_eq!(outcome.stage1.as_ref().unwrap().groups, [4, 4, 4]);
    let layout = &outcome.images[0].layout;
    let kept = outcome.stage1_of(&outcome.images[0]).unwrap();
    assert!(kept.iter().all(|&token| layout.group_of(token).is_some()));
}

/// Keeps four tokens, the last of them first.
#[derive(Debug)]
struct Backwards(PositionRule);

impl Pruner for Backwards {
    fn name(&self) -> &'static str {
        "backwards"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let quotas = vec![Quota::Groups(vec![4]); request.images().len()];
        let stage1 = Stage1Plan::new(Signals::default(), quotas, request.images());
        let cut = Cut::new(2, 2, Signals::default());
        Ok(Plan::before_decoder(stage1).with_cuts(vec![cut]).with_positions(self.0))
    }

    fn before_decoder(&self, _: &Stage1View<'_>, _: &Quota) -> Result<Selection> {
        let mut selection = Selection::keeping(vec![3, 5, 7, 9]);
        selection.sequence = vec![9, 7, 5, 3];
        Ok(selection)
    }

    fn after_block(&self, view: &Stage2View<'_>, _: usize) -> Result<Selection> {
        assert_eq!(view.tokens(), 4);
        // The first two that stand there.
        Ok(Selection::keeping(vec![0, 1]))
    }
}

/// Tokens may stand in another order where positions are renumbered, and count from each block's own
/// length then, in later turns, too.
#[test]
fn order_and_positions_follow_the_rule() {
    let case = Case::load("llava15");
    for (rule, kept, next) in [
        (PositionRule::Original, [3, 5], [31, 31]),
        (PositionRule::Compact, [7, 9], [19, 19]),
        (PositionRule::Packed, [7, 9], [19, 17]),
    ] {
        let mut request = first_run(&case);
        request.options.pruning = Pruning::new(Arc::new(Backwards(rule)), Budget::Tokens(4));
        request.turn.generation.max_new_tokens = 3;
        let mut session = case.engine.session(request.options.clone());
        let first = session.ask(&case.engine, &request.turn, &mut ()).unwrap();
        assert_eq!(first.stage1.as_ref().unwrap().kept, [3, 5, 7, 9]);
        assert_eq!(stage2(&first).unwrap(), kept, "{rule:?}");
        assert_eq!(first.cache_lengths, [19, 19, 17, 17].map(Some));
        // Two of the three tokens of the answer are in the caches.
        assert_eq!(session.positions(), [next[0], next[0], next[1], next[1]].map(|p| p + 2));
        let turn = later(&request.turn, vec![5, 6]);
        session.ask(&case.engine, &turn, &mut ()).unwrap();
        assert_eq!(session.positions(), [next[0], next[0], next[1], next[1]].map(|p| p + 2 + 5));
    }
}
