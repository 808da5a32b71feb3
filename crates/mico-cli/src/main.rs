//! The `mico` command.

mod allocator;

use std::process::ExitCode;

use mico_cli::Cli;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn main() -> ExitCode {
    mico_cli::bench::count_allocations(&ALLOCATOR);
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
