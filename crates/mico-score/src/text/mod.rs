//! Text primitives with the meaning the public scorers give them.
//!
//! The scorers are Python programs, so "whitespace", "digit", "lower case" and "a number" are what Python says
//! they are. Everything here works on code points and never slices by byte.

mod distance;
pub mod literal;
mod number;
mod unicode;

pub use distance::levenshtein;
pub use number::{float, repr, round};
pub use unicode::{
    capital, delete_ascii_punctuation, digit_value, is_alpha, is_digit, is_printable, is_space,
    is_word, lower, split, strip, upper_len,
};
