//! The parts of the `mico` command.
//!
//! The binary is a thin shell around these modules; they are a library so that tests and fuzzers
//! reach them without starting a process.

#![forbid(unsafe_code)]

mod again;
#[cfg(feature = "eval")]
pub mod bench;
#[cfg(feature = "eval")]
pub mod calibrate;
mod chat;
mod choices;
pub mod completions;
#[cfg(feature = "eval")]
pub mod diagnose;
pub mod doctor;
mod environment;
#[cfg(feature = "eval")]
pub mod eval;
pub mod failure;
mod files;
pub mod flops;
mod generation_args;
mod hub;
mod images;
mod interrupt;
pub mod man;
mod meant;
mod model_args;
pub mod models;
mod output;
mod overlay;
mod picture;
mod progress;
mod pruning_args;
#[cfg(feature = "eval")]
pub mod report;
pub mod run;
#[cfg(feature = "eval")]
pub mod score;
pub mod select;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "eval")]
mod task_args;
#[cfg(feature = "eval")]
mod terminal;
pub mod trace;
mod visual_args;
mod vocabulary;

use std::ffi::OsString;
use std::io::Write as _;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use environment::Unread;
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
    #[cfg(feature = "serve")]
    Serve(Box<serve::ServeArgs>),
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
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// What a verb does, and on how many threads the engine was asked to run, if it was.
type Work<'a> = (Box<dyn FnOnce() -> Result<(), Failure> + 'a>, Option<u64>);

impl Verb {
    fn work(&self) -> Work<'_> {
        match self {
            Self::Run(args) => (Box::new(|| run::run(args)), args.threads()),
            Self::Trace(args) => (Box::new(|| trace::run(args)), args.threads()),
            Self::Select(args) => (Box::new(|| select::run(args)), None),
            Self::Flops(args) => (Box::new(|| flops::run(args)), None),
            #[cfg(feature = "serve")]
            Self::Serve(args) => (Box::new(|| serve::run(args)), args.threads()),
            #[cfg(feature = "eval")]
            Self::Bench(args) => (Box::new(|| bench::run(args)), args.threads()),
            #[cfg(feature = "eval")]
            Self::Eval(args) => (Box::new(|| eval::run(args)), args.threads()),
            #[cfg(feature = "eval")]
            Self::Score(args) => (Box::new(|| score::run(args)), None),
            #[cfg(feature = "eval")]
            Self::Report(args) => (Box::new(|| report::run(args)), None),
            #[cfg(feature = "eval")]
            Self::Calibrate(args) => (Box::new(|| calibrate::run(args)), args.threads()),
            #[cfg(feature = "eval")]
            Self::Diagnose(args) => (Box::new(|| diagnose::run(args)), args.threads()),
            Self::Models(args) => (Box::new(|| models::run(args)), None),
            Self::Doctor(args) => (Box::new(|| doctor::run(args)), None),
            Self::Completions(args) => {
                (Box::new(|| completions::run(args, Cli::definition())), None)
            }
            Self::Man(args) => (Box::new(|| man::run(args, Cli::definition())), None),
        }
    }
}

impl Cli {
    /// Every verb and flag with its variable: what help, completions and the manual are made of.
    pub fn definition() -> Command {
        environment::with_variables(Self::command())
    }

    /// Reads a command line, the program's name first, and the environment for what it leaves open. `None`
    /// means that it asked for help or the version, which has been printed.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, Failure> {
        let args: Vec<OsString> = args.into_iter().collect();
        let matches = environment::parse(Self::command(), &args);
        match matches.and_then(|matches| Self::from_matches(&args, matches)) {
            Ok(cli) => Ok(Some(cli)),
            Err(Unread::Variable(failure)) => Err(failure),
            Err(Unread::Parser(error)) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    output::written(error.print().and_then(|()| std::io::stdout().flush()))?;
                    Ok(None)
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    Err(Failure::misused("no verb given, see 'mico --help'"))
                }
                ErrorKind::UnknownArgument => Err(meant::misplaced_file(&args, &Self::command())
                    .map_or_else(|| Failure::from(error), Failure::misused)),
                ErrorKind::InvalidSubcommand => {
                    Err(Failure::from(meant::with_similar_verb(error, &Self::command())))
                }
                _ => Err(Failure::from(error)),
            },
        }
    }

    #[cfg(feature = "serve")]
    fn from_matches(args: &[OsString], matches: clap::ArgMatches) -> Result<Self, Unread> {
        let (matches, settings) = serve::with_file(&Self::command(), args, matches)?;
        let mut cli = Self::from_arg_matches(&matches).map_err(Unread::Parser)?;
        if let Verb::Serve(args) = &mut cli.verb {
            args.set_sources(settings);
        }
        Ok(cli)
    }

    #[cfg(not(feature = "serve"))]
    fn from_matches(_: &[OsString], matches: clap::ArgMatches) -> Result<Self, Unread> {
        Self::from_arg_matches(&matches).map_err(Unread::Parser)
    }

    /// How many threads the engine was asked to run on, if it was.
    pub fn engine_threads(&self) -> Option<u64> {
        self.verb.work().1
    }

    /// Does what the command line says.
    pub fn run(&self) -> Result<(), Failure> {
        self.verb.work().0()
    }
}
