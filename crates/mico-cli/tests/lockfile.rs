//! The versions in `Cargo.lock` against the releases known to be bad.
//!
//! `cargo deny check advisories` asks the RustSec database, which needs the network. This list needs
//! nothing: it holds what the database said in August 2026 of the crates in our tree, and keeps a later change
//! of dependencies from bringing one of these releases back. Crates that are merely no longer maintained
//! (`paste`, which gemm and tokenizers use) are not in it.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::path::Path;

type Version = [u64; 3];

/// A crate, the first bad release, the first good one after it, and what is wrong in between.
type KnownBad = (&'static str, Version, Version, &'static str);

const KNOWN_BAD: &[KnownBad] = &[
    ("anstream", [0, 0, 0], [0, 6, 8], "RUSTSEC-2024-0404: unsound"),
    ("anyhow", [0, 0, 0], [1, 0, 103], "RUSTSEC-2026-0190: unsound `Error::downcast_mut`"),
    ("base64", [0, 0, 0], [0, 5, 2], "RUSTSEC-2017-0004: overflow of the output buffer"),
    ("borsh", [0, 0, 0], [0, 10, 4], "RUSTSEC-2023-0033: unsound with types of size zero"),
    ("bumpalo", [0, 0, 0], [3, 11, 1], "RUSTSEC-2022-0078: use after free in `Vec::into_iter`"),
    ("bytes", [1, 2, 1], [1, 11, 1], "RUSTSEC-2026-0007: overflow in `BytesMut::reserve`"),
    ("calamine", [0, 0, 0], [0, 17, 0], "RUSTSEC-2021-0015: reads memory that is not there"),
    ("chrono", [0, 0, 0], [0, 4, 20], "RUSTSEC-2020-0159: reads the environment unsoundly"),
    ("crossbeam-deque", [0, 0, 0], [0, 8, 1], "RUSTSEC-2021-0093: data race"),
    ("crossbeam-epoch", [0, 9, 0], [0, 9, 20], "RUSTSEC-2026-0204: follows invalid pointers"),
    ("crossbeam-utils", [0, 0, 0], [0, 8, 7], "RUSTSEC-2022-0041: unsound `AtomicCell`"),
    ("fast-float2", [0, 0, 0], [0, 2, 2], "RUSTSEC-2025-0002: out-of-bounds read"),
    ("futures-task", [0, 0, 0], [0, 3, 6], "RUSTSEC-2020-0060: use after free"),
    ("futures-util", [0, 0, 0], [0, 3, 7], "RUSTSEC-2020-0059: data race"),
    ("generic-array", [0, 0, 0], [0, 13, 3], "RUSTSEC-2020-0146: lifetimes can be extended"),
    ("hashbrown", [0, 15, 0], [0, 15, 1], "RUSTSEC-2024-0402: ambiguous Borsh encoding"),
    ("http", [0, 0, 0], [0, 1, 20], "RUSTSEC-2019-0033: overflow in `HeaderMap::reserve`"),
    ("idna", [0, 0, 0], [1, 0, 0], "RUSTSEC-2024-0421: host names that look alike"),
    ("image", [0, 0, 0], [0, 23, 12], "RUSTSEC-2020-0073: mutable reference to immutable memory"),
    ("lock_api", [0, 0, 0], [0, 4, 2], "RUSTSEC-2020-0070: data races through guards"),
    ("lz4_flex", [0, 0, 0], [0, 11, 6], "RUSTSEC-2026-0041: damaged input reads stale memory"),
    ("lz4_flex", [0, 12, 0], [0, 12, 1], "RUSTSEC-2026-0041: damaged input reads stale memory"),
    ("memmap2", [0, 0, 0], [0, 9, 11], "RUSTSEC-2026-0186: unchecked pointer offsets"),
    ("nix", [0, 16, 0], [0, 23, 0], "RUSTSEC-2021-0119: out-of-bounds write"),
    ("once_cell", [0, 0, 0], [1, 0, 1], "RUSTSEC-2019-0017: panic during initialisation"),
    ("openh264-sys2", [0, 0, 0], [0, 8, 0], "RUSTSEC-2025-0008: heap overflow while decoding"),
    (
        "quick-xml",
        [0, 0, 0],
        [0, 41, 0],
        "RUSTSEC-2026-0194: quadratic time, RUSTSEC-2026-0195: memory",
    ),
    ("rand", [0, 9, 0], [0, 9, 3], "RUSTSEC-2026-0097: unsound with a logger that draws numbers"),
    ("rand", [0, 10, 0], [0, 10, 1], "RUSTSEC-2026-0097: unsound with a logger that draws numbers"),
    ("rand_core", [0, 6, 0], [0, 6, 2], "RUSTSEC-2021-0023: seeds are read wrongly"),
    ("raw-cpuid", [0, 0, 0], [9, 1, 1], "RUSTSEC-2021-0013, RUSTSEC-2021-0089: unsound"),
    ("regex", [0, 0, 0], [1, 5, 5], "RUSTSEC-2022-0013: patterns that take exponential time"),
    ("ring", [0, 0, 0], [0, 17, 12], "RUSTSEC-2025-0009: panics while encrypting"),
    ("rustls", [0, 0, 0], [0, 21, 11], "RUSTSEC-2024-0336: endless loop"),
    ("rustls", [0, 22, 0], [0, 22, 4], "RUSTSEC-2024-0336: endless loop"),
    ("rustls", [0, 23, 0], [0, 23, 5], "RUSTSEC-2024-0336: endless loop"),
    ("rustls", [0, 23, 13], [0, 23, 18], "RUSTSEC-2024-0399: a handshake can make it panic"),
    (
        "rustls-webpki",
        [0, 0, 0],
        [0, 103, 13],
        "RUSTSEC-2026-0098, -0099, -0104: accepts wrong names",
    ),
    ("sha2", [0, 9, 7], [0, 9, 8], "RUSTSEC-2021-0100: wrong digests of long messages"),
    ("shlex", [0, 0, 0], [1, 3, 0], "RUSTSEC-2024-0006: quoting that can be escaped"),
    ("slab", [0, 4, 10], [0, 4, 11], "RUSTSEC-2025-0047: out-of-bounds access"),
    ("smallvec", [0, 0, 0], [1, 6, 1], "RUSTSEC-2021-0003: overflow in `insert_many`"),
    ("tar", [0, 0, 0], [0, 4, 45], "RUSTSEC-2026-0067: links lead out of the folder"),
    ("tracing", [0, 1, 38], [0, 1, 40], "RUSTSEC-2023-0078: use after free"),
    ("zerocopy", [0, 0, 0], [0, 7, 31], "RUSTSEC-2023-0074: unsound `Ref` methods"),
    ("zerovec", [0, 0, 0], [0, 10, 4], "RUSTSEC-2024-0347: wrong alignment"),
    ("zerovec-derive", [0, 0, 0], [0, 10, 3], "RUSTSEC-2024-0346: wrong alignment"),
    ("zip", [1, 3, 0], [2, 3, 0], "RUSTSEC-2025-0168: links lead out of the folder"),
    ("zlib-rs", [0, 0, 0], [0, 4, 0], "RUSTSEC-2024-0401: damaged input overflows the stack"),
];

