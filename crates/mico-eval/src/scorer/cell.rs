//! A cell of a grid, as a box would be told.

/// Whether both numbers are there and neither is off by more than one: the neighbouring cell is right,
/// too, as a box that overlaps the true one is in grounding benchmarks.
pub(super) fn right(said: &str, gold: &str) -> bool {
    match (numbers(said), numbers(gold)) {
        (Some(said), Some(gold)) => said.iter().zip(gold).all(|(a, b)| a.abs_diff(b) <= 1),
        _ => false,
    }
}

fn numbers(text: &str) -> Option<[u32; 2]> {
    let separated = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let found: Vec<u32> = separated.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    found.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::right;

    #[test]
    fn neighbors_count() {
        assert!(right("3 4", "3 4") && right("2 5", "3 4") && right("(2, 5)", "3 4"));
        assert!(!right("1 4", "3 4") && !right("3 6", "3 4"));
    }

    #[test]
    fn anything_but_two_numbers_is_wrong() {
        for said in ["", "3", "3 4 5", "three four", "99999999999 4"] {
            assert!(!right(said, "3 4"), "{said}");
        }
    }
}
