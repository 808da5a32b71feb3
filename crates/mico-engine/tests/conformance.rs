//! What holds for every pruner on every family: exact counts, order, caches, determinism, and that
//! keeping everything changes nothing.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_engine::pruner::{PRUNERS, Pruning, by_name};
use mico_engine::{Engine, Outcome, Prompt, Request, Switches, TurnRequest};
use mico_select::schedule::{Budget, Policy, Schedule};
use mico_select::{Settings, split_budget};
use mico_vision::layout::VisualLayout;
use support::{Case, bits, lengths, weights};

/// Packings to try: `auto` is a family's own.
const PACKINGS: [&str; 2] = [
    "next_packing=spatial,video_newline=none,position_mode=compact",
    "next_packing=spatial_unpad,video_newline=grid",
];

fn logits(outcome: &Outcome) -> Vec<u32> {
    bits(outcome.dump.as_ref().unwrap().get("first_logits").unwrap())
}

/// Two requests of a case: one image or video, and the most that come together.
fn requests(case: &Case) -> Vec<Request> {
    let mut seen = std::collections::BTreeSet::new();
    let runs = case.runs("unpruned");
    let fresh = runs.iter().filter(|run| seen.insert(run["images"].to_string()));
    // The last one is that of several images or frames.
    let mut fresh: Vec<Request> = fresh.map(|run| case.request(run)).collect();
    fresh.drain(1..fresh.len().saturating_sub(1).max(1));
    fresh
}

fn pruned(request: &Request, method: &str, budget: Budget) -> Request {
    let pruner = by_name(method, Settings::default()).unwrap();
    Request { pruning: Pruning::new(pruner, budget), ..request.clone() }
}

/// Visual tokens of the unit a budget is for.
fn unit(engine: &Engine, layout: &VisualLayout) -> usize {
    let units = if engine.schedule().per_frame { layout.groups().len() } else { 1 };
    layout.len() / units
}

