//! One suite over every pruner, without a model: plans that can be carried out, choices that keep to
//! them, the same answer on any number of threads, and whole images left alone.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::methods::{pruner_by_name, pruners};
use mico_select::pruner::{
    Count, FeatureSpace, ModelTraits, Normalization, Observed, Plan, PlanContext, Pruning, Quota,
    Refinement, Signals, Stage, Stage1Plan, Stage1View, Stage2View, TextAttention, TokenGrid,
    TokenLayout, TokenPlace, check_selection,
};
use mico_select::schedule::{Budget, Policy};
use mico_select::{Dense, Selection, Settings, Signal};

const WIDTH: usize = 12;
const WORDS: usize = 5;
const LAYERS: usize = 32;

fn noise(seed: usize, i: usize) -> f32 {
    (((i + seed * 7919) as f32 * 12.9898).sin() * 43758.547).fract()
}

/// Everything that can be observed of `tokens` tokens.
struct Signs {
    tokens: usize,
    rows: Vec<(Signal, Dense)>,
    values: Vec<(Signal, Vec<f32>)>,
}

impl Signs {
    fn new(tokens: usize) -> Self {
        let dense = |seed: usize, rows: usize| {
            let values = (0..rows * WIDTH).map(|i| noise(seed, i)).collect();
            Dense::new(values, WIDTH).unwrap()
        };
        let attention = |seed: usize| (0..tokens).map(|i| noise(seed, i).abs() + 0.01).collect();
        let padding = (0..tokens).map(|i| f32::from(u8::from(i % 7 == 0))).collect();
        let rows = [Signal::Features, Signal::Projected, Signal::Keys].map(|s| (s, tokens));
        let words = [Signal::Text, Signal::TextKeys].map(|s| (s, WORDS));
        let rows = rows.into_iter().chain(words).enumerate();
        Self {
            tokens,
            rows: rows.map(|(seed, (signal, count))| (signal, dense(seed, count))).collect(),
            values: vec![
                (Signal::Reliability, attention(6)),
                (Signal::ReliabilityShallow, attention(7)),
                (Signal::Relevance, attention(8)),
                (Signal::Excluded, padding),
            ],
        }
    }

