//! `mico models`: what can be run.

use clap::Args;
use mico_select::schedule::PRESETS;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List the published models.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Print one JSON document.
    #[arg(long, env = "MICO_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
}

/// A published model.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    family: &'static str,
    layers: usize,
    refine_layer: usize,
    visual_tokens: &'static str,
    supported: Supported,
}

/// What this build runs of it.
#[derive(Debug, Serialize)]
struct Supported {
    image: bool,
    video: bool,
    quantised: bool,
}

/// The family of a preset, how many visual tokens its input has, and whether the engine runs it.
fn kind(name: &str) -> (&'static str, &'static str, bool) {
    match name {
        "llava-1.5-7b" | "llava-1.5-13b" | "tiny" => ("llava", "576", true),
        "llava-next-7b" | "llava-next-13b" | "llava-next-mistral-7b" => {
            ("llava_next", "576 per view: the whole image and 2 to 4 crops", true)
        }
        "qwen2.5-vl-7b" => ("qwen2_5_vl", "one per 28 x 28 pixels", false),
        "qwen3-vl-8b" => ("qwen3_vl", "one per 32 x 32 pixels", false),
        "qwen3.5-9b" => ("qwen3_5", "one per 32 x 32 pixels", false),
        "internvl3-8b" => ("internvl", "256 per tile, up to 12 tiles and a thumbnail", false),
        "llava-video-7b" => ("llava_video", "169 per frame, up to 64 frames", false),
        _ => ("unknown", "unknown", false),
    }
}

fn rows() -> Vec<Row> {
    let row = |preset: &mico_select::schedule::Preset| {
        let (family, visual_tokens, runs) = kind(preset.name);
        Row {
            name: preset.name,
            family,
            layers: preset.policy.layers,
            refine_layer: preset.policy.refine_layer,
            visual_tokens,
            supported: Supported { image: runs, video: false, quantised: runs },
        }
    };
    PRESETS.iter().map(row).collect()
}

/// Runs the verb.
pub fn run(args: &ModelsArgs) -> Result<(), Failure> {
    let rows = rows();
    if args.json {
        return output::json(&rows);
    }
    output::line("name                    family       L   K  runs  visual tokens")?;
    for row in rows {
        let runs = if row.supported.image { "yes" } else { "no" };
        output::line(&format!(
            "{:<23} {:<11} {:>2}  {:>2}  {runs:<4}  {}",
            row.name, row.family, row.layers, row.refine_layer, row.visual_tokens
        ))?;
    }
    Ok(())
}
