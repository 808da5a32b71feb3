//! Cells that count as empty.

/// What spreadsheets of benchmarks write for "nothing", exactly and case-sensitively. An option whose text
/// is "None" is therefore no option.
const WORDS: [&str; 19] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Whether a cell counts as empty.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    cell.len() <= 8 && WORDS.iter().any(|word| word.as_bytes() == cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_exact() {
        for word in WORDS {
            assert!(is_missing(word.as_bytes()), "{word}");
        }
        for text in ["none", "Nan", "N/A ", " ", "0", "null.", "#N/A N/A N/A"] {
            assert!(!is_missing(text.as_bytes()), "{text}");
        }
    }
}
