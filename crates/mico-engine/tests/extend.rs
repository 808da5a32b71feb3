//! A family and a pruning method that live outside the workspace's crates: one value each in one file,
//! handed to `EngineOptions::families` and to `Pruning::new`, and they run like the others.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::path::Path;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use mico_engine::families::{FAMILIES, FamilySpec, LLAVA};
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, ErrorKind, Generation, ImageInput, Observe, Outcome, Prompt, Request,
    SessionOptions,
};
use mico_select::Merge;
use mico_select::schedule::Budget;
use serde_json::json;
use support::{folder, logits, stage2};
use tally::Tally;

/// The made-up family Abacus: LLaVA's tower, a norm and one layer in place of the projector, and a
/// prompt and a word for images of its own. This module is all there is to it.
mod abacus {
    use std::path::Path;

    use candle_core::Tensor;
    use mico_engine::families::{
        FamilySpec, ImageSpec, LLAVA, Piece, PromptFormat, PromptSpec, QuestionWords,
    };
    use mico_engine::{Message, Part as MessagePart};
    use mico_model::config::{VitConfig, VitKind};
    use mico_model::extend::{
        Architecture, Builder, Family, Fields, LayerNorm, Linear, LinearShape, Part, Traits,
        VisionConfig, VisionFlops, VisionSettings, VisionSide, VitTower, bos, check_views, dtype,
        eos, read_decoder, read_vit, single_state, vit_flops,
    };
    use mico_model::{
        Embedded, Encoded, Grid, ModelConfig, Pixels, Result, TowerProgress, VisionTaps,
    };
    use mico_vision::llava::{Llava, PadMode};
    use mico_vision::preprocessor_config::PreprocessorConfig;

    /// The model half.
    pub(super) static ARCHITECTURE: Architecture = Architecture {
        name: "abacus",
        model_types: &["abacus"],
        claims: |_| true,
        read,
        build: |b, config| Ok(Box::new(Beads::build(b, config)?)),
        traits: Traits { projects_tokens: true, ..Traits::NONE },
        presets: &[],
    };

    static PROMPT: PromptFormat = PromptFormat {
        name: "abacus",
        render: |messages: &[Message]| {
            let mut pieces = Vec::new();
            for message in messages {
                pieces.push(Piece::own(message.role.name()));
                pieces.extend(message.parts.iter().map(|part| match part {
                    MessagePart::Image => Piece::Image,
                    MessagePart::Text(text) => Piece::Given { text: text.clone(), answer: false },
                }));
            }
            pieces.push(Piece::own(" answer:"));
            pieces
        },
    };

    /// The whole family: what is not said here is as in LLaVA.
    pub(super) static ABACUS: FamilySpec = FamilySpec {
        architecture: &ARCHITECTURE,
        images: ImageSpec {
            defaults: |config| {
                let vision: &BeadsConfig = config.vision.expect()?;
                Ok(PreprocessorConfig::clip(vision.tower.image_size as u32))
            },
            processor: |request| {
                let vision: &BeadsConfig = request.config.vision.expect()?;
                let patch = vision.tower.patch_size as u32;
                let pad = PadMode::ShortSideCrop;
                Ok(Box::new(Llava::from_config(&request.preprocessing, patch, pad)?))
            },
            token_rule: "16",
            ..LLAVA.images
        },
        prompt: PromptSpec {
            formats: &[&PROMPT],
            format: |_| &PROMPT,
            placeholder: Some("<bead>"),
            enclosure: Some(("(", ")")),
            question: QuestionWords::Whole { heading: "" },
            ..LLAVA.prompt
        },
        switches: &[],
        ..LLAVA
    };

    #[derive(Debug, Clone, PartialEq)]
    struct BeadsConfig {
        tower: VitConfig,
    }

    impl VisionSettings for BeadsConfig {
        fn feature_width(&self) -> usize {
            self.tower.hidden_size
        }

        fn head_width(&self) -> usize {
            self.tower.head_dim()
        }

        fn tower(&self) -> Option<&VitConfig> {
            Some(&self.tower)
        }

        fn tokens_per_view(&self) -> Option<usize> {
            Some(self.tower.patches())
        }

        fn blocks(&self) -> Result<usize> {
            Ok(self.tower.blocks)
        }

        fn validate(&self, file: &str) -> Result<()> {
            self.tower.validate(file)
        }

