//! Texts that pandas, and so VLMEvalKit, reads from a table as missing values.

/// The texts that pandas takes for a missing value by default; compared exactly.
pub const MISSING: [&str; 19] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Whether VLMEvalKit treats the cell as empty.
pub fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell)
}

/// A prediction after VLMEvalKit has written it to a file and read it back: a missing value becomes
/// `nan`.
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