    fn observed(&self, name: &'static str, stage: Stage, signals: Signals) -> Observed<'_> {
        let mut observed = Observed::new(name, stage, signals, self.tokens);
        for (signal, rows) in &self.rows {
            observed = observed.with(*signal, rows.matrix());
        }
        for (signal, values) in &self.values {
            observed = observed.with_vector(*signal, values).unwrap();
        }
        assert_eq!(observed.missing().count(), 0, "{name}");
        observed
    }
}

/// A base view and two crops, the crops' rows interleaved with a newline behind each.
fn stitched() -> TokenLayout {
    let grid = TokenGrid { rows: 6, columns: 6 };
    let place = |group, local| Some(TokenPlace { group, local });
    let mut places: Vec<_> = (0..36).map(|local| place(0, local)).collect();
    for row in 0..6 {
        for group in [1, 2] {
            places.extend((0..6).map(|column| place(group, row * 6 + column)));
        }
        places.push(None);
    }
    TokenLayout::new(vec![grid; 3], places).unwrap()
}

fn layouts() -> Vec<TokenLayout> {
    let grid = |rows, columns| TokenGrid { rows, columns };
    vec![
        TokenLayout::raster(vec![grid(12, 12)]),
        TokenLayout::raster(vec![grid(9, 14)]),
        TokenLayout::raster(vec![grid(8, 8); 4]),
        stitched(),
    ]
}

fn models() -> Vec<ModelTraits> {
    let plain = ModelTraits::new(vec![true; LAYERS]);
    let (mut one_by_one, mut native, mut crops) = (plain.clone(), plain.clone(), plain.clone());
    one_by_one.projects_tokens = true;
    one_by_one.pads_to_square = true;
    (native.native_resolution, native.spatial_positions) = (true, true);
    (crops.projects_tokens, crops.anyres_crops) = (true, true);
    let mut linear = native.clone();
    linear.attends = (1..=LAYERS).map(|block| block % 4 == 0).collect();
    vec![plain, one_by_one, native, crops, linear]
}

fn plan(
    pruning: &Pruning,
    model: &ModelTraits,
    images: &[&TokenLayout],
    video: bool,
) -> Option<Plan> {
    let policy = Policy::realized(LAYERS, 8);
    let normalization = Normalization::FullCausal;
    let context = PlanContext { model, policy, per_frame: video, normalization, images };
    match pruning.plan(&context) {
        Ok(plan) => Some(plan),
        Err(mico_select::Error::Refused { .. }) => None,
        Err(error) => panic!("{}: {error}", pruning.pruner.name()),
    }
}

fn strip(mut selection: Selection) -> Selection {
    selection.seconds = mico_select::Seconds::default();
    selection
}

/// Carries a plan out and says what was chosen, image by image and cut by cut.
fn run(
    pruning: &Pruning,
    model: &ModelTraits,
    images: &[&TokenLayout],
    plan: &Plan,
) -> Vec<Selection> {
    let (pruner, mut chosen) = (&pruning.pruner, Vec::new());
    let name = pruner.name();
    let mut left: usize = images.iter().map(|layout| layout.len()).sum();
    if let Some(stage1) = &plan.stage1 {
        left = 0;
        for (image, &layout) in images.iter().enumerate() {
            let signs = Signs::new(layout.len());
            let observed = signs.observed(name, Stage::BeforeDecoder, stage1.signals);
            let view = Stage1View { image, model, layout, observed };
            let selection = pruner.before_decoder(&view, &stage1.quotas[image]).unwrap();
            check_selection(name, &selection, stage1.leaves[image], layout.len()).unwrap();
            left += selection.kept.len();
            chosen.push(strip(selection));
        }
    }
    for cut in &plan.cuts {
        if cut.keep >= left {
            continue;
        }
        let competing = cut.among.unwrap_or(left).min(left);
        let signs = Signs::new(competing);
        let observed = signs.observed(name, Stage::AfterBlock, cut.signals);
        let view = Stage2View { block: cut.block, model, observed };
        let selection = pruner.after_block(&view, cut.ask).unwrap();
        let count = Count::Exactly(cut.keep - (left - competing));
        check_selection(name, &selection, count, competing).unwrap();
        left = cut.keep;
        chosen.push(strip(selection));
    }
    chosen
}

#[test]
fn every_pruner_keeps_to_its_plan_on_every_kind_of_model() {
    let layouts = layouts();
    let mut ran = std::collections::BTreeMap::<&str, usize>::new();
    for method in pruners() {
        let pruner = pruner_by_name(method.name, Settings::default()).unwrap();
        for model in models() {
            for (image, video) in layouts.iter().flat_map(|l| [(l, false), (l, true)]) {
                for (tokens, authors) in [(9, false), (24, false), (24, true), (60, false)] {
                    let mut pruning = Pruning::new(pruner.clone(), Budget::Tokens(tokens));
                    pruning.authors = authors;
                    let images = [image, &layouts[0]];
                    for images in [&images[..1], &images] {
                        let Some(plan) = plan(&pruning, &model, images, video) else { continue };
                        let chosen = run(&pruning, &model, images, &plan);
                        *ran.entry(method.name).or_default() += usize::from(!chosen.is_empty());
                    }
                }
            }
        }
    }
    let idle: Vec<&str> =
        pruners().map(|m| m.name).filter(|name| !ran.contains_key(name)).collect();
    assert_eq!(idle, ["cdpruner"]);
    assert_eq!(ran["none"], 0);
    assert!(ran.iter().all(|(&name, &count)| name == "none" || count > 50), "{ran:?}");
}

#[test]
fn a_budget_as_large_as_the_image_asks_for_everything() {
    let layouts = layouts();
    for method in pruners().filter(|method| method.name != "cdpruner") {
        let pruner = pruner_by_name(method.name, Settings::default()).unwrap();
        let pruning = Pruning::new(pruner, Budget::Share(1.0));
        for layout in &layouts {
            let plan = plan(&pruning, &models()[0], &[layout], false).unwrap();
            if let Some(stage1) = &plan.stage1 {
                assert_eq!(stage1.quotas, [Quota::Everything], "{}", method.name);
                assert_eq!(stage1.leaves, [Count::Exactly(layout.len())], "{}", method.name);
            }
            assert!(plan.cuts.iter().all(|cut| cut.keep == layout.len()), "{}", method.name);
        }
    }
}

#[test]
fn threads_do_not_change_what_a_pruner_chooses() {
    let layouts = layouts();
    let images = [&layouts[2], &layouts[3]];
    let model = &models()[3];
    for method in pruners().filter(|method| method.name != "cdpruner") {
        let pruner = pruner_by_name(method.name, Settings::default()).unwrap();
        let pruning = Pruning::new(pruner, Budget::Tokens(40));
        let Some(plan) = plan(&pruning, model, &images, false) else { continue };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&pruning, model, &images, &plan))
        };
        let one = with(1);
        assert_eq!(one, with(2), "{}", method.name);
        assert_eq!(one, with(5), "{}", method.name);
    }
}

