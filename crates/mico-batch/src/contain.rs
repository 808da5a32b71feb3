//! Panics that end one request instead of the loop.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; if it panics, returns what the panic said. Unlike `mico_util::catch_panic`, which is for
/// panics that are expected of damaged files, this leaves the panic hook to print where it happened: here a
/// panic is a bug. What `work` borrows must be as good after a panic as before it, or not be used again.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| said(payload.as_ref()))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_says_is_returned() {
        assert_eq!(contain(|| 3), Ok(3));
        assert_eq!(contain::<()>(|| panic!("plain")), Err("plain".to_owned()));
        assert_eq!(contain::<()>(|| panic!("number {}", 4)), Err("number 4".to_owned()));
        let odd = contain::<()>(|| std::panic::panic_any(5_u8));
        assert_eq!(odd, Err("a panic without a message".to_owned()));
    }
}
