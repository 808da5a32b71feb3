//! The parts of the `mico` command.
//!
//! The binary is a thin shell around these modules; they are a library so that tests and fuzzers
//! reach them without starting a process.

#![forbid(unsafe_code)]

pub mod bench;
pub mod calibrate;
mod chat;
pub mod diagnose;
pub mod doctor;
pub mod eval;
pub mod failure;
mod files;
pub mod flops;
mod generation_args;
mod images;
mod model_args;
pub mod models;
mod output;
mod progress;
mod pruning_args;
pub mod report;
pub mod run;
pub mod score;
pub mod select;
pub mod size;
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
    Bench(bench::BenchArgs),
    Eval(eval::EvalArgs),
    Score(score::ScoreArgs),
    Report(report::ReportArgs),
    Calibrate(calibrate::CalibrateArgs),
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
            Verb::Bench(args) => args.threads(),
            Verb::Eval(args) => args.threads(),
            Verb::Calibrate(args) => args.threads(),
            Verb::Diagnose(args) => args.threads(),
            Verb::Doctor(_)
            | Verb::Flops(_)
            | Verb::Models(_)
            | Verb::Report(_)
            | Verb::Score(_)
            | Verb::Select(_) => None,
        }
    }

    /// Does what the command line says.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.verb {
            Verb::Run(args) => run::run(args),
            Verb::Trace(args) => trace::run(args),
            Verb::Select(args) => select::run(args),
            Verb::Flops(args) => flops::run(args),
            Verb::Bench(args) => bench::run(args),
            Verb::Eval(args) => eval::run(args),
            Verb::Score(args) => score::run(args),
            Verb::Report(args) => report::run(args),
            Verb::Calibrate(args) => calibrate::run(args),
            Verb::Diagnose(args) => diagnose::run(args),
            Verb::Models(args) => models::run(args),
            Verb::Doctor(args) => doctor::run(args),
        }
    }
}
