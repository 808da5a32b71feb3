//! Every reader that a stranger's file reaches, one in each file.
//!
//! To add one: write its file, add its line to [`TARGETS`], and put a few small files of its format into
//! `seeds/NAME`.

mod config;
mod diagnose;
mod image;
mod journal;
mod preprocessor;
mod safetensors;
mod score;
mod select;
mod setting;
mod tables;
mod template;
mod tokenizer;
mod video;

use crate::seen::Seen;

/// A reader with what must hold of it.
#[derive(Debug)]
pub struct Target {
    /// The name on the command line, and of its folder of seeds.
    pub name: &'static str,
    /// What is read, in words.
    pub about: &'static str,
    /// Reads an input as the program does, and panics if something does not hold that must.
    pub run: fn(&[u8], &mut Seen),
    /// Words that the format knows.
    pub tokens: &'static [&'static str],
    /// Mutations in a run of the tests: what a debug build tries in about two seconds.
    pub short_run: usize,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    image::TARGET,
    video::TARGET,
    safetensors::TARGET,
    config::TARGET,
    preprocessor::TARGET,
    tokenizer::TARGET,
    template::TARGET,
    tables::TARGET,
    journal::TARGET,
    select::TARGET,
    setting::TARGET,
    score::TARGET,
    diagnose::TARGET,
];

impl Target {
    /// The target of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}
