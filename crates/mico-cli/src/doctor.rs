//! `mico doctor`: what this build and this machine can do.

use clap::Args;
use mico_engine::tokenizer::Tokenizer;
use mico_engine::{Engine, Message, PromptStyle};
use mico_util::memory;
use serde::Serialize;

use crate::failure::Failure;
use crate::hub::{self, Status};
use crate::model_args::ModelArgs;
use crate::output;

const BYTES_PER_GIB: f64 = 1_073_741_824.0;

/// Check this build, this machine and, if one is named, a model.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// One thing looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    /// False fails the verb.
    ok: bool,
    /// Whether something does not work that not everybody needs, such as the network.
    warning: bool,
    detail: String,
}

impl Check {
    fn passed(name: &'static str, detail: String) -> Self {
        Self { name, ok: true, warning: false, detail }
    }

    fn failed(name: &'static str, failure: &Failure) -> Self {
        let text = failure.to_string();
        let detail = text.trim_start_matches("error: ").to_string();
        Self { name, ok: false, warning: false, detail }
    }

    fn mark(&self) -> &'static str {
        match (self.ok, self.warning) {
            (false, _) => "FAIL",
            (true, true) => "warn",
            (true, false) => "ok  ",
        }
    }
}

/// Texts whose characters tokenizers treat differently.
const SAMPLES: [&str; 6] = [
    "What is this?",
    "Größe, façade, naïve",
    "👩\u{200d}🔧 and 😀",
    "1234567890 3.14",
    "日本語 中文 한국어",
    "a\n\n b\tc",
];

/// Runs the verb; fails if a check does.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let mut checks = vec![build(), processor(), memory_check(), hub()];
    checks.extend(model(&args.model));
    if args.json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            output::line(&format!("{} {:<10} {}", check.mark(), check.name, check.detail))?;
        }
    }
    match checks.iter().find(|check| !check.ok) {
        Some(check) => Err(Failure::failed(format!("{}: {}", check.name, check.detail))),
        None => Ok(()),
    }
}

fn build() -> Check {
    let features = [
        ("hub", cfg!(feature = "hub")),
        ("h264", cfg!(feature = "h264")),
        ("eval", cfg!(feature = "eval")),
        ("cuda", cfg!(feature = "cuda")),
        ("cudnn", cfg!(feature = "cudnn")),
        ("flash-attn", cfg!(feature = "flash-attn")),
        ("metal", cfg!(feature = "metal")),
        ("mkl", cfg!(feature = "mkl")),
        ("accelerate", cfg!(feature = "accelerate")),
    ];
    let on: Vec<&str> = features.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let features = if on.is_empty() { "none".to_string() } else { on.join(", ") };
    let version = env!("CARGO_PKG_VERSION");
    let detail = format!("mico {version}, {}, features: {features}", std::env::consts::ARCH);
    Check::passed("build", detail)
}

/// Quantised kernels choose their instructions when they are compiled.
fn processor() -> Check {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let compiled = [
        ("avx2", cfg!(target_feature = "avx2")),
        ("fma", cfg!(target_feature = "fma")),
        ("f16c", cfg!(target_feature = "f16c")),
        ("avx512f", cfg!(target_feature = "avx512f")),
        ("neon", cfg!(target_feature = "neon")),
    ];
    let on: Vec<&str> = compiled.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let compiled = if on.is_empty() { "baseline only".to_string() } else { on.join(", ") };
    let name = memory::processor().map_or_else(String::new, |name| format!("{name}, "));
    let detail = format!("{name}{threads} threads, compiled for {compiled}");
    Check::passed("processor", detail)
}

fn memory_check() -> Check {
    let gibibytes = |bytes: u64| bytes as f64 / BYTES_PER_GIB;
    let detail = match (memory::total(), memory::available()) {
        (Some(total), Some(free)) => {
            format!("{:.1} GiB, {:.1} GiB available", gibibytes(total), gibibytes(free))
        }
        _ => "not known on this system".to_string(),
    };
    Check::passed("memory", detail)
}

/// The hub is asked. A machine without network works well with models in folders, so no answer is only a
/// warning; a model that cannot be fetched fails as a model.
fn hub() -> Check {
    match hub::status() {
        Ok(Status { reached, detail }) => {
            Check { name: "hub", ok: true, warning: !reached, detail }
        }
        Err(detail) => Check { name: "hub", ok: false, warning: false, detail },
    }
}

/// The model as it loads, and what its tokenizer and its prompt do with texts: both files are programs of
/// the model's author, which loading alone does not run.
fn model(args: &ModelArgs) -> Vec<Check> {
    let engine = match args.open() {
        Ok(engine) => engine,
        Err(failure) => return vec![Check::failed("model", &failure)],
    };
    let about = engine.describe();
    let calibrated = if about.uncalibrated { ", uncalibrated" } else { "" };
    let detail = format!(
        "{} ({}): {} blocks, refinement after block {}{calibrated}, {} MB of decoder matrices",
        about.family,
        about.preset.unwrap_or("no preset"),
        about.layers,
        about.refine_layer,
        about.decoder_bytes / 1_000_000,
    );
    let loaded = Check::passed("model", detail);
    let Some(tokenizer) = engine.tokenizer() else {
        let detail = "missing: the model answers token ids alone".to_string();
        return vec![loaded, Check { name: "tokenizer", ok: true, warning: true, detail }];
    };
    let tried = match try_tokenizer(tokenizer) {
        Ok(tokens) => {
            let detail = format!("{} sample texts to {tokens} tokens and back", SAMPLES.len());
            Check::passed("tokenizer", detail)
        }
        Err(error) => Check::failed("tokenizer", &error.into()),
    };
    let prompt = match try_prompt(&engine, args) {
        Ok(tokens) => {
            let style = args.prompt_style.map_or(about.prompt_style, PromptStyle::name);
            Check::passed(
                "prompt",
                format!("{style}, a question with an image has {tokens} tokens"),
            )
        }
        Err(error) => Check::failed("prompt", &error.into()),
    };
    vec![loaded, tried, prompt]
}

/// Encodes and decodes the samples: the number of their tokens.
fn try_tokenizer(tokenizer: &Tokenizer) -> mico_engine::Result<usize> {
    let mut tokens = 0;
    for text in SAMPLES {
        let ids = tokenizer.encode(text)?;
        tokenizer.decode(&ids)?;
        tokens += ids.len();
    }
    Ok(tokens)
}

/// Writes a short conversation, its first and a later turn, as the model is asked: the first's tokens.
fn try_prompt(engine: &Engine, args: &ModelArgs) -> mico_engine::Result<usize> {
    let question = Message::user(SAMPLES[0], 1);
    let first = engine.encode_messages(std::slice::from_ref(&question), args.prompt_style)?;
    let later = [question, Message::assistant("A circle."), Message::user(SAMPLES[1], 0)];
    engine.encode_messages(&later, args.prompt_style)?;
    Ok(first.len())
}
