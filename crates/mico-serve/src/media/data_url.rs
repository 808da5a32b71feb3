//! Data URLs (RFC 2397) with base64 content. The declared type says image or video and nothing else: content decides.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding may be there or not, as clients differ.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
/// Longest part before the comma, in bytes.
const MAX_PREFIX: usize = 256;

/// A data URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataUrl<'a> {
    kind: String,
    /// What stands behind the first comma, still in base64.
    pub data: &'a str,
}

impl<'a> DataUrl<'a> {
    /// Takes a URL apart whose scheme is `data`.
    pub fn parse(url: &'a str) -> Result<Self, &'static str> {
        let (_, rest) = url.split_once(':').ok_or("no data URL")?;
        let comma = rest.bytes().take(MAX_PREFIX).position(|byte| byte == b',');
        let (prefix, data) = comma
            .map(|at| (&rest[..at], &rest[at + 1..]))
            .ok_or("a data URL without data, accepted: data:TYPE;base64,DATA")?;
        let mut words = prefix.split(';').map(|word| word.trim().to_ascii_lowercase());
        let kind = words.next().unwrap_or_default();
        if words.next_back().as_deref() != Some("base64") {
            return Err("a data URL that is not in base64, accepted: data:TYPE;base64,DATA");
        }
        Ok(Self { kind, data })
    }

    /// The declared type in lower case, without its parameters.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

/// How many bytes a text in base64 has, by its length alone.
pub fn decoded_length(text: &str) -> usize {
    let digits = text.trim_end_matches('=').len();
    digits / 4 * 3
        + match digits % 4 {
            2 => 1,
            3 => 2,
            _ => 0,
        }
}

/// The bytes of a text in base64, in the standard or the URL alphabet.
pub fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let engine = if text.contains(['-', '_']) { &FOR_URLS } else { &PLAIN };
    engine.decode(text).map_err(|_| "the data URL's content is no base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_type_any_parameters_either_alphabet() {
        for url in [
            "data:image/png;base64,AQID",
            "DATA:Image/PNG;charset=x;base64,AQID",
            "data:;base64,AQID",
            "data:image/jpg; base64,AQID",
        ] {
            assert_eq!(decode(DataUrl::parse(url).unwrap().data).unwrap(), [1, 2, 3], "{url}");
        }
        assert_eq!(decode("-_8=").unwrap(), [0xfb, 0xff]);
        assert_eq!(decode("+/8").unwrap(), [0xfb, 0xff]);
        for (text, length) in [("", 0), ("AQ==", 1), ("AQ", 1), ("AQI=", 2), ("AQID", 3)] {
            assert_eq!(decoded_length(text), length, "{text}");
            assert_eq!(decode(text).unwrap().len(), length, "{text}");
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for url in
            ["data:image/png,AQID", "data:image/png;base64", "data:", "data:x;base64;a=b,AQID"]
        {
            assert!(DataUrl::parse(url).is_err(), "{url}");
        }
        for text in ["AQ ID", "AQ\nID", "A", "AQID=AQ", "ä", "-+8="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
