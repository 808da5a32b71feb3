//! Templates with random damage: an error or a text, never a panic.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_template::{Functions, Limits, Template};
use mico_util::SplitMix64;

mod common;

/// Damaged copies of each template.
const COPIES: usize = 60;
/// Small limits, so that a loop that damage made long is over soon.
const STEPS: u64 = 20_000;
/// What templates are made of, put in at random.
const PIECES: [&str; 40] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "|",
    ".",
    ",",
    ":",
    "~",
    "**",
    "//",
    "%",
    " if ",
    " else ",
    " for ",
    " in ",
    " not ",
    " is ",
    "9223372036854775807",
    "-1",
    "1e308",
    "\\",
    "é",
    "\u{1F642}",
    "\n",
    "[::-1]",
    "*",
    "''",
];

fn damage(source: &str, random: &mut SplitMix64) -> String {
    let mut chars: Vec<char> = source.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len());
        let length = random.below(12).min(chars.len() - at);
        match random.below(4) {
            0 => drop(chars.drain(at..at + length)),
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            2 => {
                let copy: Vec<char> = chars[at..at + length].to_vec();
                let to = random.below(chars.len());
                chars.splice(to..to, copy);
            }
            _ => chars.truncate(at.max(chars.len() / 2)),
        }
    }
    chars.into_iter().collect()
}

#[test]
fn damaged_templates_never_panic() {
    let data = common::rendered();
    let limits = Limits { steps: STEPS, ..Limits::default() };
    let mut random = SplitMix64::new(20_260_726);
    let mut compiled = 0;
    let mut try_one = |source: &str, values: &serde_json::Value| {
        if let Ok(template) = Template::compile(source, limits) {
            compiled += 1;
            let _ = template.render(values, &Functions::default());
        }
    };
    for source in common::templates().values() {
        for (_, conversation) in data["conversations"].as_object().unwrap() {
            for _ in 0..COPIES / 8 {
                try_one(&damage(source, &mut random), conversation);
            }
        }
    }
    for case in data["cases"].as_array().unwrap().iter().chain(data["random"].as_array().unwrap()) {
        for _ in 0..10 {
            try_one(&damage(case[0].as_str().unwrap(), &mut random), &data["values"]);
        }
    }
    assert!(compiled > 2000, "{compiled}");
}
