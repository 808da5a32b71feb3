//! `mico doctor`: what this build and this machine can do.

use clap::Args;
use mico_util::memory;
use serde::Serialize;

use crate::failure::Failure;
use crate::hub;
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
    ok: bool,
    detail: String,
}

/// Runs the verb; fails if a check does.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let checks = vec![build(), processor(), memory_check(), hub(), model(&args.model)];
    if args.json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            output::line(&format!("{mark} {:<10} {}", check.name, check.detail))?;
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
    Check { name: "build", ok: true, detail }
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
    Check { name: "processor", ok: true, detail }
}

fn memory_check() -> Check {
    let gibibytes = |bytes: u64| bytes as f64 / BYTES_PER_GIB;
    let detail = match (memory::total(), memory::available()) {
        (Some(total), Some(free)) => {
            format!("{:.1} GiB, {:.1} GiB available", gibibytes(total), gibibytes(free))
        }
        _ => "not known on this system".to_string(),
    };
    Check { name: "memory", ok: true, detail }
}

fn hub() -> Check {
    let (ok, detail) = match hub::status() {
        Ok(detail) => (true, detail),
        Err(reason) => (false, reason),
    };
    Check { name: "hub", ok, detail }
}

fn model(args: &ModelArgs) -> Check {
    match args.open() {
        Ok(engine) => {
            let about = engine.describe();
            let calibrated = if about.uncalibrated { ", uncalibrated" } else { "" };
            let detail = format!(
                "{} ({}): {} blocks, refinement after block {}{calibrated}, {} MB of decoder matrices, \
                 prompt {}, tokenizer {}",
                about.family,
                about.preset.unwrap_or("no preset"),
                about.layers,
                about.refine_layer,
                about.decoder_bytes / 1_000_000,
                about.prompt_style,
                if about.tokenizer { "found" } else { "missing" },
            );
            Check { name: "model", ok: true, detail }
        }
        Err(failure) => {
            let text = failure.to_string();
            let detail = text.trim_start_matches("error: ").to_string();
            Check { name: "model", ok: false, detail }
        }
    }
}
