//! `mico models`: what can be run.

use clap::Args;
use mico_model::{Family, PRESETS, Preset};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List the published models.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Print one JSON document.
    #[arg(long)]
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

/// How many visual tokens a family's input has.
fn tokens_rule(family: Family) -> &'static str {
    match family {
        Family::Llava => "576",
        Family::LlavaNext => "576 per view: the whole image and 2 to 4 crops",
        Family::Qwen25Vl => "one per 28 x 28 pixels",
        Family::Qwen3Vl | Family::Qwen35 => "one per 32 x 32 pixels",
        Family::InternVl => "256 per tile, up to 12 tiles and a thumbnail",
        Family::LlavaVideo => "169 per frame, up to 64 frames",
    }
}

fn rows() -> Vec<Row> {
    let row = |preset: &Preset| Row {
        name: preset.name,
        family: preset.family.name(),
        layers: preset.config().decoder.blocks,
        refine_layer: preset.refine_layer,
        visual_tokens: tokens_rule(preset.family),
        supported: Supported {
            image: true,
            video: preset.family == Family::LlavaVideo,
            quantised: true,
        },
    };
    PRESETS.iter().map(row).collect()
}

/// Runs the verb.
pub fn run(args: &ModelsArgs) -> Result<(), Failure> {
    let rows = rows();
    if args.json {
        return output::json(&rows);
    }
    output::line("name                    family       L   K  takes         visual tokens")?;
    for row in rows {
        let takes = if row.supported.video { "image, video" } else { "image" };
        output::line(&format!(
            "{:<23} {:<11} {:>2}  {:>2}  {takes:<12}  {}",
            row.name, row.family, row.layers, row.refine_layer, row.visual_tokens
        ))?;
    }
    Ok(())
}
