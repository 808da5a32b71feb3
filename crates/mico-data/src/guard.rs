//! Calls into libraries that may panic on a damaged file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static INSTALLED: Once = Once::new();

/// Runs `work`; `None` if it panics. The panic of this thread is not printed meanwhile: a damaged file is
/// reported as an error of one line. Panics elsewhere go to whatever hook was there before.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                previous(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_nothing_and_the_next_call_works() {
        assert_eq!(quietly(|| [1, 2][std::env::args().count() + 5]), None);
        assert_eq!(quietly(|| 7), Some(7));
        assert!(!QUIET.get());
    }
}