#[test]
fn keeping_everything_is_bit_identical_to_not_pruning() {
    for &name in weights() {
        let mut case = Case::load(name);
        for packing in PACKINGS {
            case.engine.set_switches(packing.parse::<Switches>().unwrap()).unwrap();
            for mut request in requests(&case) {
                request.turn.generation.max_new_tokens = 3;
                let plain = case.run(&request);
                let all = plain.images.iter().map(|i| unit(&case.engine, &i.layout)).max().unwrap();
                for method in PRUNERS {
                    for budget in
                        [Budget::Tokens(all), Budget::Tokens(10 * all), Budget::Share(1.0)]
                    {
                        let mut other = pruned(&request, method.name, budget);
                        for dump in [true, false] {
                            other.turn.dump = dump;
                            let outcome = case.run(&other);
                            let what = format!("{name} {packing} {} {budget:?}", method.name);
                            if dump {
                                assert_eq!(logits(&plain), logits(&outcome), "{what}");
                            }
                            let (a, b) = (&plain.trace, &outcome.trace);
                            assert_eq!(a.generated_ids, b.generated_ids, "{what}");
                            assert_eq!(a.cache_lengths, b.cache_lengths, "{what}");
                            assert_eq!(a.layer_average, b.layer_average, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// What a schedule says of one image or video.
fn schedule(
    engine: &Engine,
    policy: &Policy,
    layout: &VisualLayout,
    tokens: usize,
) -> mico_select::Result<Schedule> {
    let sizes = layout.group_sizes();
    if engine.schedule().per_frame {
        policy.video(tokens, &sizes, 2)
    } else {
        policy.image(tokens, &sizes, 2)
    }
}

/// Counts, order, caches and averages of one pruned run.
fn check(case: &Case, request: &Request, method: &str, tokens: usize) {
    let what = format!("{} {method} T={tokens}", case.name);
    let request = pruned(request, method, Budget::Tokens(tokens));
    let engine = &case.engine;
    let outcome = match engine.run(&request, &mut ()) {
        Ok(outcome) => outcome,
        // The one family that refuses what it cannot meet.
        Err(error) => {
            assert_eq!(case.expected["family"], "qwen3_5", "{what}: {error}");
            assert!(error.to_string().contains("lies outside"), "{what}: {error}");
            return;
        }
    };
    let trace = &outcome.trace;
    let policy = engine.schedule().policy;
    let (mut groups, mut keep) = (Vec::new(), 0);
    for image in &outcome.images {
        let sizes = image.layout.group_sizes();
        if tokens >= unit(engine, &image.layout) {
            groups.extend(&sizes);
            keep += image.layout.len();
        } else if method == "mico" {
            let schedule = schedule(engine, &policy, &image.layout, tokens).unwrap();
            groups.extend(&schedule.pool);
            keep += schedule.keep;
        } else if engine.schedule().per_frame {
            groups.extend(sizes.iter().map(|&size| tokens.min(size)));
        } else {
            groups.extend(split_budget(tokens, &sizes, policy.remainder));
        }
    }
    let stage1 = trace.stage1.as_ref().unwrap();
    assert_eq!(stage1.groups, groups, "{what}");
    let entered: usize = groups.iter().sum();
    assert_eq!(stage1.kept.len(), entered, "{what}");
    let ascending = |kept: &[usize]| kept.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(
        ascending(&stage1.kept)
            && stage1.kept.last().is_none_or(|&last| last < trace.visual_tokens)
    );
    let left = trace.stage2.as_ref().map_or(entered, |stage2| {
        assert_eq!(stage2.kept.len(), keep, "{what}");
        assert!(ascending(&stage2.kept), "{what}");
        assert!(stage2.kept.iter().all(|token| stage1.kept.binary_search(token).is_ok()), "{what}");
        stage2.kept.len()
    });
    let (layers, refined) = (trace.model.layers, trace.model.refine_layer);
    let text = trace.prompt_tokens - trace.visual_tokens;
    for (block, length) in lengths(&outcome).into_iter().enumerate() {
        let visual = if block < refined || method != "mico" { entered } else { left };
        let attends = engine.model().decoder().has_attention(block);
        assert_eq!(length, attends.then_some(text + visual), "{what} block {block}");
    }
    let blocks = if method == "mico" { refined } else { layers };
    let total = (blocks * entered + (layers - blocks) * left) as f64 / layers as f64;
    let units = if engine.schedule().per_frame { groups.len() } else { outcome.images.len() };
    assert!((trace.layer_average - total / units as f64).abs() < 1e-9, "{what}");
    let again = case.run(&request);
    assert_eq!(logits(&outcome), logits(&again), "{what}: a second run differs");
    assert_eq!(trace.stage1, again.trace.stage1, "{what}");
    assert_eq!(trace.stage2, again.trace.stage2, "{what}");
}

#[test]
fn every_pruner_keeps_what_the_schedule_says_on_every_family() {
    for &name in weights() {
        let case = Case::load(name);
        for mut request in requests(&case) {
            request.turn.generation.max_new_tokens = 2;
            for method in PRUNERS.iter().filter(|method| method.name != "none") {
                for tokens in [1, 2, 3, 5, 8] {
                    check(&case, &request, method.name, tokens);
                }
            }
        }
    }
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    for &name in weights() {
        let case = Case::load(name);
        for run in case.runs("pruned").iter().step_by(3) {
            let request = case.request(run);
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| case.run(&request))
            };
            let (one, two) = (with(1), with(2));
            assert_eq!(logits(&one), logits(&two), "{name}");
            assert_eq!(one.trace.stage1, two.trace.stage1, "{name}");
            assert_eq!(one.trace.stage2, two.trace.stage2, "{name}");
            assert_eq!(one.trace.generated_ids, two.trace.generated_ids, "{name}");
        }
    }
}

/// A conversation in two turns has the caches of the same tokens in one.
#[test]
fn a_later_turn_goes_on_where_the_first_ended() {
    for &name in weights() {
        let case = Case::load(name);
        let run = &case.runs("unpruned")[0];
        let mut request = case.request(run);
        request.turn.generation.max_new_tokens = 4;
        request.pruning = pruned(&request, "mico", Budget::Tokens(3)).pruning;
        let mut session = case.engine.session(request.pruning.clone());
        let Ok(first) = session.ask(&case.engine, &request.turn, &mut ()) else {
            assert_eq!(case.expected["family"], "qwen3_5");
            continue;
        };
        let position = session.position();
        let prompt = Prompt::InputIds(vec![5, 6, 7]);
        let later = TurnRequest { images: Vec::new(), prompt, ..request.turn.clone() };
        let second = session.ask(&case.engine, &later, &mut ()).unwrap();
        // The last token of the first answer was pending; the last of the second is.
        let added = 1 + 3;
        assert_eq!(second.trace.prompt_tokens, added, "{name}");
        for (before, after) in lengths(&first).into_iter().zip(lengths(&second)) {
            let answered = first.trace.generated_ids.len() - 1;
            assert_eq!(after, before.map(|before| before + answered + added), "{name}");
        }
        assert_eq!(session.position(), position + added as u32 + 3, "{name}");
        // A turn that fails leaves everything as it was.
        let kept = session.cache_lengths();
        let missing = TurnRequest { images: Vec::new(), ..request.turn.clone() };
        assert!(session.ask(&case.engine, &missing, &mut ()).is_err(), "{name}");
        assert_eq!(session.cache_lengths(), kept, "{name}");
    }
}
