//! String functions that behave as Python's do, because the public scorers are Python programs.
//!
//! "White space", "digit", "lower case" and "number" therefore mean what Python means by them.
//! Everything works on code points and never slices by byte.

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
