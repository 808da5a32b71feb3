//! Amounts of memory as people write them.

/// Parses `600MB`, `512MiB`, `1G` or a plain number of bytes. `K`, `M`, `G` are powers of 1000,
/// `Ki`, `Mi`, `Gi` of 1024; a trailing `B` changes nothing.
pub fn parse(text: &str) -> Result<usize, String> {
    let accepted = "accepted: a number of bytes such as 600MB, 512MiB or 1000000";
    let refused = || format!("'{text}' is no amount of memory, {accepted}");
    let text_upper = text.trim().to_ascii_uppercase();
    let plain = text_upper.strip_suffix('B').unwrap_or(&text_upper);
    let (plain, base) = match plain.strip_suffix('I') {
        Some(rest) => (rest, 1024.0f64),
        None => (plain, 1000.0),
    };
    let (digits, power) = match plain.chars().last() {
        Some('K') => (&plain[..plain.len() - 1], 1),
        Some('M') => (&plain[..plain.len() - 1], 2),
        Some('G') => (&plain[..plain.len() - 1], 3),
        _ if base > 1000.0 => return Err(refused()),
        _ => (plain, 0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| refused())?;
    let bytes = number * base.powi(power);
    if bytes >= 1.0 && bytes < 2f64.powi(53) { Ok(bytes as usize) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units() {
        assert_eq!(parse("600MB").unwrap(), 600_000_000);
        assert_eq!(parse("1.5gib").unwrap(), 3 << 29);
        assert_eq!(parse("2K").unwrap(), 2000);
        assert_eq!(parse("4096").unwrap(), 4096);
        for bad in ["", "MB", "-1", "0", "1X", "1i", "1e30", "NaN", "inf"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
