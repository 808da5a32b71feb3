//! What both stages of MiCo cost on a long video: 64 frames of 169 tokens at 64, 32 and 16 tokens a
//! frame, features as wide as LLaVA-Video-7B's.
//!
//! `cargo run --release -p mico-select --example video_stages` prints a Markdown table of medians.

use std::time::Instant;

use mico_select::methods::Mico;
use mico_select::schedule::Policy;
use mico_select::{Inputs, Matrix, Options, Result, Signal, select};

const FRAMES: usize = 64;
const FRAME_TOKENS: usize = 169;
const TOWER: usize = 1152;
const DECODER: usize = 3584;
const LAYERS: usize = 28;
const REFINE_LAYER: usize = 6;
const ROUNDS: usize = 3;

/// Features around `n / 12` centres, as image patches are, and positive weights.
fn clustered(n: usize, d: usize) -> (Vec<f32>, Vec<f32>) {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let centers = (n / 12).max(1);
    let means: Vec<f32> = (0..centers * d).map(|_| noise()).collect();
    let mut features = Vec::with_capacity(n * d);
    for token in 0..n {
        let mean = &means[(token * 7919) % centers * d..][..d];
        features.extend(mean.iter().map(|m| m + 0.7 * noise()));
    }
    let weights = (0..n).map(|_| noise().abs() + 0.05).collect();
    (features, weights)
}

/// Median milliseconds of a selection.
fn time(n: usize, d: usize, budget: usize, groups: Option<&[i64]>) -> Result<f64> {
    let (features, weights) = clustered(n, d);
    let mut inputs = Inputs::new()
        .with(Signal::Features, Matrix::from_f32(&features, n, d)?)
        .with_vector(Signal::Weights, &weights)?;
    if let Some(groups) = groups {
        inputs = inputs.with_groups(groups);
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        select(&Mico::default(), &inputs, budget, &Options::default())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

fn main() -> Result<()> {
    let policy = Policy::realized(LAYERS, REFINE_LAYER);
    let frames: Vec<i64> = (0..).take(FRAMES).flat_map(|frame| [frame; FRAME_TOKENS]).collect();
    println!("| T per frame | Stage 1 (ms) | Stage 2: N1 -> R | Stage 2 (ms) |");
    println!("|---:|---:|---:|---:|");
    for budget in [64, 32, 16] {
        let schedule = policy.video(budget, &[FRAME_TOKENS; FRAMES], 2)?;
        let (pool, keep) = (schedule.pooled(), schedule.keep);
        let first = time(FRAMES * FRAME_TOKENS, TOWER, pool, Some(&frames))?;
        let second = time(pool, DECODER, keep, None)?;
        println!("| {budget} | {first:.0} | {pool} -> {keep} | {second:.0} |");
    }
    Ok(())
}
