//! stub
#![allow(missing_docs)]
use crate::Sample;
use mico_score::Track;
use std::path::Path;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    VlmEvalKit,
    LlavaFolder,
    Parquet,
}
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct Error;
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct Damaged;
#[derive(Debug)]
pub struct Dataset {
    pub layout: Layout,
    pub rows: Option<usize>,
}
#[derive(Debug)]
pub struct Samples;
impl Samples {
    pub fn dropped(&self) -> usize {
        0
    }
}
impl Iterator for Samples {
    type Item = Result<Sample, Damaged>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}
impl Dataset {
    pub fn fingerprint(&self) -> Result<String, Error> {
        Err(Error)
    }
    pub fn samples(&self) -> Result<Samples, Error> {
        Err(Error)
    }
}
pub fn open(_: &Path, _: Track) -> Result<Dataset, Error> {
    Err(Error)
}
pub fn open_as(_: &Path, _: Track, _: Layout) -> Result<Dataset, Error> {
    Err(Error)
}
