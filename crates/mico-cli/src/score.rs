//! stub
use crate::failure::Failure;
use clap::Args;
/// stub
#[derive(Debug, Args)]
pub struct ScoreArgs {}
/// stub
pub fn run(_: &ScoreArgs) -> Result<(), Failure> {
    Ok(())
}
