//! Changes of bytes, whatever they mean.

use mico_util::SplitMix64;

/// Numbers at which lengths, signs and types end.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    16,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x10000,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];
/// Words that mean something in many formats.
const COMMON: [&str; 24] = [
    "-1",
    "1e999",
    "NaN",
    "null",
    "true",
    "\u{1b}[31m",
    "\0",
    "\r\n",
    "\n\n",
    "\t",
    "\"",
    "\\",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "=",
    "../",
    "\u{202e}",
    "\u{1F642}",
    "0.0000000001",
];
/// The longest piece that is moved, repeated or left out at once.
const PIECE: usize = 64;

/// Changes bytes in place.
#[derive(Debug)]
pub(super) struct Bytes<'r> {
    pub(super) random: &'r mut SplitMix64,
    pub(super) tokens: &'static [&'static str],
}

impl Bytes<'_> {
    /// One change, with parts of `other` where it takes any.
    pub(super) fn change(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        if data.is_empty() {
            data.extend_from_slice(other);
        }
        let at = self.random.below(data.len());
        match self.random.below(16) {
            0 | 1 => {
                let value = self.random.below(256) as u8;
                let flip = self.random.below(2) == 0;
                if let Some(byte) = data.get_mut(at) {
                    *byte = if flip { *byte ^ (1 << (value % 8)) } else { value };
                }
            }
            2 | 3 => self.number(data, at),
            4 => drop(data.drain(at..self.end(at, data.len()))),
            5 => {
                let length = 1 + self.random.below(16);
                let piece: Vec<u8> = (0..length).map(|_| self.random.below(256) as u8).collect();
                data.splice(at..at, piece);
            }
            6 | 7 => self.copy(data, at),
            8..=10 => {
                let token = self.token();
                let until = if self.random.below(3) == 0 { at + token.len() } else { at };
                data.splice(at..until.min(data.len()), token.bytes());
            }
            11 | 12 => self.splice(data, at, other),
            13 => data.truncate(at),
            14 => self.digits(data, at),
            _ => {
                let with = self.random.below(data.len());
                if data.len() > at.max(with) {
                    data.swap(at, with);
                }
            }
        }
    }

    /// A piece again where it is, so that lists grow and nesting deepens, or over something else.
    fn copy(&mut self, data: &mut Vec<u8>, at: usize) {
        let piece = data[at..self.end(at, data.len())].to_vec();
        if self.random.below(2) == 0 {
            let times = 1 + [0, 0, 1, 3, 30, 300][self.random.below(6)];
            data.splice(at..at, piece.repeat(times));
        } else {
            let to = self.random.below(data.len());
            let until = (to + piece.len()).min(data.len());
            data.splice(to..until, piece);
        }
    }

    /// A piece of another input, or all of it from some place on.
    fn splice(&mut self, data: &mut Vec<u8>, at: usize, other: &[u8]) {
        let from = self.random.below(other.len());
        if self.random.below(2) == 0 {
            data.truncate(at);
            data.extend_from_slice(other.get(from..).unwrap_or_default());
        } else {
            let piece = other.get(from..self.end(from, other.len())).unwrap_or_default();
            data.splice(at..at, piece.iter().copied());
        }
    }

    /// A number in place, or a little more or less than the one that is there.
    fn number(&mut self, data: &mut [u8], at: usize) {
        let width = [1, 2, 4, 8][self.random.below(4)];
        let Some(place) = data.get_mut(at..at + width) else { return };
        let big = self.random.below(2) == 0;
        let mut value = [0; 8];
        value[..width].copy_from_slice(place);
        if big {
            value[..width].reverse();
        }
        let old = u64::from_le_bytes(value);
        let new = match self.random.below(3) {
            0 => EDGES[self.random.below(EDGES.len())],
            1 => old.wrapping_add(1 + self.random.below(35) as u64),
            _ => old.wrapping_sub(1 + self.random.below(35) as u64),
        };
        value = new.to_le_bytes();
        if big {
            value[..width].reverse();
        }
        place.copy_from_slice(&value[..width]);
    }

    /// Another number for one that is written in digits, at or after a place.
    fn digits(&mut self, data: &mut Vec<u8>, at: usize) {
        let rest = data.get(at..).unwrap_or_default();
        let Some(start) = rest.iter().position(u8::is_ascii_digit) else { return };
        let length = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let edge = EDGES[self.random.below(EDGES.len())];
        let number = match self.random.below(4) {
            0 => format!("{}", edge.wrapping_sub(1)),
            1 => format!("-{edge}"),
            2 => format!("{edge}.5e{}", self.random.below(400)),
            _ => format!("{edge}"),
        };
        data.splice(at + start..at + start + length, number.bytes());
    }

    fn token(&mut self) -> &'static str {
        let own = self.random.below(3) > 0 && !self.tokens.is_empty();
        let words = if own { self.tokens } else { &COMMON };
        words.get(self.random.below(words.len())).copied().unwrap_or_default()
    }

    /// Where a piece ends that begins at `at`; long ones are rare.
    fn end(&mut self, at: usize, length: usize) -> usize {
        let most = if self.random.below(8) == 0 { length } else { PIECE };
        (at + 1 + self.random.below(most)).min(length)
    }
}
