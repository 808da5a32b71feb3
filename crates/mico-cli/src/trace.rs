//! `mico trace`: everything that happened to one request.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use mico_engine::{Observe, Outcome, Prompt, Request};

use crate::failure::Failure;
use crate::files::{OutputFile, Outputs};
use crate::generation_args::GenerationArgs;
use crate::interrupt::Interruptible;
use crate::model_args::ModelArgs;
use crate::output;
use crate::progress::Waiting;
use crate::pruning_args::PruningArgs;
use crate::run::note;
use crate::visual_args::VisualArgs;

/// Run one request and tell everything that happened.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("text").required(true).args(["prompt", "input_ids"]))]
pub struct TraceArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    visuals: VisualArgs,
    /// What to ask, put into the model's prompt.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Raw token ids with one image placeholder per image (or per video), as a JSON list.
    #[arg(long, value_name = "[..]", value_parser = ids)]
    input_ids: Option<Ids>,
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Write the tensors along the way to a safetensors file.
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// A list of token ids.
#[derive(Debug, Clone)]
struct Ids(Vec<u32>);

fn ids(text: &str) -> Result<Ids, String> {
    let accepted = "accepted: a JSON list of token ids such as [1,32000,5]";
    serde_json::from_str(text).map(Ids).map_err(|error| format!("{error}, {accepted}"))
}

impl TraceArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }
}

/// Runs `mico trace`: writes down everything that happened to one request.
pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    let (outcome, file) = trace(args)?;
    if let (Some(file), Some(dump)) = (file, &outcome.tensors) {
        file.write(dump.to_bytes()?)?;
    }
    if args.json {
        return output::json(&outcome.trace());
    }
    output::line(&prose(&outcome))
}

fn trace(args: &TraceArgs) -> Result<(Outcome, Option<OutputFile>), Failure> {
    let setting = args.model.base()?.with_pruning(args.pruning.pruning()?);
    let options = setting.options()?;
    let mut outputs = Outputs::new();
    args.model.protect(&mut outputs)?;
    args.visuals.protect(&mut outputs)?;
    let dump = args.dump.as_ref().map(|path| outputs.file("--dump", path)).transpose()?;
    let images = args.visuals.images()?;
    let generation = args.generation.generation()?;
    let _interruptible = Interruptible::begin();
    let engine = args.model.open()?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let visuals = args.visuals.visuals(images, &engine)?;
    let (images, prompt) = match (&args.prompt, &args.input_ids) {
        (_, Some(Ids(ids))) => (visuals.inputs, Prompt::InputIds(ids.clone())),
        (Some(text), None) => {
            let images = visuals.for_text(&engine).inputs;
            let prompt = Prompt::question(text, images.len());
            (images, prompt)
        }
        (None, None) => return Err(Failure::misused("--prompt or --input-ids is needed")),
    };
    let observe = if args.dump.is_some() { Observe::TENSORS } else { Observe::TRACE };
    let request =
        Request::new(images, prompt).with(options).generating(generation).observing(observe);
    let outcome = engine.run(&request, &mut Waiting::default());
    let outcome = outcome.map_err(|error| args.visuals.with_file_name(error))?;
    if let Some(note) = note(&engine, &outcome) {
        eprintln!("{note}");
    }
    Ok((outcome, dump))
}

fn prose(outcome: &Outcome) -> String {
    let (usage, model) = (&outcome.usage, &outcome.model);
    let stage = |kept: Option<usize>| kept.map_or("-".to_string(), |count| count.to_string());
    let seconds = &outcome.seconds;
    let lines = [
        format!("{} with {} blocks, {}", model.family, model.layers, refinement(outcome)),
        format!(
            "visual tokens {} -> {} -> {}, layer average {:.2}, prompt {}",
            usage.visual_tokens,
            stage(outcome.stage1.as_ref().map(|stage| stage.kept.len())),
            stage(outcome.cuts.last().map(|cut| cut.kept.len())),
            usage.layer_average,
            usage.prompt_tokens,
        ),
        format!("cache lengths {}", lengths(&outcome.cache_lengths)),
        format!(
            "seconds: preprocess {:.3}, vision {:.3}, projector {:.3}, stage 1 {:.3}, relevance \
             {:.3}, stage 2 {:.3}, prefill {:.3}, decode {:.3}",
            seconds.preprocess,
            seconds.vision,
            seconds.projector,
            seconds.stage1,
            seconds.stage2_relevance,
            seconds.stage2_select,
            seconds.decoder_prefill,
            seconds.decode,
        ),
        format!("ids {:?}", outcome.answer.ids),
        outcome.answer.text.clone(),
    ];
    lines.join("\n")
}

/// Where tokens went inside the decoder.
fn refinement(outcome: &Outcome) -> String {
    let blocks: Vec<String> = outcome.cuts.iter().map(|cut| cut.block.to_string()).collect();
    match blocks.len() {
        0 => "no refinement".to_owned(),
        1 => format!("refinement after block {}", blocks[0]),
        _ => format!("refinement after blocks {}", blocks.join(", ")),
    }
}

/// Cache lengths with a dash for blocks that keep a state instead.
fn lengths(all: &[Option<usize>]) -> String {
    let one = |length: &Option<usize>| length.map_or("-".to_string(), |length| length.to_string());
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}
