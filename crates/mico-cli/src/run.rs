//! `mico run`: an answer to a question about images or a video.

use std::io::IsTerminal;

use clap::Args;
use mico_chart::overlay::{Caption, Clip, Pruned, draw, draw_video};
use mico_engine::{Engine, Error, ImageInput, Outcome, Prompt, Request};
use serde::Serialize;

use crate::chat;
use crate::failure::Failure;
use crate::files::{OutputFile, Outputs};
use crate::generation_args::GenerationArgs;
use crate::images;
use crate::model_args::ModelArgs;
use crate::output::{self, Streamed};
use crate::picture::{self, PictureFile, RasterFormat};
use crate::progress::Waiting;
use crate::pruning_args::PruningArgs;
use crate::visual_args::{VisualArgs, Visuals};

/// Answer a question about an image or a video.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    visuals: VisualArgs,
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Draw what was kept, beside question and answer, to a `.png`, `.jpg` or `.webp` file.
    #[arg(long, value_name = "FILE", value_parser = picture::raster())]
    overlay: Option<PictureFile<RasterFormat>>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// What to ask. On a terminal, without one, a conversation begins.
    #[arg(env = "MICO_QUESTION")]
    question: Option<String>,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    answer: &'a str,
    finish: &'static str,
    method: &'a str,
    visual_tokens: usize,
    stage1_kept: Option<usize>,
    stage2_kept: Option<usize>,
    layer_average: f64,
    prompt_tokens: usize,
    generated_tokens: usize,
    model: &'a mico_engine::ModelTrace,
    uncalibrated: bool,
    seconds: &'a mico_engine::Seconds,
    peak_memory_bytes: u64,
}

impl RunArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }
}

/// Runs `mico run`: answers a question about images or a video.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let setting = args.model.base()?.with_pruning(args.pruning.pruning()?);
    let options = setting.options()?;
    let mut outputs = Outputs::new();
    args.model.protect(&mut outputs)?;
    args.visuals.protect(&mut outputs)?;
    let overlay = args.overlay.as_ref();
    let overlay = overlay.map(|picture| outputs.file("--overlay", &picture.path)).transpose()?;
    let interactive = args.question.is_none() && std::io::stdin().is_terminal() && !args.json;
    if interactive && args.overlay.is_some() {
        return Err(Failure::misused("--overlay needs a question; a conversation draws nothing"));
    }
    let Some(question) = args.question.as_deref().or(interactive.then_some("")) else {
        return Err(Failure::misused("no question given"));
    };
    let images = args.visuals.images()?;
    if images.as_ref().is_some_and(Vec::is_empty) && !interactive {
        return Err(Failure::misused(images::NONE));
    }
    let engine = args.model.open()?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let Visuals { inputs, labels } = args.visuals.visuals(images, &engine)?.for_text(&engine);
    let prompt = Prompt::question(question, inputs.len());
    let request =
        Request::new(inputs, prompt).with(options).generating(args.generation.generation());
    if interactive {
        engine.check(&request.options)?;
        return chat::talk(&engine, request);
    }
    let name = request.options.pruning.pruner.name();
    let outcome = if args.json {
        engine.run(&request, &mut Waiting::default()).map_err(|e| args.visuals.with_file_name(e))?
    } else {
        let outcome = match engine.run(&request, &mut Streamed::default()) {
            // Nobody reads the answer any more: there is nobody to tell, either.
            Err(Error::Cancelled) => return Ok(()),
            outcome => outcome.map_err(|error| args.visuals.with_file_name(error))?,
        };
        output::line("")?;
        outcome
    };
    if let (Some(file), Some(picture)) = (&overlay, &args.overlay) {
        let drawn = Drawn { inputs: &request.turn.images, labels: &labels, question };
        write_overlay(file, picture.format, &drawn, &outcome)?;
    }
    if args.json {
        return output::json(&document(&outcome, name));
    }
    report(&engine, &outcome);
    Ok(())
}

