//! Amounts of memory as people write them.

use crate::text::quoted;
use parse_size::parse_size;

/// The most that is taken for an amount of memory.
const MOST: u64 = 1 << 53;

/// Parses `600MB`, `512MiB`, `1.5G` or a plain number of bytes. `K`, `M`, `G` are powers of 1000, `Ki`, `Mi`,
/// `Gi` of 1024; a trailing `B` changes nothing.
pub fn parse(text: &str) -> Result<usize, String> {
    let refused = || {
        let accepted = "accepted: a number of bytes such as 600MB, 512MiB or 1000000";
        format!("'{}' is no amount of memory, {accepted}", quoted(text))
    };
    let plain = text.trim().trim_start_matches('+').to_ascii_lowercase();
    let unit = plain.strip_suffix('b').unwrap_or(&plain).strip_suffix('i');
    if unit.is_some_and(|number| number.ends_with(|c: char| c.is_ascii_digit())) {
        // The parser takes `1i` for 1.
        return Err(refused());
    }
    // The parser wants a digit before the point: `.5G` is half a gigabyte.
    let bytes = parse_size(format!("0{plain}")).map_err(|_| refused())?;
    let bytes = Some(bytes).filter(|bytes| (1..MOST).contains(bytes)).ok_or_else(refused)?;
    usize::try_from(bytes).map_err(|_| refused())
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
        assert_eq!(parse(" +.5 GB ").unwrap(), 500_000_000);
        assert_eq!(parse("1e6").unwrap(), 1_000_000);
        for bad in ["", "MB", "-1", "0", "1X", "1i", "1iB", "1e30", "NaN", "inf", "99999999G"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
