//! The parts of the `mico` command.
//!
//! The binary is a thin shell around these modules; they are a library so that tests and fuzzers
//! reach them without starting a process.

#![forbid(unsafe_code)]

pub mod failure;
pub mod select;
pub mod size;
pub mod tensor_file;

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
    Select(select::SelectArgs),
}

impl Cli {
    /// Does what the command line says.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.verb {
            Verb::Select(args) => select::run(args),
        }
    }
}
