//! What holds for every pruner on every family: exact counts, order, caches, determinism, and that
//! keeping everything changes nothing.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_engine::flops::Planned;
use mico_engine::pruner::{Count, Pruning};
use mico_engine::{CutOutcome, Engine, Observe, Outcome, Request, SessionOptions};
use mico_select::methods::{pruner_by_name, pruners};
use mico_select::schedule::Budget;
use mico_select::{Settings, split_budget};
use mico_vision::layout::VisualLayout;
use support::{Case, later, logits, stage2, weights};

/// Packings to try: `auto` is a family's own.
const PACKINGS: [&str; 2] = [
    "next_packing=spatial,video_newline=none,position_mode=compact",
    "next_packing=spatial_unpad,video_newline=grid",
];

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
    let mut request = request.clone();
    request.options.pruning =
        Pruning::new(pruner_by_name(method, Settings::default()).unwrap(), budget);
    request
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
            case.options.switches = case.own_switches(packing);
            for mut request in requests(&case) {
                request.turn.generation.max_new_tokens = 3;
                let plain = case.run(&request);
                let all = plain.images.iter().map(|i| unit(&case.engine, &i.layout)).max().unwrap();
                for method in pruners().filter(|method| method.name != "cdpruner") {
                    for budget in
                        [Budget::Tokens(all), Budget::Tokens(10 * all), Budget::Share(1.0)]
                    {
                        let mut other = pruned(&request, method.name, budget);
                        for observe in [Observe::TENSORS, Observe::default()] {
                            other.turn.observe = observe;
                            let outcome = case.run(&other);
                            let what = format!("{name} {packing} {} {budget:?}", method.name);
                            if observe.tensors {
                                assert_eq!(logits(&plain), logits(&outcome), "{what}");
                            }
                            assert_eq!(plain.answer, outcome.answer, "{what}");
                            assert_eq!(plain.cache_lengths, outcome.cache_lengths, "{what}");
                            assert_eq!(plain.usage, outcome.usage, "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// What MiCo's schedule says of one image or video: of each group, and in the end.
fn scheduled(engine: &Engine, layout: &VisualLayout, tokens: usize) -> (Vec<usize>, usize) {
    let (sizes, policy) = (layout.group_sizes(), engine.schedule().policy);
    let schedule = if engine.schedule().per_frame {
        policy.video(tokens, &sizes, 2)
    } else {
        policy.image(tokens, &sizes, 2)
    };
    let schedule = schedule.unwrap();
    (schedule.pool, schedule.keep)
}

/// Whether a refusal is one that has to be.
fn check_refusal(case: &Case, method: &str, error: &str) {
    let linear = case.engine.model().config().decoder.linear_attention.is_some();
    let schedule = ["cannot meet", "lies outside", "three blocks"];
    let allowed = match method {
        "cdpruner" => error.contains("CLIP"),
        "sparsevlm" | "vscan" | "pyramiddrop" if linear => error.contains("linear attention"),
        "mico" => linear && error.contains("lies outside"),
        "fastv" | "sparsevlm" | "pyramiddrop" | "dart" | "vscan" | "apet" => {
            schedule.iter().any(|word| error.contains(word))
        }
        _ => false,
    };
    assert!(allowed, "{} {method}: {error}", case.name);
}

/// Counts before the decoder, by the plan and by what is known of each method; what enters it.
fn check_before_decoder(
    case: &Case,
    outcome: &Outcome,
    options: &SessionOptions,
    tokens: usize,
) -> usize {
    let (engine, pruner) = (&case.engine, &options.pruning.pruner);
    let method = pruner.name();
    let what = format!("{} {method} T={tokens}", case.name);
    let per_frame = engine.schedule().per_frame;
    let mut entered = 0;
    for (index, image) in outcome.images.iter().enumerate() {
        let kept = outcome.stage1_of(image).map_or(image.layout.len(), |kept| kept.len());
        if let Some(stage1) = &outcome.plan.stage1 {
            match stage1.leaves[index] {
                Count::Exactly(count) => assert_eq!(kept, count, "{what}"),
                Count::AtMost(count) => assert!(kept <= count && kept > 0, "{what}"),
            }
            let whole = tokens >= unit(engine, &image.layout);
            let sizes = image.layout.group_sizes();
            let single = match method {
                _ if whole => Some(image.layout.len()),
                "mico" => Some(scheduled(engine, &image.layout, tokens).0.iter().sum()),
                "mico-s1" | "vispruner" | "scope" | "mmtok" | "random" if per_frame => {
                    Some(sizes.iter().map(|&size| tokens.min(size)).sum())
                }
                "mico-s1" | "vispruner" | "scope" | "mmtok" | "random" => {
                    let remainder = engine.schedule().policy.remainder;
                    Some(split_budget(tokens, &sizes, remainder).iter().sum())
                }
                "divprune" if !per_frame => Some(tokens),
                _ => None,
            };
            single.into_iter().for_each(|count| assert_eq!(kept, count, "{what}"));
        }
        entered += kept;
    }
    entered
}

/// The document of a run says what its outcome says: several cuts by themselves, one as Stage 2.
fn check_document(outcome: &Outcome, what: &str) {
    let document = outcome.trace().unwrap();
    assert_eq!(document.stage1, outcome.stage1.as_ref(), "{what}");
    assert_eq!(document.stage2.map(|last| last.kept), stage2(outcome), "{what}");
    let several = if outcome.cuts.len() > 1 { outcome.cuts.as_slice() } else { &[] };
    assert_eq!(document.cuts, several, "{what}");
    assert_eq!(document.generated_ids, outcome.answer.ids, "{what}");
    if let Some(last) = outcome.cuts.last() {
        assert_eq!(document.model.refine_layer, last.block, "{what}");
    }
}

/// Counts, order, caches and averages of one pruned run; whether it was run.
fn check(case: &Case, request: &Request, method: &str, tokens: usize, authors: bool) -> bool {
    let what = format!("{} {method} T={tokens} authors={authors}", case.name);
    let mut request = pruned(request, method, Budget::Tokens(tokens));
    request.options.pruning.authors = authors;
    let engine = &case.engine;
    let outcome = match engine.run(&request, &mut ()) {
        Ok(outcome) => outcome,
        Err(error) => {
            check_refusal(case, method, &error.to_string());
            return false;
        }
    };
    let layouts: Vec<&VisualLayout> = outcome.images.iter().map(|i| i.layout.as_ref()).collect();
    let (plan, usage, model) = (&outcome.plan, &outcome.usage, &outcome.model);
    assert_eq!(*plan, engine.plan(&request.options, &layouts).unwrap(), "{what}");
    let pruner = &request.options.pruning.pruner;
    let per_frame = engine.schedule().per_frame;
    let entered = check_before_decoder(case, &outcome, &request.options, tokens);
    check_document(&outcome, &what);
    let ascending = |kept: &[usize]| kept.windows(2).all(|pair| pair[0] < pair[1]);
    assert_eq!(outcome.stage1.is_some(), plan.stage1.is_some(), "{what}");
    assert_eq!(usage.visual_tokens_entered, entered, "{what}");
    let mut before: Vec<usize> = (0..usage.visual_tokens).collect();
    if let Some(stage1) = &outcome.stage1 {
        assert_eq!(stage1.kept.len(), entered, "{what}");
        assert!(ascending(&stage1.kept), "{what}");
        assert!(stage1.kept.iter().all(|&token| token < usage.visual_tokens), "{what}");
        before.clone_from(&stage1.kept);
    }
    // Each cut leaves what the plan says, of what was there.
    assert_eq!(outcome.cuts.len(), plan.cuts.len(), "{what}");
    let mut visual = Vec::new();
    for (CutOutcome { block, kept, .. }, planned) in outcome.cuts.iter().zip(&plan.cuts) {
        visual.resize(*block, before.len());
        assert_eq!((*block, kept.len()), (planned.block, planned.keep.min(before.len())), "{what}");
        assert!(ascending(kept), "{what}");
        assert!(kept.iter().all(|token| before.binary_search(token).is_ok()), "{what}");
        before.clone_from(kept);
    }
    visual.resize(model.layers, before.len());
    assert_eq!(usage.visual_tokens_kept, before.len(), "{what}");
    if method == "mico" {
        let whole = |i: &&mico_engine::ImageOutcome| tokens >= unit(engine, &i.layout);
        let keep = outcome.images.iter().map(|image| {
            if whole(&image) {
                image.layout.len()
            } else {
                scheduled(engine, &image.layout, tokens).1
            }
        });
        assert_eq!(stage2(&outcome).unwrap().len(), keep.sum::<usize>(), "{what}");
        assert_eq!(model.refine_layer, engine.schedule().policy.refine_layer, "{what}");
    }
    let text = usage.prompt_tokens - usage.visual_tokens;
    for (block, &length) in outcome.cache_lengths.iter().enumerate() {
        let attends = engine.model().decoder().has_attention(block);
        assert_eq!(length, attends.then_some(text + visual[block]), "{what} block {block}");
    }
    let total: usize = visual.iter().sum();
    let units: usize = if per_frame {
        layouts.iter().map(|layout| layout.groups().len()).sum()
    } else {
        layouts.len()
    };
    let average = total as f64 / visual.len() as f64 / units as f64;
    assert!((usage.layer_average - average).abs() < 1e-9, "{what}");
    // The budget is met from below, but for rounding and one token a group.
    let groups: usize = layouts.iter().map(|layout| layout.groups().len()).sum();
    if !authors && tokens * units >= groups && method != "mico" {
        assert!(average <= tokens as f64 + 0.51, "{what}: {average}");
    }
    // And not missed by far: schedules with cuts make up for what the first stage leaves over.
    let whole = layouts.iter().any(|layout| tokens >= unit(engine, layout));
    if !authors && !whole && matches!(method, "fastv" | "dart" | "vscan" | "apet") {
        assert!(average >= tokens as f64 - 1.0, "{what}: {average}");
    }
    let again = case.run(&request);
    assert_eq!(logits(&outcome), logits(&again), "{what}: a second run differs");
    assert_eq!(outcome.stage1, again.stage1, "{what}");
    assert_eq!(outcome.cuts, again.cuts, "{what}");
    // The plan is also what the FLOP count believes.
    let planned = Planned {
        config: engine.model().config(),
        images: &layouts,
        pruner: pruner.as_ref(),
        plan,
        text,
        after_image: 1,
    };
    let counted = planned.visual_per_block();
    assert_eq!(counted.len(), visual.len());
    assert!(counted.iter().zip(&visual).all(|(most, real)| real <= most), "{what}");
    let work = planned.work();
    let parts = [work.stage1, work.relevance, work.select];
    assert!(parts.iter().all(|flops| flops.is_finite() && *flops >= 0.0), "{what}: {work:?}");
    true
}

#[test]
fn every_pruner_keeps_what_its_plan_says_on_every_family() {
    let mut ran = std::collections::BTreeMap::<(&str, &str), usize>::new();
    for &name in weights() {
        let case = Case::load(name);
        let family = case.engine.model().config().family.name();
        for mut request in requests(&case) {
            request.turn.generation.max_new_tokens = 2;
            for method in pruners().filter(|method| method.name != "none") {
                for (tokens, authors) in
                    [(1, false), (2, false), (3, false), (5, true), (8, false), (12, false)]
                {
                    let done = check(&case, &request, method.name, tokens, authors);
                    *ran.entry((method.name, family)).or_default() += usize::from(done);
                }
            }
        }
    }
    for ((method, family), count) in ran {
        let refused = matches!(
            (method, family),
            ("cdpruner", _) | ("sparsevlm" | "vscan" | "pyramiddrop", "qwen3_5")
        );
        assert_eq!(count == 0, refused, "{method} on {family}: {count} runs");
    }
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    for &name in weights() {
        let case = Case::load(name);
        let mut requests: Vec<Request> =
            case.runs("pruned").iter().step_by(3).map(|run| case.request(run)).collect();
        let first = case.request(&case.runs("unpruned")[0]);
        requests.extend(pruners().map(|m| pruned(&first, m.name, Budget::Tokens(8))));
        for request in requests {
            if case.engine.run(&request, &mut ()).is_err() {
                continue;
            }
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| case.run(&request))
            };
            let (one, two) = (with(1), with(2));
            assert_eq!(logits(&one), logits(&two), "{name}");
            assert_eq!(one.stage1, two.stage1, "{name}");
            assert_eq!(one.cuts, two.cuts, "{name}");
            assert_eq!(one.answer.ids, two.answer.ids, "{name}");
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
        let request = pruned(&request, "mico", Budget::Tokens(3));
        let mut session = case.engine.session(request.options.clone());
        let Ok(first) = session.ask(&case.engine, &request.turn, &mut ()) else {
            assert_eq!(case.expected["family"], "qwen3_5");
            continue;
        };
        let position = session.position();
        let second = later(&request.turn, vec![5, 6, 7]);
        let second = session.ask(&case.engine, &second, &mut ()).unwrap();
        // The last token of the first answer was pending; the last of the second is.
        let added = 1 + 3;
        assert_eq!(second.usage.prompt_tokens, added, "{name}");
        for (before, after) in first.cache_lengths.iter().zip(&second.cache_lengths) {
            let answered = first.answer.ids.len() - 1;
            assert_eq!(*after, before.map(|before| before + answered + added), "{name}");
        }
        assert_eq!(session.position(), position + added as u32 + 3, "{name}");
        // A turn that fails leaves everything as it was.
        let kept = session.cache_lengths();
        let mut missing = request.turn.clone();
        missing.images.clear();
        assert!(session.ask(&case.engine, &missing, &mut ()).is_err(), "{name}");
        assert_eq!(session.cache_lengths(), kept, "{name}");
    }
}