        fn flops(&self, grids: &[Grid], width: usize) -> Result<VisionFlops> {
            let tokens: usize = grids.iter().map(Grid::tokens).sum();
            Ok(VisionFlops {
                encoder: grids.len() as f64 * vit_flops(&self.tower, self.tower.blocks),
                projector: 2.0 * (tokens * self.tower.hidden_size * width) as f64,
                pooling: 0.0,
            })
        }
    }

    fn read(_folder: &Path, root: &Fields) -> Result<ModelConfig> {
        let text = root.part("text_config")?;
        Ok(ModelConfig {
            family: Family::of(&ARCHITECTURE),
            vision: VisionConfig::new(BeadsConfig {
                tower: read_vit(&root.part("vision_config")?, VitKind::Clip)?,
            }),
            decoder: read_decoder(&text, None, &["llama"])?,
            // The tokenizer knows the word.
            image_token_id: 0,
            eos_token_ids: eos(root, Some(&text), &[2])?,
            bos_token_id: bos(root, Some(&text))?,
            dtype: dtype(root, Some(&text))?,
        })
    }

    #[derive(Debug)]
    struct Beads {
        tower: VitTower,
        norm: LayerNorm,
        layer: Linear,
    }

    impl Beads {
        fn build(b: &mut Builder<'_>, config: &ModelConfig) -> Result<Self> {
            let vision: &BeadsConfig = config.vision.expect()?;
            let (input, output) = (vision.tower.hidden_size, config.decoder.hidden_size);
            let shape = LinearShape { input, output, bias: true };
            Ok(Self {
                tower: VitTower::build(b, &vision.tower, vision.tower.blocks)?,
                norm: b.layer_norm(Part::Projector, "layer_norm", input, 1e-5)?,
                layer: b.dense(Part::Projector, "linear_1", shape)?,
            })
        }
    }

    impl VisionSide for Beads {
        fn encode(
            &self,
            pixels: Pixels,
            taps: VisionTaps,
            progress: TowerProgress<'_>,
        ) -> Result<Encoded> {
            let side = self.tower.config().grid();
            check_views(&pixels, Grid { rows: side, columns: side })?;
            let seen = self.tower.forward(pixels.values, taps.attention, progress)?;
            let rows = seen.features.flatten(0, 1)?;
            let flat = |views: Option<Tensor>| views.map(|views| views.flatten_all()).transpose();
            Ok(Encoded {
                features: taps.features.then(|| rows.clone()),
                reliability: flat(seen.attention)?,
                shallow: flat(seen.shallow)?,
                keys: seen.keys.map(|views| views.flatten(0, 1)).transpose()?,
                states: vec![rows],
            })
        }

        fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
            let embeds = self.layer.forward(&self.norm.forward(single_state(encoded)?)?)?;
            Ok(Embedded { embeds, deepstack: Vec::new(), newline: None })
        }

        fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
            self.layer.forward(&self.norm.forward(features)?).map(Some)
        }
    }
}

/// The made-up method Tally: the tokens with the largest vectors, once before the decoder and once
/// after its second block, where those that go are poured into the first that stays.
mod tally {
    use mico_engine::pruner::{
        Cut, FeatureSpace, Plan, PlanRequest, Pruner, Quota, Signals, Stage1Plan, Stage1View,
        Stage2View,
    };
    use mico_select::schedule::Budget;
    use mico_select::{
        Context, Error, Merge, Result, Selection, Selector, Signal, SignalSet, Tokens,
    };

    pub(super) const NAME: &str = "tally";
    /// The block after which tokens go.
    pub(super) const BLOCK: usize = 2;

    /// The pruner. A merge that it is given takes the place of its own.
    #[derive(Debug, Default)]
    pub(super) struct Tally {
        pub(super) in_rule: Option<Merge>,
        pub(super) after_block: Option<Merge>,
    }