/// Counts at T = 64 of 576 tokens in 32 blocks: the table of docs/methods.md.
#[test]
fn documented_counts_come_out() {
    let layout = TokenLayout::raster(vec![TokenGrid { rows: 24, columns: 24 }]);
    let mut model = ModelTraits::new(vec![true; 32]);
    (model.projects_tokens, model.pads_to_square) = (true, true);
    let counts = |method: &str, authors: bool| {
        let pruner = pruner_by_name(method, Settings::default()).unwrap();
        let mut pruning = Pruning::new(pruner, Budget::Tokens(64));
        pruning.authors = authors;
        let context = PlanContext {
            model: &model,
            policy: Policy::realized(32, 7),
            per_frame: false,
            normalization: Normalization::FullCausal,
            images: &[&layout],
        };
        let plan = pruning.plan(&context)?;
        let entering = plan.stage1.as_ref().map_or(layout.len(), Stage1Plan::entering);
        let cuts: Vec<_> = plan.cuts.iter().map(|cut| (cut.block, cut.keep)).collect();
        Ok::<_, mico_select::Error>((entering, cuts))
    };
    for (method, entering, cuts) in [
        ("mico", 128, vec![(7, 46)]),
        ("mico-s1", 64, vec![]),
        ("divprune", 64, vec![]),
        ("visionzip", 64, vec![]),
        ("holov", 64, vec![]),
        ("vscan", 96, vec![(16, 32)]),
        ("apet", 96, vec![(16, 32)]),
        ("fastv", 576, vec![(2, 30)]),
        ("dart", 576, vec![(2, 30)]),
        ("sparsevlm", 576, vec![(3, 35), (7, 9), (16, 6)]),
    ] {
        assert_eq!(counts(method, false).unwrap(), (entering, cuts), "{method}");
    }
    for (method, entering, cuts) in [
        ("visionzip", 63, vec![]),
        ("fastv", 576, vec![(2, 64)]),
        ("sparsevlm", 576, vec![(3, 82), (7, 32), (16, 18)]),
        ("pyramiddrop", 576, vec![(8, 288), (16, 144), (24, 72)]),
    ] {
        assert_eq!(counts(method, true).unwrap(), (entering, cuts), "{method}");
    }
    let refusal = counts("pyramiddrop", false).unwrap_err().to_string();
    assert!(refusal.contains("make an average of 144.8"), "{refusal}");
}

