//! `mico completions`: what a shell needs to complete verbs, flags and names.

use clap::{Args, Command};
use clap_complete::Shell;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// Print a script that completes verbs, flags and names in a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell to write completions for.
    shell: Shell,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document {
    shell: String,
    script: String,
}

/// Runs the verb for a definition of the command line.
pub(crate) fn run(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    let script = String::from_utf8(script).map_err(Failure::failed)?;
    if args.json {
        return output::json(&Document { shell: args.shell.to_string(), script });
    }
    output::line(script.trim_end())
}
