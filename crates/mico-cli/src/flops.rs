//! `mico flops`: what a prefill costs by the paper's accounting, without weights.

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use mico_engine::families::FamilySpec;
use mico_engine::flops::Head;
use mico_engine::pruner::Pruning;
use mico_engine::{Counted, Estimate, Switches, TextTokens};
use mico_model::Preset;
use mico_vision::Size;
use serde::Serialize;

use crate::choices;
use crate::failure::Failure;
use crate::images::image_size;
use crate::output;
use crate::pruning_args::PruningArgs;

/// The most text tokens one may ask for.
const MAX_TOKENS: u64 = 1 << 20;
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// Where the output head is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HeadArg {
    /// The whole prefill, as in the paper's tables.
    All,
    /// The last position, which is what the engine runs.
    Last,
}

/// Count the FLOPs of a prefill as the paper does; no weights are needed.
#[derive(Debug, Args)]
pub struct FlopsArgs {
    /// A published model, by its name.
    #[arg(long, value_name = "NAME", value_parser = choices::preset())]
    preset: &'static Preset,
    #[command(flatten)]
    pruning: PruningArgs,
    /// Text tokens of the prompt; 69 unless given, 105 for video, as in the paper.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_TOKENS))]
    text_tokens: Option<usize>,
    /// Text tokens before the image; 35 unless given, 15 for Qwen, InternVL and video.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(0..=MAX_TOKENS))]
    text_before: Option<usize>,
    /// Frames of a video; 64 unless given.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_FRAMES))]
    frames: Option<usize>,
    /// Size of the image, as `WIDTHxHEIGHT`; what gives the paper's number of tokens unless given.
    #[arg(long, value_name = "WxH", value_parser = image_size)]
    image_size: Option<Size>,
    /// Positions the output head is counted over.
    #[arg(long, value_enum, default_value = "all")]
    head: HeadArg,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document {
    preset: &'static str,
    method: &'static str,
    text_tokens: usize,
    #[serde(flatten)]
    counted: Counted,
}

impl FlopsArgs {
    fn estimate(&self) -> Result<Document, Failure> {
        let (family, preset) = FamilySpec::preset(self.preset.name).map_err(Failure::misused)?;
        let pruning = match self.pruning.pruning()? {
            Some(pruning) => pruning.build()?,
            None => Pruning::off(),
        };
        let config = preset.config();
        let usual = &family.usual;
        if let (Some(frames), false) = (self.frames, family.traits().takes_video) {
            let message = format!("--frames {frames}: {} takes images, not videos", preset.name);
            return Err(Failure::misused(message));
        }
        let size = match self.image_size {
            Some(size) => size,
            None => (usual.paper_size)(&config)?,
        };
        let frames = self.frames.unwrap_or(usual.paper_frames);
        let total = self.text_tokens.unwrap_or(usual.text_tokens);
        if let Some(before) = self.text_before.filter(|&before| before > total) {
            let message =
                format!("--text-before {before}, accepted: at most --text-tokens {total}");
            return Err(Failure::misused(message));
        }
        let before = self.text_before.unwrap_or(usual.text_before_image.min(total - 1));
        let text = TextTokens { total, before };
        let head = match self.head {
            HeadArg::All => Head::All,
            HeadArg::Last => Head::Last,
        };
        let switches = Switches { image_limits: usual.limits, ..Switches::default() };
        let estimate = Estimate::new(family, config, size, frames, switches)?;
        let counted = estimate.prefill(&pruning, text, head)?;
        let method = pruning.pruner.name();
        Ok(Document { preset: preset.name, method, text_tokens: total, counted })
    }
}

/// Runs `mico flops`: prints the estimated FLOPs of a prefill.
pub fn run(args: &FlopsArgs) -> Result<(), Failure> {
    let document = args.estimate()?;
    if args.json {
        return output::json(&document);
    }
    let Counted { visual_tokens, stage1_kept, stage2_kept, layer_average, gflops } =
        document.counted;
    let counts = [Some(visual_tokens), stage1_kept, stage2_kept];
    let counts: Vec<String> = counts.iter().flatten().map(usize::to_string).collect();
    output::line(&format!(
        "{}, {}: {} visual tokens, layer average {layer_average:.2}, {} text tokens",
        document.preset,
        document.method,
        counts.join(" -> "),
        document.text_tokens
    ))?;
    let rows = [
        ("vision encoder", gflops.vision_encoder),
        ("projector", gflops.projector),
        ("visual pooling", gflops.visual_pooling),
        ("decoder", gflops.decoder),
        ("output head", gflops.output_head),
        ("Stage 1", gflops.stage1),
        ("Stage 2 relevance", gflops.stage2_relevance),
        ("Stage 2 selection", gflops.stage2_select),
        ("total", gflops.total),
    ];
    for (name, value) in rows {
        let share = 100.0 * value / gflops.total;
        output::line(&format!("{name:<18} {value:>13.3} GFLOPs {share:>7.3} %"))?;
    }
    Ok(())
}
