//! The beginning of a prompt may go through decoder blocks by itself, and the rest after it: every row has
//! the bits it has when all go together. It is what several questions about one image can share.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use candle_core::Tensor;
use mico_model::{Caches, Decoder, Model, ModelConfig, Preset, QuantKind, SyntheticOptions};
use mico_util::SplitMix64;

/// Tokens of the prompt.
const TOKENS: usize = 300;
/// Blocks they go through.
const BLOCKS: usize = 3;

fn narrow(preset: &str) -> ModelConfig {
    let mut config = Preset::find(preset).unwrap().config();
    let decoder = &mut config.decoder;
    decoder.hidden_size = 256;
    decoder.intermediate_size = 512;
    decoder.blocks = 4;
    decoder.heads = 4;
    decoder.kv_heads = 2;
    decoder.head_dim = 64;
    decoder.vocab_size = 512;
    if let Some(vision) = config.vision.get_mut::<mico_model::config::LlavaVision>() {
        vision.tower.hidden_size = 32;
        vision.tower.intermediate_size = 64;
        vision.tower.blocks = 2;
        vision.tower.heads = 2;
        vision.feature_layer = -1;
    }
    config
}

fn hidden(decoder: &Decoder) -> Tensor {
    let mut rng = SplitMix64::new(3);
    let width = decoder.config().hidden_size;
    let values: Vec<f32> = (0..TOKENS * width).map(|_| rng.symmetric()).collect();
    Tensor::from_vec(values, (TOKENS, width), decoder.device()).unwrap()
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    let values: Vec<f32> = tensor.flatten_all().unwrap().to_vec1().unwrap();
    values.into_iter().map(f32::to_bits).collect()
}

/// The rows from `start` on, run on top of the rows before them.
fn run(decoder: &Decoder, rows: &Tensor, start: usize, caches: &mut Caches) -> Tensor {
    let count = rows.dim(0).unwrap() as u32;
    let ids: Vec<u32> = (start as u32..start as u32 + count).collect();
    let positions = decoder.positions(&ids).unwrap();
    decoder.run(0..BLOCKS, rows, &positions, caches, &[]).unwrap().hidden
}

/// Runs a prompt whole and in two parts, and compares every row and what the caches hold.
fn assert_parts_make_the_whole(decoder: &Decoder, split: usize, what: &str) {
    let rows = hidden(decoder);
    let (mut caches, mut parted) = (decoder.new_caches(), decoder.new_caches());
    let whole = run(decoder, &rows, 0, &mut caches);
    let first = run(decoder, &rows.narrow(0, 0, split).unwrap(), 0, &mut parted);
    let rest = rows.narrow(0, split, TOKENS - split).unwrap();
    let rest = run(decoder, &rest, split, &mut parted);
    let joined = Tensor::cat(&[&first, &rest], 0).unwrap();
    assert_eq!(bits(&whole), bits(&joined), "{what} after {split}");
    for block in 0..BLOCKS {
        let [all, parts] = [&caches, &parted].map(|caches| caches.get(block).unwrap().unwrap());
        let same = |a: &Tensor, b: &Tensor| {
            assert_eq!(bits(a), bits(b), "{what} after {split}, cache of block {block}");
        };
        same(&all.0, &parts.0);
        same(&all.1, &parts.1);
    }
}

/// A single row goes through attention by another kernel, so the rest must have two or more; a prompt's
/// last words always do.
#[test]
fn a_prompt_in_two_parts_is_the_prompt_as_a_whole() {
    for quantize in [None, Some(QuantKind::Q4K), Some(QuantKind::Q8_0)] {
        let options = SyntheticOptions { quantize, ..SyntheticOptions::default() };
        let (model, _) = Model::synthetic(narrow("llava-1.5-7b"), &options).unwrap();
        for split in [1, 36, 37, 251, 298] {
            assert_parts_make_the_whole(model.decoder(), split, &format!("{quantize:?}"));
        }
    }
}