    /// The selection rule: the largest vectors, equal ones in index order.
    struct Largest<'a>(Option<&'a Merge>);

    impl Selector for Largest<'_> {
        fn name(&self) -> &'static str {
            NAME
        }

        fn reads(&self, present: SignalSet) -> Result<SignalSet> {
            present.require(NAME, &[Signal::Features])?;
            Ok(SignalSet::of(&[Signal::Features]))
        }

        fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
            let rows = tokens.rows(Signal::Features)?.to_dense();
            let size = |token: usize| rows.row(token).iter().map(|x| x * x).sum::<f32>();
            let mut order: Vec<usize> = (0..tokens.len()).collect();
            order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
            order.truncate(budget);
            let mut selection = Selection::from_order(order);
            selection.merges.extend(self.0.cloned());
            Ok(selection)
        }
    }

    impl Pruner for Tally {
        fn name(&self) -> &'static str {
            NAME
        }

        fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
            let Budget::Tokens(tokens) = request.budget else {
                let reason = "it counts tokens, not shares".into();
                return Err(Error::Refused { method: NAME, reason });
            };
            let features = |space| Signals::of(space, &[Signal::Features]);
            let images = request.images();
            let quotas = vec![Quota::Image(2 * tokens); images.len()];
            let stage1 = Stage1Plan::new(features(FeatureSpace::Tower), quotas, images);
            let cut = Cut::new(BLOCK, tokens * images.len(), features(FeatureSpace::Residual));
            Ok(Plan::before_decoder(stage1).with_cuts(vec![cut]))
        }

        fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
            view.select(&Largest(self.in_rule.as_ref()), quota, 0)
        }

        fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
            let mut selection = view.select(&Largest(None), ask, 0)?;
            let poured = self.after_block.clone().unwrap_or_else(|| {
                let gone = |token: &usize| !selection.kept.contains(token);
                let sources: Vec<usize> = (0..view.tokens()).filter(gone).collect();
                let shares = vec![0.5 / sources.len() as f64; sources.len()];
                Merge { target: selection.kept[0], own: 0.5, sources, shares }
            });
            selection.merges.push(poured);
            Ok(selection)
        }
    }
}

/// The families of the engine and one more.
static KNOWN: [&FamilySpec; 2] = [&LLAVA, &abacus::ABACUS];

/// Writes a checkpoint of the made-up family: a tiny LLaVA's tower and decoder, another projector.
fn write_checkpoint(to: &Path) {
    let from = folder("llava15");
    let mut config = support::json(&from.join("config.json"));
    config["model_type"] = json!("abacus");
    config["image_token_index"] = json!(null);
    std::fs::write(to.join("config.json"), config.to_string()).unwrap();
    let tokenizer = std::fs::read_to_string(from.join("tokenizer.json")).unwrap();
    std::fs::write(to.join("tokenizer.json"), tokenizer.replace("<image>", "<bead>")).unwrap();
    let mut tensors = std::collections::HashMap::new();
    for shard in ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] {
        tensors.extend(candle_core::safetensors::load(from.join(shard), &Device::Cpu).unwrap());
    }
    tensors.retain(|name, _| !name.contains("multi_modal_projector"));
    let (tower, decoder) = (20, 24);
    let wave = |shape: &[usize], phase: f32| {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7 + phase).sin() * 0.4).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    };
    for (name, shape, phase) in [
        ("layer_norm.weight", &[tower][..], 1.5),
        ("layer_norm.bias", &[tower], 0.1),
        ("linear_1.weight", &[decoder, tower], 0.3),
        ("linear_1.bias", &[decoder], 0.9),
    ] {
        tensors.insert(format!("multi_modal_projector.{name}"), wave(shape, phase));
    }
    candle_core::safetensors::save(&tensors, to.join("model.safetensors")).unwrap();
}

fn open(families: &'static [&'static FamilySpec]) -> mico_engine::Result<Engine> {
    let checkpoint = tempfile::tempdir().unwrap();
    write_checkpoint(checkpoint.path());
    let options = EngineOptions { families, ..EngineOptions::default() };
    let (engine, report) = Engine::open(checkpoint.path(), &options)?;
    assert_eq!(report.unexpected, Vec::<String>::new());
    Ok(engine)
}

fn try_to_ask(engine: &Engine, pruning: Pruning) -> mico_engine::Result<Outcome> {
    let image = std::fs::read_dir(folder("llava15").join("inputs")).unwrap().next().unwrap();
    let image = ImageInput::Encoded(std::fs::read(image.unwrap().path()).unwrap());
    let request = Request::new(vec![image], Prompt::question("what is it?", 1))
        .with(pruning)
        .generating(Generation::greedy(6))
        .observing(Observe::TENSORS);
    engine.run(&request, &mut ())
}

fn ask(engine: &Engine, pruning: Pruning) -> Outcome {
    try_to_ask(engine, pruning).unwrap()
}

