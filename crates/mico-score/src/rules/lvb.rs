//! LongVideoBench.

use super::videomme::first_capital;

const PREFIXES: [&str; 8] = [
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option is",
    "The correct option is",
    "Best answer:",
    "Best option:",
];

/// The first capital A to E after the set phrases are deleted, listed option or not. Where there is none the
/// public code draws a random option; here it is wrong.
pub fn letter(prediction: &str) -> Option<char> {
    first_capital(prediction, &PREFIXES, 'E')
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn the_first_capital_counts() {
        let cases = [
            ("D. A book", Some('D')),
            ("Answer: C", Some('A')),
            ("b", None),
            ("Best option: E", Some('E')),
        ];
        for (text, expected) in cases {
            assert_eq!(letter(text), expected, "{text}");
        }
    }
}
