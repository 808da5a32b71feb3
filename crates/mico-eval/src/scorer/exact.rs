//! The same words.

/// Whether both are the same words; capitals, spaces and a full stop at the end do not matter.
pub(super) fn right(said: &str, gold: &str) -> bool {
    words(said) == words(gold)
}

fn words(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches('.');
    text.split_whitespace().map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::right;

    #[test]
    fn words_decide() {
        assert!(right("Yes.", "yes"));
        assert!(right("  middle   centre ", "middle centre"));
        assert!(!right("yes it is", "yes"));
        assert!(!right("", "yes"));
        assert!(!right("10", "1 0"));
    }
}
