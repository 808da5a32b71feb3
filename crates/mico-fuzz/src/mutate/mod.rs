//! Inputs made from others.
//!
//! Why not libFuzzer or AFL: both need a compiler that instruments code (a nightly one, for Rust) and a
//! process of their own. What stands here runs on stable Rust inside `cargo test`, gives the same inputs
//! for the same seed on every machine, and knows the formats well enough to get past their first check:
//! JSON stays JSON, checksums of PNG files and header lengths of safetensors files are made right again.

mod bytes;
mod json;
mod repair;

use mico_util::SplitMix64;

use crate::folder::{self, HEAD};
use bytes::Bytes;

/// The most bytes of an input that a mutation makes.
pub const MAX_BYTES: usize = 96 << 10;
/// One change in so many tears a structured file apart instead of changing its values.
const RAW_SHARE: usize = 4;

/// Makes inputs; the same ones in the same order for the same seed.
#[derive(Debug, Clone)]
pub struct Mutator {
    random: SplitMix64,
    tokens: &'static [&'static str],
}

impl Mutator {
    /// Inputs that a seed decides, with words that the format knows.
    pub fn new(seed: u64, tokens: &'static [&'static str]) -> Self {
        Self { random: SplitMix64::new(seed), tokens }
    }

    /// A number below `bound` from the same stream, for choices of the caller.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    /// A changed copy of `parent`; `other` is where foreign parts come from.
    pub fn mutate(&mut self, parent: &[u8], other: &[u8]) -> Vec<u8> {
        let mut changed = match folder::sections(parent) {
            Some(_) if self.random.below(64) > 0 => self.folder(parent, other),
            _ => self.file(parent, other),
        };
        changed.truncate(MAX_BYTES);
        changed
    }

    /// A folder of which one file is changed, or the list of files.
    fn folder(&mut self, parent: &[u8], other: &[u8]) -> Vec<u8> {
        let own = folder::sections(parent).unwrap_or_default();
        let mut files: Vec<(Vec<u8>, Vec<u8>)> =
            own.iter().map(|s| (s.path.to_vec(), s.body.to_vec())).collect();
        let foreign = folder::sections(other).unwrap_or_default();
        let at = self.random.below(files.len());
        match self.random.below(40) {
            0 => drop(files.remove(at)),
            1 => {
                let from = self.random.below(files.len());
                let copy = files[from].1.clone();
                files[at].1 = copy;
            }
            2 if !foreign.is_empty() => {
                let taken = &foreign[self.random.below(foreign.len())];
                files.push((taken.path.to_vec(), taken.body.to_vec()));
            }
            _ => {
                let body = std::mem::take(&mut files[at].1);
                let same = foreign.iter().find(|section| section.path == files[at].0);
                let other = same.map_or(&body[..], |section| section.body).to_vec();
                files[at].1 = self.file(&body, &other);
            }
        }
        folder::join(&files)
    }

    /// A changed file, by what it looks like.
    fn file(&mut self, parent: &[u8], other: &[u8]) -> Vec<u8> {
        let mut data = parent.to_vec();
        // Small changes are the most likely to be let through, large ones lead elsewhere.
        let rounds = 1 + [0, 0, 0, 1, 1, 2, 3, 7][self.random.below(8)];
        for _ in 0..rounds {
            data = self.step(&data, other);
            if data.len() > MAX_BYTES {
                break;
            }
        }
        data
    }

    fn step(&mut self, data: &[u8], other: &[u8]) -> Vec<u8> {
        let structured = self.random.below(RAW_SHARE) > 0;
        if let (true, Some(changed)) = (structured, self.structured(data, other)) {
            return changed;
        }
        let mut torn = data.to_vec();
        Bytes { random: &mut self.random, tokens: self.tokens }.change(&mut torn, other);
        // With a wrong checksum a PNG file ends here: mostly it is not the checksum that is tried.
        if repair::is_png(&torn) && self.random.below(8) > 0 {
            repair::png_checksums(&mut torn);
        }
        torn
    }

    /// A change that leaves the file's syntax whole; `None` if it has none that is known.
    fn structured(&mut self, data: &[u8], other: &[u8]) -> Option<Vec<u8>> {
        if let Some((header, body)) = repair::split_safetensors(data) {
            let foreign = repair::split_safetensors(other).map(|(header, _)| header);
            let header = json::change(&mut self.random, self.tokens, header, foreign)?;
            return Some(repair::join_safetensors(&header, body));
        }
        // Three bytes that choose method, budget and memory stand before the files of `select`.
        if let (Some((choice, file)), Some((_, foreign))) =
            (data.split_at_checked(3), other.split_at_checked(3))
            && repair::split_safetensors(file).is_some()
        {
            let mut changed = choice.to_vec();
            let at = self.random.below(12);
            if let Some(byte) = changed.get_mut(at) {
                *byte = self.random.below(256) as u8;
            }
            changed.extend(self.structured(file, foreign)?);
            return Some(changed);
        }
        match data.iter().find(|byte| !byte.is_ascii_whitespace())? {
            b'{' | b'[' if !data.starts_with(HEAD) => self.json(data, other),
            _ => None,
        }
    }

    /// A document, or lines of documents of which one is changed.
    fn json(&mut self, data: &[u8], other: &[u8]) -> Option<Vec<u8>> {
        if let Some(changed) = json::change(&mut self.random, self.tokens, data, Some(other)) {
            return Some(changed);
        }
        let mut lines: Vec<Vec<u8>> = data.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        let at = self.random.below(lines.len());
        let foreign: Vec<&[u8]> = other.split(|&b| b == b'\n').collect();
        let foreign = foreign.get(self.random.below(foreign.len())).copied();
        match self.random.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.insert(at, foreign?.to_vec()),
            3 => {
                let with = self.random.below(lines.len());
                lines.swap(at, with);
            }
            _ => lines[at] = json::change(&mut self.random, self.tokens, &lines[at], foreign)?,
        }
        Some(lines.join(&b'\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"a":[1,2,{"b":null}],"c":"text"}"#;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, &["token"]);
            (0..200).map(|_| mutator.mutate(JSON, b"other bytes")).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    #[test]
    fn most_changed_documents_are_documents_and_differ() {
        let mut mutator = Mutator::new(1, &[]);
        let inputs: Vec<_> = (0..1000).map(|_| mutator.mutate(JSON, JSON)).collect();
        let whole = |data: &&Vec<u8>| serde_json::from_slice::<serde_json::Value>(data).is_ok();
        assert!(inputs.iter().filter(whole).count() > 500);
        assert!(inputs.iter().filter(|data| *data != JSON).count() > 900);
    }

    #[test]
    fn folders_stay_folders() {
        let mut mutator = Mutator::new(1, &[]);
        let parent = b"--- a.json\n{\"x\":1}\n--- b.txt\nwords";
        let both = |data: &Vec<u8>| folder::sections(data).is_some_and(|files| files.len() == 2);
        let inputs: Vec<_> = (0..500).map(|_| mutator.mutate(parent, parent)).collect();
        assert!(inputs.iter().filter(|data| both(data)).count() > 350);
    }

    #[test]
    fn headers_of_safetensors_keep_their_length_right() {
        let parent = repair::join_safetensors(br#"{"x":{"shape":[1]}}"#, &[0; 8]);
        let mut mutator = Mutator::new(1, &[]);
        let right = (0..500).filter(|_| {
            let data = mutator.mutate(&parent, &parent);
            repair::split_safetensors(&data).is_some()
        });
        assert!(right.count() > 300);
    }
}
