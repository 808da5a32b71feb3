//! Edit distance between two texts.

/// The Levenshtein distance: the fewest insertions, deletions and substitutions of code points.
pub fn levenshtein(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (j, y) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = j + 1;
        for (i, x) in a.iter().enumerate() {
            let replaced = diagonal + usize::from(*x != y);
            diagonal = row[i + 1];
            row[i + 1] = replaced.min(diagonal + 1).min(row[i] + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    use super::levenshtein;

    #[test]
    fn code_points_are_counted() {
        let cases = [
            ("cot", "cat", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("狗", "猫", 1),
            ("", "", 0),
        ];
        for (a, b, distance) in cases {
            assert_eq!(levenshtein(a, b), distance);
            assert_eq!(levenshtein(b, a), distance);
        }
    }
}
