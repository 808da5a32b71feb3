//! SHA-256 of bytes and streams, as used for fingerprints and download checks.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read};

use sha2::{Digest as _, Sha256};

/// The size of the read buffer in bytes.
const BLOCK: usize = 1 << 16;

/// The SHA-256 of the given bytes, as 64 lower-case hexadecimal digits.
///
/// ```
/// assert!(mico_util::digest::sha256(b"").starts_with("e3b0c442"));
/// ```
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.hex()
}

/// Computes a SHA-256 incrementally, for data that is not in memory at once.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// A hasher that has not received any bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes to the hashed data.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Appends the length and then the bytes, so that different divisions into parts give different
    /// hashes.
    pub fn update_part(&mut self, part: impl AsRef<[u8]>) {
        self.update_number(part.as_ref().len() as u64);
        self.update(part);
    }

    /// Appends a number as eight little-endian bytes.
    pub fn update_number(&mut self, number: u64) {
        self.update(number.to_le_bytes());
    }

    /// Appends the rest of a reader's data; returns its number of bytes.
    pub fn update_from(&mut self, mut reader: impl Read) -> io::Result<u64> {
        let mut block = vec![0; BLOCK];
        let mut total = 0;
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(total),
                Ok(read) => {
                    self.update(&block[..read]);
                    total += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Finishes and returns the hash as 64 lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        self.bytes().iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }

    /// Finishes and returns the 32 bytes of the hash.
    pub fn bytes(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_standards_example_in_every_way() {
        assert_eq!(sha256("abc"), ABC);
        let mut hasher = Hasher::new();
        hasher.update("a");
        assert_eq!(hasher.update_from(&b"bc"[..]).unwrap(), 2);
        assert_eq!(hasher.clone().bytes()[..2], [0xba, 0x78]);
        assert_eq!(hasher.hex(), ABC);
    }

    #[test]
    fn parts_cannot_be_cut_differently() {
        let of = |parts: [&str; 2]| {
            let mut hasher = Hasher::new();
            parts.iter().for_each(|part| hasher.update_part(part));
            hasher.hex()
        };
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
    }
}
