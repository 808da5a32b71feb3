//! Cells that count as empty.

use mico_score::rules::missing;

/// The longest word for "nothing".
const LONGEST: usize = 8;

/// Whether a cell counts as empty. An option whose text is "None" is therefore no option.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    cell.len() <= LONGEST && std::str::from_utf8(cell).is_ok_and(missing::is_missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_exact() {
        for word in missing::MISSING {
            assert!(is_missing(word.as_bytes()), "{word}");
        }
        for text in ["none", "Nan", "N/A ", " ", "0", "null.", "#N/A N/A N/A"] {
            assert!(!is_missing(text.as_bytes()), "{text}");
        }
    }
}
