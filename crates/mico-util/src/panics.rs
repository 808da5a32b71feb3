//! Catches panics of third-party code on hostile or damaged files.
//!
//! Decoders of parquet files and workbooks, and the tokenizers library, panic on some files, which cannot
//! be detected without running them. A panic caught here becomes an error of one line. Whether it is
//! printed is decided by the process's panic hook, which no library of this workspace replaces; a program
//! that wants no message can check [`is_catching_panic`] in its own hook.

use std::cell::Cell;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would now be caught by [`catch_panic`] and reported as an error. Meant
/// for the panic hook of a program that does not want to print such panics:
///
/// ```
/// let previous = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !mico_util::is_catching_panic() {
///         previous(panic);
///     }
/// }));
/// ```
pub fn is_catching_panic() -> bool {
    CATCHING.get()
}

/// Runs `work`; `None` if it panics. With `panic = "abort"` the process ends instead. What `work` borrows
/// must be as good after a panic as before it, or not be used again.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let outer = CATCHING.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_nothing_and_the_next_call_works() {
        let panics = || {
            assert!(is_catching_panic());
            [1, 2][std::env::args().count() + 5]
        };
        assert_eq!(catch_panic(panics), None);
        assert_eq!(catch_panic(|| 7), Some(7));
        assert!(!is_catching_panic());
    }
}
