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
    mico_cli::bench::count_allocations(&ALLOCATOR);
    silence_caught_panics();
    #[cfg(unix)]
    survive_file_size_limit();
    let result = Cli::read(std::env::args_os()).and_then(|cli| {
        let Some(cli) = cli else { return Ok(()) };
        if let Some(threads) = cli.engine_threads() {
            limit_candle(threads);
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

/// Products of `q6k` and `q8_0` matrices run on a pool of candle's own, whose size it reads from the environment
/// when the first of them runs; all other work is on the engine's threads.
fn limit_candle(threads: u64) {
    // SAFETY: nothing has been started yet, so no other thread can be reading the environment.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", threads.to_string()) };
}

/// Where a user's files may only be so large, the system ends a process that writes beyond it. With somebody
/// listening to its signal, the write fails instead, which is reported like a full disk.
#[cfg(unix)]
fn survive_file_size_limit() {
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Without the listener everything works as long as no file is too large.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard);
}

/// Damaged benchmark files and hostile tokenizers are reported in one line, so what their readers say when
/// they give up is not printed. All other panics are.
fn silence_caught_panics() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mico_util::is_catching_panic() {
            previous(panic);
        }
    }));
}
