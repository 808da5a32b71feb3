//! Cells that count as missing values, by the same rule as in VLMEvalKit.

use mico_score::rules::missing;

/// Length in bytes of the longest text that counts as a missing value.
const LONGEST: usize = 8;

/// Whether a cell counts as missing. An option with the text "None" is therefore not an option.
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
