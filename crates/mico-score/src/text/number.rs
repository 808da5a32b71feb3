//! Parsing, rounding and printing of numbers as in Python.

use super::unicode::{digit_value, is_space};

/// Python's `float(text)`; `None` where that raises an exception.
///
/// Surrounding white space, a sign, an exponent, `_` between digits, digits of any script, and
/// `inf`, `infinity` and `nan` in any case are accepted.
pub fn float(text: &str) -> Option<f64> {
    // `str.strip` treats the separators U+001C to U+001F as white space, `float` does not.
    let text = text.trim_matches(char::is_whitespace);
    let ascii: Option<String> = text.chars().map(ascii_of).collect();
    let ascii = ascii?;
    let bytes = ascii.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    for (at, _) in lines {
        if !digit(at.checked_sub(1)) || !digit(at.checked_add(1)) {
            return None;
        }
    }
    ascii.replace('_', "").parse().ok()
}

fn ascii_of(c: char) -> Option<char> {
    if c.is_ascii() && !is_space(c) {
        return Some(c);
    }
    digit_value(c).and_then(|value| char::from_digit(value, 10))
}

/// Python's `repr(value)`: the shortest digits that read back, with an exponent below 1e-4 and from 1e16.
pub fn repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Python's `round(value, decimals)`: rounds the exact decimal expansion of the binary value, ties
/// to even.
pub fn round(value: f64, decimals: usize) -> f64 {
    if !value.is_finite() || value.abs() >= 4_503_599_627_370_496.0 {
        return value;
    }
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        let accepted = [
            (" 12 ", 12.0),
            ("\u{3000}１２.５\u{85}", 12.5),
            ("1_000", 1000.0),
            ("1_0.0_1e1_0", 10.01e10),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("-1E-3", -0.001),
            ("Infinity", f64::INFINITY),
            ("-INF", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
        ];
        for (text, value) in accepted {
            assert_eq!(float(text), Some(value), "{text:?}");
        }
        assert!(float("NaN").is_some_and(f64::is_nan));
        for text in [
            "", " ", ".", "1 2", "1,000", "_1", "1_", "1__0", "1_.0", "0x10", "e5", "1e", "½", "²",
            "--1", "5%", "\u{1c}5",
        ] {
            assert_eq!(float(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let cases = [
            (3600.0, "3600.0"),
            (0.33, "0.33"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn rounding_follows_the_binary_value() {
        let cases = [
            (2.675, 2.67),
            (0.125, 0.12),
            (0.375, 0.38),
            (0.625, 0.62),
            (0.333, 0.33),
            (-1.005, -1.0),
        ];
        for (value, rounded) in cases {
            assert_eq!(round(value, 2), rounded, "{value}");
        }
        assert_eq!(round(2.0 / 3.0, 5), 0.66667);
        assert!(round(f64::NAN, 2).is_nan());
        assert_eq!(round(1e300, 2), 1e300);
    }
}
