//! Rate of one decoder block at the row counts of a pruned prefill, and of the vision tower.
//!
//! `cargo run --release -p mico-model --example blocks -- [preset] [f32|q4k|q6k|q8_0] [runs] [rows]...`
//! takes all measurements in turns, `runs` times, and prints one JSON line for each: the median and
//! the best time in seconds, and the rates they mean. The products with weights alone are counted,
//! so attention, norms and copies lower the rate. Zero rows stand for the tower.

use std::time::Instant;

use candle_core::{Device, Tensor};
use mico_model::config::LlavaVision;
use mico_model::{Grid, Model, Pixels, Precision, Preset, QuantKind, SyntheticOptions, VisionTaps};

/// Blocks that run one after the other, so that none finds its weights in a cache.
const BLOCKS: usize = 3;

struct Measurement {
    what: String,
    /// Multiplications and additions, in 10^9.
    work: f64,
    times: Vec<f64>,
}

impl Measurement {
    fn report(&mut self) {
        self.times.sort_by(f64::total_cmp);
        let (best, median) = (self.times[0], self.times[self.times.len() / 2]);
        println!(
            "{{\"what\":\"{}\",\"seconds\":{median:.4},\"best\":{best:.4},\"gflops\":{:.1},\
             \"best_gflops\":{:.1}}}",
            self.what,
            self.work / median,
            self.work / best
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let (name, format) = (arg(0, "llava-1.5-7b"), arg(1, "q4k"));
    let runs: usize = arg(2, "3").parse()?;
    let rows: Vec<usize> = match args.get(3..) {
        Some(given) if !given.is_empty() => {
            given.iter().map(|rows| rows.parse()).collect::<Result<_, _>>()?
        }
        _ => vec![626, 178, 96, 73, 0],
    };
    let mut config = Preset::find(&name)?.config();
    config.decoder.blocks = BLOCKS;
    config.decoder.vocab_size = 256;
    let quantize = if format == "f32" { None } else { Some(QuantKind::parse(&format)?) };
    let precision = if quantize.is_some() { Precision::F16 } else { Precision::F32 };
    let options = SyntheticOptions { precision, quantize, ..SyntheticOptions::default() };
    let (model, _) = Model::synthetic(config, &options)?;
    let decoder = model.decoder();

    let shape = decoder.config();
    let (width, inner) = (shape.hidden_size, shape.intermediate_size);
    let weights = width * shape.head_dim * 2 * (shape.heads + shape.kv_heads) + 3 * width * inner;
    let vision = model
        .config()
        .vision
        .get::<LlavaVision>()
        .ok_or("only LLaVA's tower has one input size")?;
    let (tower, grid) = (&vision.tower, vision.tower.grid());
    let tower_weights =
        4 * tower.hidden_size * tower.hidden_size + 2 * tower.hidden_size * tower.intermediate_size;
    let values = (1, 3, tower.image_size, tower.image_size);
    let values = Tensor::randn(0.0_f32, 1.0, values, &Device::Cpu)?;
    let pixels = Pixels { values, grids: vec![Grid { rows: grid, columns: grid }] };
    let mut measured: Vec<Measurement> = rows
        .iter()
        .map(|&rows| match rows {
            0 => Measurement {
                what: format!("{name} tower"),
                work: 2e-9 * (tower_weights * (grid * grid + 1) * (tower.blocks - 1)) as f64,
                times: vec![],
            },
            rows => Measurement {
                what: format!("{name} {format} block, {rows} rows"),
                work: 2e-9 * (weights * rows) as f64,
                times: vec![],
            },
        })
        .collect();
    for run in 0..=runs {
        for (&rows, measured) in rows.iter().zip(&mut measured) {
            let hidden = Tensor::randn(0.0_f32, 1.0, (rows.max(1), width), &Device::Cpu)?;
            let positions = decoder.positions(&(0..rows.max(1) as u32).collect::<Vec<_>>())?;
            let mut caches = decoder.new_caches();
            let start = Instant::now();
            let passes = if rows == 0 {
                model.encode(pixels.clone(), VisionTaps::ALL)?;
                1
            } else {
                decoder.run(0..BLOCKS, &hidden, &positions, &mut caches, &[])?;
                BLOCKS
            };
            measured.times.push(start.elapsed().as_secs_f64() / passes as f64);
        }
        if run == 0 {
            // The first pass touches everything for the first time.
            measured.iter_mut().for_each(|m| m.times.clear());
        }
    }
    measured.iter_mut().for_each(Measurement::report);
    Ok(())
}
