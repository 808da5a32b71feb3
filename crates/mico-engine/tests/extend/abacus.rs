//! The made-up family Abacus: LLaVA's tower, a norm and one layer in place of the projector, and a
//! prompt and a word for images of its own. This file is all there is to it.

use std::path::Path;
use std::sync::Arc;

use candle_core::Tensor;
use mico_engine::families::{
    FamilySpec, ImageSpec, LLAVA, Piece, PromptFormat, PromptSpec, QuestionWords,
};
use mico_engine::{Message, Part as MessagePart};
use mico_model::config::{VitConfig, VitKind};
use mico_model::extend::{
    Architecture, Builder, Family, Fields, LayerNorm, Linear, LinearShape, Part, Traits,
    VisionConfig, VisionFlops, VisionSettings, VisionSide, VitTower, bos, check_views, dtype, eos,
    read_decoder, read_vit, single_state, vit_flops,
};
use mico_model::{Embedded, Encoded, Grid, ModelConfig, Pixels, Result, TowerRun, VisionTaps};
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
    tower: Arc<VitTower>,
    norm: LayerNorm,
    layer: Linear,
}

impl Beads {
    fn build(b: &mut Builder<'_>, config: &ModelConfig) -> Result<Self> {
        let vision: &BeadsConfig = config.vision.expect()?;
        let (input, output) = (vision.tower.hidden_size, config.decoder.hidden_size);
        let shape = LinearShape { input, output, bias: true };
        Ok(Self {
            tower: Arc::new(VitTower::build(b, &vision.tower, vision.tower.blocks)?),
            norm: b.layer_norm(Part::Projector, "layer_norm", input, 1e-5)?,
            layer: b.dense(Part::Projector, "linear_1", shape)?,
        })
    }
}

impl VisionSide for Beads {
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        let side = self.tower.config().grid();
        check_views(&pixels, Grid { rows: side, columns: side })?;
        let run = self.tower.begin(&pixels.values, taps.attention)?;
        Ok(TowerRun::new(run, move |seen| seen.flattened(taps)))
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let embeds = self.layer.forward(&self.norm.forward(single_state(encoded)?)?)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: None })
    }

    fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
        self.layer.forward(&self.norm.forward(features)?).map(Some)
    }
}
