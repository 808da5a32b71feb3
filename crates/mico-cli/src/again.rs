//! The command line once more, for telling how to go on.

#[cfg(any(test, feature = "eval"))]
use std::ffi::OsString;

/// How to go on with work that was stopped: this call, with `flag` if it does not have it yet.
#[cfg(feature = "eval")]
pub(crate) fn with_flag(flag: &str) -> String {
    line(std::env::args_os(), flag)
}

#[cfg(any(test, feature = "eval"))]
fn line(args: impl Iterator<Item = OsString>, flag: &str) -> String {
    let mut words: Vec<String> = args.skip(1).map(|word| quoted(&word.to_string_lossy())).collect();
    if !words.iter().any(|word| word == flag) {
        words.push(flag.to_owned());
    }
    format!("mico {}", words.join(" "))
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_can_be_pasted_into_a_shell() {
        let call = |words: &[&str]| line(words.iter().map(OsString::from), "--resume");
        assert_eq!(call(&["/bin/mico", "eval", "--out", "d"]), "mico eval --out d --resume");
        assert_eq!(call(&["mico", "--resume", "a b"]), "mico --resume 'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
