//! Making `--threads` hold for every part of the program.
//!
//! Quantised products run on a pool of candle's own, whose size is read from the environment once,
//! when the process starts. So a process that was asked for a number of threads starts itself again
//! with the variables set; nothing has been read or written by then.

use std::process::Command;

use crate::failure::Failure;

/// Runs `f` on a pool of as many threads as were asked for; all cores if none were.
pub(crate) fn in_pool<T: Send>(
    threads: Option<u64>,
    f: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let threads = threads.unwrap_or(0) as usize;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::failed(format!("--threads {threads}: {error}")))?;
    Ok(pool.install(f))
}

/// The variables that size candle's pools.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"];

/// Replaces this process by one that runs on `threads` threads throughout. Returns if it already
/// does, or if the system cannot do that; the rayon pool is limited in any case.
pub fn hold(threads: u64) {
    let wanted = threads.to_string();
    let set = |name: &&str| std::env::var(name).is_ok_and(|value| value == wanted);
    if VARIABLES.iter().all(set) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    VARIABLES.iter().for_each(|name| {
        command.env(name, &wanted);
    });
    replace(command);
}

#[cfg(unix)]
fn replace(mut command: Command) {
    use std::os::unix::process::CommandExt;
    // Returns only if it failed; then the process goes on with the threads it has.
    let _ = command.exec();
}

#[cfg(not(unix))]
fn replace(_: Command) {}
