//! `mico run`: an answer to a question about images or a video.

use std::fmt;
use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use mico_engine::{Engine, Error, Outcome, Prompt, Request, Setting};
use mico_vision::RgbImage;
use serde::Serialize;

use crate::chat::{Conversation, Start};
use crate::failure::Failure;
use crate::files::Outputs;
use crate::generation_args::GenerationArgs;
use crate::images;
use crate::interrupt::{self, Interruptible};
use crate::model_args::ModelArgs;
use crate::output::{self, Streamed};
use crate::overlay::{self, Drawn};
use crate::picture::{self, PictureFile, RasterFormat};
use crate::progress::Waiting;
use crate::pruning_args::PruningArgs;
use crate::visual_args::{self, VisualArgs, Visuals};

/// What to type, where it is not said what to do.
const USAGE: &str = "usage: mico run --image FILE [--budget T] QUESTION, for example: mico run \
    --image examples/shapes.png \"What letter is on the purple circle?\"; without a question, on a \
    terminal, mico run --image FILE begins a conversation";

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
    /// Show the model no image: it answers from the text alone.
    #[arg(long, conflicts_with_all = ["images", "video"])]
    no_image: bool,
    /// Draw what was kept, beside question and answer, to a `.png`, `.jpg` or `.webp` file.
    #[arg(long, value_name = "FILE", value_parser = picture::raster())]
    overlay: Option<PictureFile<RasterFormat>>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// What to ask. On a terminal, with an image and without a question, a conversation begins.
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

/// Runs `mico run`: answers a question about images or a video, or holds a conversation about them.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let setting = args.model.base()?.with_pruning(args.pruning.pruning()?);
    let options = setting.options()?;
    let mut outputs = Outputs::new();
    args.model.protect(&mut outputs)?;
    args.visuals.protect(&mut outputs)?;
    let overlay = args.overlay.as_ref();
    let overlay = overlay.map(|picture| outputs.file("--overlay", &picture.path)).transpose()?;
    let Some(question) = args.asked()? else { return converse(args, setting, outputs) };
    let images = args.images()?;
    if images.as_ref().is_some_and(Vec::is_empty) && !args.no_image {
        return Err(Failure::misused(images::NONE));
    }
    let generation = args.generation.generation()?;
    let _interruptible = Interruptible::begin();
    let engine = args.model.open()?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let Visuals { inputs, labels } = args.visuals.visuals(images, &engine)?.for_text(&engine);
    let prompt = Prompt::question(question, inputs.len());
    let request = Request::new(inputs, prompt).with(options).generating(generation);
    if let Some(note) = args.model.vocabulary_note(&engine, question) {
        eprintln!("{note}");
    }
    let Some(outcome) = answer(args, &engine, &request)? else { return Ok(()) };
    if let (Some(file), Some(picture)) = (&overlay, &args.overlay) {
        let drawn = Drawn { inputs: &request.turn.images, labels: &labels, question };
        overlay::draw(file, picture.format, &drawn, &outcome)?;
    }
    if args.json {
        return output::json(&document(&outcome, request.options.pruning.pruner.name()));
    }
    eprintln!("{}", statistics(&outcome, &Tokens::of(&outcome)));
    if let Some(note) = note(&engine, &outcome) {
        eprintln!("{note}");
    }
    Ok(())
}

/// The answer, printed while it is made unless a document follows; `None` if nobody reads it any more.
fn answer(args: &RunArgs, engine: &Engine, request: &Request) -> Result<Option<Outcome>, Failure> {
    let outcome = if args.json {
        engine.run(request, &mut Waiting::default())
    } else {
        engine.run(request, &mut Streamed::to(std::io::stdout()))
    };
    match outcome {
        Err(Error::Cancelled) if interrupt::is_asked() => {
            output::line("")?;
            Err(Failure::interrupted("stopped"))
        }
        // There is nobody to tell, either.
        Err(Error::Cancelled) => Ok(None),
        Err(error) => Err(args.visuals.with_file_name(error)),
        Ok(outcome) => {
            if !args.json {
                output::line("")?;
            }
            Ok(Some(outcome))
        }
    }
}

/// A conversation on the terminal.
fn converse(args: &RunArgs, setting: Setting, mut outputs: Outputs) -> Result<(), Failure> {
    let generation = args.generation.generation()?;
    let images = args.images()?;
    let engine = args.model.open()?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let visuals = args.visuals.visuals(images, &engine)?.for_text(&engine);
    let start = Start { setting, visuals, generation, outputs };
    let note = |question: &str| args.model.vocabulary_note(&engine, question);
    let mut conversation = Conversation::new(&engine, start, &note)?;
    conversation.talk(&mut std::io::stdin().lock(), &mut std::io::stdout(), &mut std::io::stderr())
}