#[test]
fn signals_follow_the_model_and_the_settings() {
    let layout = &layouts()[0];
    let signals = |method: &str, set: &[(&str, &str)], model: &ModelTraits| {
        let settings = Settings::new(set.iter().map(|(k, v)| ((*k).into(), (*v).into())));
        let pruner = pruner_by_name(method, settings).unwrap();
        let plan = plan(&Pruning::new(pruner, Budget::Tokens(24)), model, &[layout], false);
        let plan = plan.unwrap();
        let stage1 = plan.stage1.map(|stage1| (stage1.signals, stage1.merge_in_tower));
        (stage1, plan.cuts.first().map(|cut| cut.signals))
    };
    let [plain, one_by_one, native, ..] = &models()[..] else { panic!("five models") };
    let tower = Signals::of(FeatureSpace::Tower, &[Signal::Features]);
    let residual = Signals::of(FeatureSpace::Residual, &[Signal::Features]);
    let mean = TextAttention::Mean(Normalization::FullCausal);
    let (stage1, stage2) = signals("mico", &[], plain);
    assert_eq!(stage1, Some((tower.with(Signal::Reliability), false)));
    assert_eq!(stage2, Some(residual.with_attention(mean)));
    let set = [("reliability", "one"), ("relevance", "text-similarity")];
    let (stage1, stage2) = signals("mico", &set, plain);
    assert_eq!((stage1, stage2), (Some((tower, false)), Some(residual.with(Signal::Text))));
    let embeddings = Signals::of(FeatureSpace::Projected, &[Signal::Features]);
    assert_eq!(signals("apet", &[], plain).0, Some((embeddings, false)));
    assert_eq!(signals("apet", &[], one_by_one).0, Some((tower, true)));
    let words = tower.with(Signal::Projected).with(Signal::Text);
    assert_eq!(signals("mmtok", &[], plain).0, Some((words, false)));
    assert_eq!(signals("mmtok", &[], one_by_one).0, Some((words.with(Signal::Excluded), false)));
    let next = |rotary| Signals::attention_of(TextAttention::NextLastToken { rotary, back: 0 });
    assert_eq!(signals("vscan", &[], plain).1, Some(next(true)));
    assert_eq!(signals("vscan", &[], native).1, Some(next(false)));
}

#[test]
fn blocks_without_attention_are_stepped_over_or_refused() {
    let layout = &layouts()[0];
    let linear = &models()[4];
    let block = |method: &str| {
        let pruner = pruner_by_name(method, Settings::default()).unwrap();
        let plan = plan(&Pruning::new(pruner, Budget::Tokens(60)), linear, &[layout], false);
        plan.map(|plan| plan.cuts[0].block)
    };
    assert_eq!((block("fastv"), block("dart"), block("mico")), (Some(4), Some(4), Some(8)));
    assert_eq!((block("sparsevlm"), block("vscan"), block("pyramiddrop")), (None, None, None));
    let mut pruning = Pruning::mico(Budget::Tokens(60));
    for (block, accepted) in [(7, "a block with attention: 4, 8"), (0, "1 to 31"), (32, "1 to 31")]
    {
        pruning.refine_layer = Some(block);
        let context = PlanContext {
            model: linear,
            policy: Policy::realized(LAYERS, 8),
            per_frame: false,
            normalization: Normalization::VisualOnly,
            images: &[layout],
        };
        let error = pruning.plan(&context).unwrap_err().to_string();
        assert!(error.starts_with(&format!("refine-layer is {block}")), "{error}");
        assert!(error.contains(accepted), "{error}");
        // The same without an image to spend the budget on.
        let error = pruning.plan(&PlanContext { images: &[], ..context }).unwrap_err();
        assert!(error.to_string().contains(accepted), "{error}");
    }
}

#[test]
fn a_method_says_whether_its_block_can_be_moved() {
    let of = |method: &str| pruner_by_name(method, Settings::default()).unwrap().refinement();
    for method in pruners() {
        let expected = match method.name {
            "mico" => Refinement::Model,
            "fastv" | "dart" | "vscan" | "apet" => Refinement::Own,
            "sparsevlm" | "pyramiddrop" => Refinement::Several,
            _ => Refinement::None,
        };
        assert_eq!(of(method.name), expected, "{}", method.name);
    }
}
