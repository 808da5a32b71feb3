//! Times a block with linear attention against one with full attention, at the shape of Qwen3.5-9B
//! and random weights.
//!
//! `cargo run --release -p mico-model --example mixers -- [f32|q4k|q6k|q8_0] [runs] [tokens]...` prints
//! one JSON line per length: medians in seconds of a prefill, and of a token generated after it.

use std::time::Instant;

use candle_core::{Device, Tensor};
use mico_model::config::MixerKind;
use mico_model::{Model, ModelConfig, Precision, Preset, QuantKind, SyntheticOptions};

/// Two blocks, the first with linear attention, behind a vision tower of next to no size.
fn config() -> mico_model::Result<ModelConfig> {
    let mut config = Preset::find("tiny")?.config();
    config.decoder = Preset::find("qwen3.5-9b")?.config().decoder;
    config.decoder.blocks = 2;
    config.decoder.vocab_size = 256;
    if let Some(linear) = &mut config.decoder.linear_attention {
        linear.mixers = vec![MixerKind::LinearAttention, MixerKind::FullAttention];
    }
    Ok(config)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let (format, runs): (String, usize) = (arg(0, "q4k"), arg(1, "3").parse()?);
    let lengths: Vec<usize> = match args.get(2..) {
        Some(given) if !given.is_empty() => {
            given.iter().map(|length| length.parse()).collect::<Result<_, _>>()?
        }
        _ => vec![512, 4096],
    };
    let quantize = if format == "f32" { None } else { Some(QuantKind::parse(&format)?) };
    let precision = if quantize.is_some() { Precision::F16 } else { Precision::F32 };
    let options = SyntheticOptions { precision, quantize, ..SyntheticOptions::default() };
    let (model, _) = Model::synthetic(config()?, &options)?;
    let decoder = model.decoder();
    let width = decoder.config().hidden_size;
    for tokens in lengths {
        let hidden = Tensor::randn(0.0_f32, 1.0, (tokens, width), &Device::Cpu)?;
        let positions = decoder.positions(&(0..tokens as u32).collect::<Vec<_>>())?;
        let next = (hidden.narrow(0, 0, 1)?, decoder.positions(&[tokens as u32])?);
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..runs {
            for block in 0..2 {
                let mut caches = decoder.new_caches();
                let range = block..block + 1;
                let start = Instant::now();
                decoder.run(range.clone(), &hidden, &positions, &mut caches, &[])?;
                times[block].push(start.elapsed().as_secs_f64());
                let start = Instant::now();
                decoder.run(range, &next.0, &next.1, &mut caches, &[])?;
                times[2 + block].push(start.elapsed().as_secs_f64());
            }
        }
        let [linear, full, linear_next, full_next] = times.map(median);
        println!(
            "{{\"format\":\"{format}\",\"tokens\":{tokens},\"linear\":{linear:.4},\"full\":{full:.4},\
             \"linear_next\":{linear_next:.5},\"full_next\":{full_next:.5}}}"
        );
    }
    Ok(())
}