/// `1.2.3`, with or without what may follow after `-` or `+`.
fn version(text: &str) -> Version {
    let core = text.split(['-', '+']).next().unwrap();
    let numbers: Vec<u64> = core.split('.').map(|part| part.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn faults(name: &str, version: Version) -> impl Iterator<Item = &'static str> {
    let concerned = KNOWN_BAD
        .iter()
        .filter(move |(of, from, fixed, _)| *of == name && *from <= version && version < *fixed);
    concerned.map(|(.., reason)| *reason)
}

#[test]
fn no_release_known_to_be_bad_is_locked() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let packages = lock["package"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    let mut found = Vec::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap();
        for reason in faults(text("name"), version(text("version"))) {
            found.push(format!("{} {}: {reason}", text("name"), text("version")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_bad_release_is_noticed_and_its_successor_is_not() {
    assert_eq!(faults("openh264-sys2", version("0.7.2")).count(), 1);
    assert_eq!(faults("openh264-sys2", version("0.8.0")).count(), 0);
    assert_eq!(faults("rustls", version("0.23.13")).count(), 1);
    assert_eq!(faults("rustls", version("0.23.6")).count(), 0);
    assert_eq!(faults("lz4_flex", version("0.12.0-rc.1+x")).count(), 1);
    assert_eq!(faults("no-such-crate", [0, 0, 0]).count(), 0);
}
