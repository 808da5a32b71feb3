//! The `mico` command.

#[cfg(feature = "eval")]
mod allocator;

use std::process::ExitCode;

use mico_cli::Cli;

#[cfg(feature = "eval")]
#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn main() -> ExitCode {
    #[cfg(feature = "eval")]
    {
        mico_cli::bench::count_allocations(&ALLOCATOR);
        silence_caught_panics();
    }
    let result = Cli::read(std::env::args_os()).and_then(|cli| {
        let Some(cli) = cli else { return Ok(()) };
        if let Some(threads) = cli.engine_threads() {
            mico_cli::threads::hold(threads);
        }
        cli.run()
    });
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