fn document<'a>(outcome: &'a Outcome, method: &'a str) -> Document<'a> {
    let usage = &outcome.usage;
    Document {
        answer: &outcome.answer.text,
        finish: outcome.answer.finish.name(),
        method,
        visual_tokens: usage.visual_tokens,
        stage1_kept: outcome.stage1.as_ref().map(|stage| stage.kept.len()),
        stage2_kept: outcome.cuts.last().map(|cut| cut.kept.len()),
        layer_average: usage.layer_average,
        prompt_tokens: usage.prompt_tokens,
        generated_tokens: usage.generated_tokens,
        model: &outcome.model,
        uncalibrated: outcome.model.uncalibrated,
        seconds: &outcome.seconds,
        peak_memory_bytes: mico_util::memory::peak_resident().unwrap_or(0),
    }
}

/// `576 -> 128 -> 46`, with the stages that ran.
pub(crate) fn counts(outcome: &Outcome) -> String {
    let stages = [
        Some(outcome.usage.visual_tokens),
        outcome.stage1.as_ref().map(|stage| stage.kept.len()),
        outcome.cuts.last().map(|cut| cut.kept.len()),
    ];
    stages.into_iter().flatten().map(|n| n.to_string()).collect::<Vec<_>>().join(" -> ")
}

/// Statistics, on standard error.
pub(crate) fn report(engine: &Engine, outcome: &Outcome) {
    let (usage, seconds) = (&outcome.usage, &outcome.seconds);
    let pruning = seconds.stage1 + seconds.stage2_relevance + seconds.stage2_select;
    let before = seconds.preprocess + seconds.vision + seconds.projector;
    eprintln!(
        "visual tokens {} (layer average {:.1}); vision {:.2} s, pruning {:.3} s, prefill {:.2} s, \
         {} tokens in {:.2} s",
        counts(outcome),
        usage.layer_average,
        before,
        pruning,
        seconds.decoder_prefill,
        usage.generated_tokens,
        seconds.decode,
    );
    note(engine, outcome);
}

/// Says so where the refinement block was not calibrated for the model.
pub(crate) fn note(engine: &Engine, outcome: &Outcome) {
    let model = &outcome.model;
    if !outcome.cuts.is_empty() && model.uncalibrated {
        eprintln!(
            "note: refinement after block {} of {} is scaled from the family's published model, not \
             calibrated for this one",
            model.refine_layer,
            engine.model().decoder().blocks(),
        );
    }
}

/// What an overlay shows beside the outcome.
struct Drawn<'a> {
    inputs: &'a [ImageInput],
    labels: &'a [String],
    question: &'a str,
}

fn write_overlay(
    file: &OutputFile,
    format: RasterFormat,
    drawn: &Drawn<'_>,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let counts = counts(outcome).replace("->", "\u{2192}");
    let caption =
        Caption { question: drawn.question, answer: &outcome.answer.text, counts: &counts };
    let sheet = match (drawn.inputs, outcome.images.as_slice()) {
        ([ImageInput::Frames(frames)], [o]) => {
            let (stage1, kept) = (outcome.stage1_of(o), &outcome.kept_of(o));
            let (layout, stage1) = (&*o.layout, stage1.as_deref());
            draw_video(&Clip { frames, layout, stage1, kept, labels: drawn.labels }, &caption)
        }
        (inputs, outcomes) => {
            let kept: Vec<(Option<Vec<usize>>, Vec<usize>)> =
                outcomes.iter().map(|o| (outcome.stage1_of(o), outcome.kept_of(o))).collect();
            let shown = inputs.iter().zip(outcomes).zip(&kept);
            let pruned = shown.filter_map(|((input, o), (stage1, kept))| match input {
                ImageInput::Decoded(image) => {
                    Some(Pruned { image, layout: &o.layout, stage1: stage1.as_deref(), kept })
                }
                _ => None,
            });
            draw(&pruned.collect::<Vec<_>>(), &caption)
        }
    };
    let sheet = sheet.map_err(Failure::failed)?;
    file.write(format.encode(&sheet).map_err(Failure::failed)?)
}
