//! Times the parts of a prefill of a random model on the CPU.
//!
//! `cargo run --release -p mico-model --example prefill -- [preset|mid] [f32|q4k|q6k|q8_0] [text] [runs]`
//! prints one JSON line with medians in seconds. `mid` is CLIP-L with a decoder of 12 blocks, 1,024
//! wide.

use std::time::Instant;

use candle_core::{DType, Device, Tensor};
use mico_model::config::LlavaVision;
use mico_model::{
    Grid, Model, ModelConfig, Pixels, Precision, Preset, QuantKind, SyntheticOptions, VisionTaps,
};

fn mid() -> mico_model::Result<ModelConfig> {
    let mut config = Preset::find("llava-1.5-7b")?.config();
    config.decoder.hidden_size = 1024;
    config.decoder.intermediate_size = 2816;
    config.decoder.blocks = 12;
    config.decoder.heads = 16;
    config.decoder.kv_heads = 16;
    config.decoder.head_dim = 64;
    Ok(config)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let (name, format) = (arg(0, "mid"), arg(1, "f32"));
    let (text, runs): (usize, usize) = (arg(2, "64").parse()?, arg(3, "5").parse()?);
    let config = if name == "mid" { mid()? } else { Preset::find(&name)?.config() };
    let quantize = if format == "f32" { None } else { Some(QuantKind::parse(&format)?) };
    let precision = if quantize.is_some() { Precision::F16 } else { Precision::F32 };
    let start = Instant::now();
    let options = SyntheticOptions { precision, quantize, ..SyntheticOptions::default() };
    let (model, _) = Model::synthetic(config, &options)?;
    let build = start.elapsed().as_secs_f64();

    let vision = model
        .config()
        .vision
        .get::<LlavaVision>()
        .ok_or("only LLaVA's tower has one input size")?;
    let (side, grid) = (vision.tower.image_size, vision.tower.grid());
    let values = Tensor::randn(0.0_f32, 1.0, (1, 3, side, side), &Device::Cpu)?;
    let pixels = Pixels { values, grids: vec![Grid { rows: grid, columns: grid }] };
    let decoder = model.decoder();
    let ids: Vec<u32> = (0..text as u32).map(|i| 3 + i % 1000).collect();
    let (mut vision, mut project, mut prefill, mut decode) = (vec![], vec![], vec![], vec![]);
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let seen = model.encode(pixels.clone(), VisionTaps::ALL)?;
        vision.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let visual = model.embed(&seen)?.embeds;
        project.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let hidden = Tensor::cat(&[&visual, &decoder.embed(&ids)?.to_dtype(DType::F32)?], 0)?;
        let tokens = hidden.dim(0)? as u32;
        let positions = decoder.positions(&(0..tokens).collect::<Vec<_>>())?;
        let mut caches = decoder.new_caches();
        let all = 0..decoder.blocks();
        let last = decoder.run_to_last(0, &hidden, &positions, &mut caches)?;
        decoder.logits(&last)?;
        prefill.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let positions = decoder.positions(&[tokens])?;
        let run = decoder.run(all, &decoder.embed(&[5])?, &positions, &mut caches, &[])?;
        decoder.logits(&run.hidden)?;
        decode.push(start.elapsed().as_secs_f64());
    }
    println!(
        "{{\"model\":\"{name}\",\"format\":\"{format}\",\"tokens\":{},\"build\":{build:.2},\
         \"vision\":{:.4},\"projector\":{:.4},\"prefill\":{:.4},\"decode\":{:.4},\
         \"decoder_bytes\":{}}}",
        pixels.tokens() + text,
        median(vision),
        median(project),
        median(prefill),
        median(decode),
        decoder.bytes()
    );
    Ok(())
}
