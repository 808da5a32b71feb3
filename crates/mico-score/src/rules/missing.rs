//! Cells that a spreadsheet reader takes for empty.

/// The texts that stand for "no value", compared exactly.
pub const MISSING: [&str; 19] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Whether the cell is empty to VLMEvalKit.
pub fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell)
}

/// A prediction after VLMEvalKit has written it to a file and read it back: an empty cell becomes the text `nan`.
pub fn through_file(prediction: &str) -> &str {
    if is_missing(prediction) { "nan" } else { prediction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_case_sensitive_and_exact() {
        for cell in ["", "None", "N/A", "null"] {
            assert_eq!(through_file(cell), "nan");
        }
        for cell in ["none", " ", "NONE", "Nan", "B"] {
            assert_eq!(through_file(cell), cell);
        }
    }
}
