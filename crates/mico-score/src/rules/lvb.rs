//! LongVideoBench: lmms-eval's parser of the option letter.

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

/// The first capital A to E after set phrases are removed, whether or not it is a listed option.
/// Where there is none the public code picks a random option; here the answer is `None` and wrong.
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