#[test]
fn a_family_of_ones_own_loads_answers_and_prunes() {
    let engine = open(&KNOWN).unwrap();
    let about = engine.describe();
    assert_eq!((about.family, about.prompt_style), ("abacus", "abacus"));
    // Nobody calibrated it: the block is scaled from the paper's 7 of 32.
    assert_eq!((about.preset, about.refine_layer), (None, 1));
    assert_eq!(about.image_token_id, 120);

    let plain = ask(&engine, Pruning::off());
    assert_eq!(plain.usage.visual_tokens, 16);
    let all = ask(&engine, Pruning::mico(Budget::Share(1.0)));
    assert_eq!(logits(&plain), logits(&all));
    assert_eq!(plain.answer.ids, all.answer.ids);

    let few = ask(&engine, Pruning::mico(Budget::Tokens(4)));
    assert_eq!(few.stage1.as_ref().unwrap().kept.len(), 8);
    assert!(stage2(&few).unwrap().len() < 8);
    assert_ne!(logits(&plain), logits(&few));
}

#[test]
fn its_prompt_stands_between_its_own_marks() {
    let engine = open(&KNOWN).unwrap();
    let messages = [mico_engine::Message::user("what?", 1)];
    let ids = engine.encode_messages(&messages, None).unwrap();
    let tokenizer = engine.tokenizer().unwrap();
    let place = ids.iter().position(|&id| id == 120).unwrap();
    let text = |ids: &[u32]| tokenizer.decode(ids).unwrap();
    assert!(text(&ids[..place]).ends_with("user("), "{}", text(&ids[..place]));
    assert!(text(&ids[place + 1..]).ends_with("what? answer:"), "{}", text(&ids[place + 1..]));
}

#[test]
fn who_does_not_know_it_says_so() {
    let error = open(FAMILIES).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = error.to_string();
    assert!(error.contains("`model_type` is `abacus`, accepted: llava, llava_next"), "{error}");
    let engine = open(&KNOWN).unwrap();
    let mut options = SessionOptions::default();
    options.switches = "llava15_pad=crop".parse().unwrap();
    let error = engine.check(&options).unwrap_err().to_string();
    assert!(error.ends_with("the family abacus knows no such switch"), "{error}");
}

fn tally(method: Tally, tokens: usize) -> Pruning {
    Pruning::new(Arc::new(method), Budget::Tokens(tokens))
}

#[test]
fn a_method_of_ones_own_keeps_what_it_planned() {
    let engine = open(&KNOWN).unwrap();
    let plain = ask(&engine, Pruning::off());
    let few = ask(&engine, tally(Tally::default(), 3));
    assert_eq!(few.stage1.as_ref().unwrap().kept.len(), 6);
    assert_eq!((few.cuts.len(), few.cuts[0].block), (1, tally::BLOCK));
    assert_eq!(stage2(&few).unwrap().len(), 3);
    // Two of the four blocks see 6 visual tokens, two see 3.
    assert_eq!(few.usage.layer_average, 4.5);
    let gone = |(all, left): (&Option<usize>, &Option<usize>)| all.unwrap() - left.unwrap();
    let answered = plain.answer.ids.len() as i64 - few.answer.ids.len() as i64;
    let lengths = plain.cache_lengths.iter().zip(&few.cache_lengths);
    let gone: Vec<i64> = lengths.map(|pair| gone(pair) as i64 - answered).collect();
    assert_eq!(gone, [10, 10, 13, 13]);
    assert_ne!(logits(&plain), logits(&few));
    // Shares are not its way.
    let share = Pruning::new(Arc::new(Tally::default()), Budget::Share(0.5));
    let error = try_to_ask(&engine, share).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[test]
fn a_method_that_merges_what_is_not_there_is_at_fault_itself() {
    let engine = open(&KNOWN).unwrap();
    let merge =
        |target, source| Some(Merge { target, own: 0.5, sources: vec![source], shares: vec![0.5] });
    for (target, source) in [(0, 99), (99, 0), (usize::MAX, usize::MAX)] {
        let bad = merge(target, source);
        for method in [
            Tally { in_rule: bad.clone(), ..Tally::default() },
            Tally { after_block: bad, ..Tally::default() },
        ] {
            let error = try_to_ask(&engine, tally(method, 3)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            assert!(error.to_string().contains("'tally'"), "{error}");
        }
    }
    // The engine is none the worse for it.
    ask(&engine, tally(Tally::default(), 3));
}
