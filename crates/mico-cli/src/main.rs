//! The `mico` command.

#[cfg(feature = "eval")]
mod allocator;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use mico_cli::{Cli, failure::Failure};

#[cfg(feature = "eval")]
#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn main() -> ExitCode {
    #[cfg(feature = "eval")]
    {
        mico_cli::bench::count_allocations(&ALLOCATOR);
        silence_caught_panics();
    }
    let result = match Cli::try_parse() {
        Ok(cli) => {
            if let Some(threads) = cli.engine_threads() {
                mico_cli::threads::hold(threads);
            }
            cli.run()
        }
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // A closed pipe is the reader's choice, not a failure.
                let _ = error.print();
                Ok(())
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Failure::misused("no verb given, see 'mico --help'"))
            }
            _ => Err(Failure::from(error)),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.status())
        }
    }
}

/// Damaged benchmark files are reported in one line, so what their decoders say when they give up is not
/// printed. All other panics are.
#[cfg(feature = "eval")]
fn silence_caught_panics() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mico_data::is_catching_panic() {
            previous(panic);
        }
    }));
}
