//! Draws which patches of an image a selection kept.
//!
//! `cargo run -p mico-chart --example kept -- IMAGE KEPT OUT.png` where KEPT is a file of
//! space-separated token indices on a 24 x 24 grid, as `mico select` prints them.

use std::error::Error;
use std::fs;

use mico_chart::overlay::{Caption, Pruned, draw_png};
use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::llava::{Llava, PadMode};
use mico_vision::preprocessor_config::PreprocessorConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [image, kept, out] = args.as_slice() else {
        return Err("three arguments are needed: IMAGE KEPT OUT.png".into());
    };
    let image = decode(&fs::read(image)?, &DecodeOptions::default())?;
    let kept: Vec<usize> =
        fs::read_to_string(kept)?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let processor = Llava::from_config(&PreprocessorConfig::clip(336), 14, PadMode::Square)?;
    let layout = processor.layout(image.size());
    let counts = format!("{} -> {}", layout.len(), kept.len());
    let pruned = Pruned { image: &image, layout: &layout, stage1: None, kept: &kept };
    let caption = Caption { counts: &counts, ..Caption::default() };
    fs::write(out, draw_png(&[pruned], &caption)?)?;
    Ok(())
}
