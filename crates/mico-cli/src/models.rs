//! `mico models`: what can be run.

use clap::Args;
use mico_engine::families::FamilySpec;
use mico_model::Preset;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List the published models, with what to write after `--model`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// A line of the table of published models.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    /// Where its weights are published; what `--model` takes.
    hub_id: Option<&'static str>,
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
    quantized: bool,
}

fn rows() -> Result<Vec<Row>, Failure> {
    let row = |preset: &Preset| {
        let config = preset.config();
        let family = FamilySpec::find(config.family)?;
        Ok(Row {
            name: preset.name,
            hub_id: preset.hub_id,
            family: family.name(),
            layers: config.decoder.blocks,
            refine_layer: preset.refine_layer,
            visual_tokens: family.images.token_rule,
            supported: Supported {
                image: true,
                video: family.traits().takes_video,
                quantized: true,
            },
        })
    };
    FamilySpec::presets().into_iter().map(row).collect()
}

/// Runs `mico models`: lists the published models whose shapes are known.
pub fn run(args: &ModelsArgs) -> Result<(), Failure> {
    let rows = rows()?;
    if args.json {
        return output::json(&rows);
    }
    output::line("name                    --model                            L   K  takes")?;
    let mut rules: Vec<(&str, &str)> = Vec::new();
    for row in &rows {
        let takes = if row.supported.video { "image, video" } else { "image" };
        // The embedded model has its name alone.
        let model = row.hub_id.unwrap_or(row.name);
        output::line(&format!(
            "{:<23} {model:<33} {:>2}  {:>2}  {takes}",
            row.name, row.layers, row.refine_layer
        ))?;
        if !rules.contains(&(row.family, row.visual_tokens)) {
            rules.push((row.family, row.visual_tokens));
        }
    }
    output::line("\nvisual tokens")?;
    for (family, rule) in rules {
        output::line(&format!("{family:<23} {rule}"))?;
    }
    let taken = "--model takes either name, or a folder with such a model in any size.";
    output::line(&format!("\n{taken}"))
}