impl RunArgs {
    /// The images; none is read where none is wanted.
    fn images(&self) -> Result<Option<Vec<RgbImage>>, Failure> {
        if self.no_image { Ok(Some(Vec::new())) } else { self.visuals.images() }
    }

    /// The question; `None` if a conversation is to begin. An error says what to type.
    fn asked(&self) -> Result<Option<&str>, Failure> {
        let Some(question) = self.question.as_deref() else {
            let looks = self.visuals.are_given() || self.no_image;
            return if !looks || self.json || !std::io::stdin().is_terminal() {
                Err(Failure::misused(USAGE))
            } else if self.overlay.is_some() {
                let message = "--overlay needs a question; in a conversation type /overlay FILE";
                Err(Failure::misused(message))
            } else {
                Ok(None)
            };
        };
        if question.trim().is_empty() {
            return Err(Failure::misused(format!("the question is empty; {USAGE}")));
        }
        if !self.visuals.are_given() && Path::new(question).is_file() {
            return Err(Failure::misused(visual_args::meant(question, &["QUESTION"])));
        }
        let asks = [
            ("--budget", self.pruning.budget.is_some()),
            ("--keep", self.pruning.keep.is_some()),
            ("--overlay", self.overlay.is_some()),
        ];
        match asks.iter().find(|(_, given)| *given && self.no_image) {
            Some((flag, _)) => {
                Err(Failure::misused(format!("{flag} has no effect beside --no-image")))
            }
            None => Ok(Some(question)),
        }
    }
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

/// Visual tokens before and after the stages that ran.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tokens {
    all: usize,
    stage1: Option<usize>,
    stage2: Option<usize>,
    layer_average: f64,
}

impl Tokens {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            all: outcome.usage.visual_tokens,
            stage1: outcome.stage1.as_ref().map(|stage| stage.kept.len()),
            stage2: outcome.cuts.last().map(|cut| cut.kept.len()),
            layer_average: outcome.usage.layer_average,
        }
    }

    /// Those of two turns together, whose images are all in the caches.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |one: Option<usize>, another: Option<usize>| match (one, another) {
            (None, None) => None,
            (one, another) => Some(one.unwrap_or(0) + another.unwrap_or(0)),
        };
        Self {
            all: self.all + other.all,
            stage1: sum(self.stage1, other.stage1),
            stage2: sum(self.stage2, other.stage2),
            layer_average: self.layer_average + other.layer_average,
        }
    }
}

/// `576 -> 128 -> 46`, with the stages that ran.
impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = [Some(self.all), self.stage1, self.stage2];
        let stages: Vec<String> = stages.into_iter().flatten().map(|n| n.to_string()).collect();
        f.write_str(&stages.join(" -> "))
    }
}

/// What the answer took, with the visual tokens it was made from.
pub(crate) fn statistics(outcome: &Outcome, tokens: &Tokens) -> String {
    let (usage, seconds) = (&outcome.usage, &outcome.seconds);
    let pruning = seconds.stage1 + seconds.stage2_relevance + seconds.stage2_select;
    let before = seconds.preprocess + seconds.vision + seconds.projector;
    let looked = match (tokens.all, usage.visual_tokens) {
        (0, _) => "no image".to_owned(),
        (_, 0) => format!("visual tokens {tokens} from before"),
        _ => format!("visual tokens {tokens}"),
    };
    let average = if tokens.all == 0 {
        String::new()
    } else {
        format!(" (layer average {:.1})", tokens.layer_average)
    };
    format!(
        "{looked}{average}; vision {before:.2} s, pruning {pruning:.3} s, prefill {:.2} s, {} tokens in {:.2} s",
        seconds.decoder_prefill, usage.generated_tokens, seconds.decode,
    )
}

/// Says so where the refinement block was not calibrated for the model.
pub(crate) fn note(engine: &Engine, outcome: &Outcome) -> Option<String> {
    let model = &outcome.model;
    (!outcome.cuts.is_empty() && model.uncalibrated).then(|| {
        format!(
            "note: refinement after block {} of {} is scaled from the family's published model, not \
             calibrated for this one",
            model.refine_layer,
            engine.model().decoder().blocks(),
        )
    })
}
