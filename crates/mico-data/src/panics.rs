//! Calls into libraries that may panic on a damaged file.
//!
//! The decoders of parquet files and workbooks give up on some damaged files by panicking, and there
//! is no check short of decoding that would tell beforehand. A panic caught here becomes an error of one
//! line. What a panic prints is up to the process's panic hook, which belongs to the program and is left
//! alone; a program that wants no message asks [`is_catching_panic`] in its own hook.

use std::cell::Cell;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, if one happens now, is caught and reported as an error by this crate.
/// Meant for the panic hook of a program that does not want to print such a panic:
///
/// ```
/// let previous = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !mico_data::is_catching_panic() {
///         previous(panic);
///     }
/// }));
/// ```
pub fn is_catching_panic() -> bool {
    CATCHING.get()
}

/// Runs `work`; `None` if it panics. (A program built with `panic = "abort"` ends instead.)
#[cfg(any(feature = "parquet", feature = "xlsx"))]
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let outer = CATCHING.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.ok()
}

#[cfg(all(test, any(feature = "parquet", feature = "xlsx")))]
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
