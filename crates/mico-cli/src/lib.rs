//! The parts of the `mico` command.
//!
//! The binary is a thin shell around these modules; they are a library so that tests and fuzzers
//! reach them without starting a process.

#![forbid(unsafe_code)]

#[cfg(feature = "eval")]
pub mod bench;
#[cfg(feature = "eval")]
pub mod calibrate;
mod chat;
#[cfg(feature = "eval")]
pub mod diagnose;
pub mod doctor;
#[cfg(feature = "eval")]
pub mod eval;
pub mod failure;
mod files;
pub mod flops;
mod generation_args;
mod hub;
mod images;
mod model_args;
pub mod models;
mod output;
mod progress;
mod pruning_args;
#[cfg(feature = "eval")]
pub mod report;
pub mod run;
#[cfg(feature = "eval")]
pub mod score;
pub mod select;
pub mod size;
#[cfg(feature = "eval")]
mod task_args;
pub mod tensor_file;
pub mod threads;
pub mod trace;
mod visual_args;

use clap::{Parser, Subcommand};

use failure::Failure;

/// Keep the few visual tokens that carry the answer.
#[derive(Debug, Parser)]
#[command(name = "mico", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::RunArgs),
    Trace(trace::TraceArgs),
    Select(select::SelectArgs),
    Flops(Box<flops::FlopsArgs>),
    #[cfg(feature = "eval")]
    Bench(bench::BenchArgs),
    #[cfg(feature = "eval")]
    Eval(eval::EvalArgs),
    #[cfg(feature = "eval")]
    Score(score::ScoreArgs),
    #[cfg(feature = "eval")]
    Report(report::ReportArgs),
    #[cfg(feature = "eval")]
    Calibrate(calibrate::CalibrateArgs),
    #[cfg(feature = "eval")]
    Diagnose(Box<diagnose::DiagnoseArgs>),
    Models(models::ModelsArgs),
    Doctor(doctor::DoctorArgs),
}

impl Cli {
    /// How many threads the engine was asked to run on, if it was.
    pub fn engine_threads(&self) -> Option<u64> {
        match &self.verb {
            Verb::Run(args) => args.threads(),
            Verb::Trace(args) => args.threads(),
            #[cfg(feature = "eval")]
            Verb::Bench(args) => args.threads(),
            #[cfg(feature = "eval")]
            Verb::Eval(args) => args.threads(),
            #[cfg(feature = "eval")]
            Verb::Calibrate(args) => args.threads(),
            #[cfg(feature = "eval")]
            Verb::Diagnose(args) => args.threads(),
            #[cfg(feature = "eval")]
            Verb::Report(_) | Verb::Score(_) => None,
            Verb::Doctor(_) | Verb::Flops(_) | Verb::Models(_) | Verb::Select(_) => None,
        }
    }

    /// Does what the command line says.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.verb {
            Verb::Run(args) => run::run(args),
            Verb::Trace(args) => trace::run(args),
            Verb::Select(args) => select::run(args),
            Verb::Flops(args) => flops::run(args),
            #[cfg(feature = "eval")]
            Verb::Bench(args) => bench::run(args),
            #[cfg(feature = "eval")]
            Verb::Eval(args) => eval::run(args),
            #[cfg(feature = "eval")]
            Verb::Score(args) => score::run(args),
            #[cfg(feature = "eval")]
            Verb::Report(args) => report::run(args),
            #[cfg(feature = "eval")]
            Verb::Calibrate(args) => calibrate::run(args),
            #[cfg(feature = "eval")]
            Verb::Diagnose(args) => diagnose::run(args),
            Verb::Models(args) => models::run(args),
            Verb::Doctor(args) => doctor::run(args),
        }
    }
}
