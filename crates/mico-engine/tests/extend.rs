//! A family that lives outside the workspace's crates: one value in one file, handed to
//! `EngineOptions::families`, and it loads, answers and prunes like the others.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::path::Path;

use candle_core::{Device, Tensor};
use mico_engine::families::{FAMILIES, FamilySpec, LLAVA};
use mico_engine::pruner::Pruning;
use mico_engine::{Engine, EngineOptions, Generation, ImageInput, Outcome, Prompt, Request};
use mico_select::schedule::Budget;
use serde_json::json;
use support::{bits, folder};

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
    use mico_model::{Embedded, Encoded, Grid, ModelConfig, Pixels, Result, VisionTaps, Watch};
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
        fn encode(&self, pixels: &Pixels, taps: VisionTaps, watch: Watch<'_>) -> Result<Encoded> {
            let side = self.tower.config().grid();
            check_views(pixels, Grid { rows: side, columns: side })?;
            let seen = self.tower.forward(&pixels.values, taps.attention, watch)?;
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

fn ask(engine: &Engine, pruning: Pruning) -> Outcome {
    let image = std::fs::read_dir(folder("llava15").join("inputs")).unwrap().next().unwrap();
    let image = ImageInput::Encoded(std::fs::read(image.unwrap().path()).unwrap());
    let mut request = Request::new(vec![image], Prompt::question("what is it?", 1));
    request.turn.generation = Generation::greedy(6);
    request.turn.dump = true;
    request.pruning = pruning;
    engine.run(&request, &mut ()).unwrap()
}

fn logits(outcome: &Outcome) -> Vec<u32> {
    bits(outcome.dump.as_ref().unwrap().get("first_logits").unwrap())
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
    assert_eq!(plain.trace.visual_tokens, 16);
    let all = ask(&engine, Pruning::mico(Budget::Share(1.0)));
    assert_eq!(logits(&plain), logits(&all));
    assert_eq!(plain.answer.ids, all.answer.ids);

    let few = ask(&engine, Pruning::mico(Budget::Tokens(4)));
    assert_eq!(few.trace.stage1.as_ref().unwrap().kept.len(), 8);
    assert!(few.trace.stage2.as_ref().unwrap().kept.len() < 8);
    assert_ne!(logits(&plain), logits(&few));
}

#[test]
fn its_prompt_stands_between_its_own_marks() {
    let engine = open(&KNOWN).unwrap();
    let messages = [mico_engine::Message::user("what?", 1)];
    let ids = engine.encode_messages(&messages).unwrap();
    let tokenizer = engine.tokenizer().unwrap();
    let place = ids.iter().position(|&id| id == 120).unwrap();
    let text = |ids: &[u32]| tokenizer.decode(ids).unwrap();
    assert!(text(&ids[..place]).ends_with("user("), "{}", text(&ids[..place]));
    assert!(text(&ids[place + 1..]).ends_with("what? answer:"), "{}", text(&ids[place + 1..]));
}

#[test]
fn who_does_not_know_it_says_so() {
    let error = open(FAMILIES).unwrap_err().to_string();
    assert!(error.contains("`model_type` is `abacus`, accepted: llava, llava_next"), "{error}");
    let mut engine = open(&KNOWN).unwrap();
    let error = engine.set_switches("llava15_pad=crop".parse().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("the family abacus knows no such switch"), "{error}");
}
