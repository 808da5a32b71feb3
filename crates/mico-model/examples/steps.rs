//! Rate of decode steps of several sequences at once, with keys and values in f32 and in half precision.
//!
//! `cargo run --release -p mico-model --example steps -- [preset] [f32|q4k|q6k|q8_0] [runs] [keys] [rows]...`
//! builds a decoder of that shape with a few blocks and the whole output head, fills caches with `keys`
//! tokens and takes all measurements in turns, `runs` times. One JSON line for each: the median and best
//! time of a step, its processor time (Linux), the tokens per second, their ratio to those of one
//! sequence in the same format (by processor time, too, which other programs disturb less), and the same ratio for the whole depth of the preset, where the head is
//! a smaller share.

use std::time::Instant;

use mico_model::{
    Caches, Decoder, KvFormat, Model, Precision, Preset, QuantKind, StepRow, SyntheticOptions,
};

/// Blocks that run one after the other, so that none finds its weights in a cache.
const BLOCKS: usize = 4;
/// Clock ticks of processor time per second, on Linux.
const TICKS: f64 = 100.0;

struct Measurement {
    rows: usize,
    format: KvFormat,
    caches: Vec<Caches>,
    times: Vec<f64>,
    /// Time of the output head alone, for as many rows.
    heads: Vec<f64>,
    processor: f64,
}

impl Measurement {
    fn median(&self) -> f64 {
        median(&self.times)
    }

    /// The time of a step through all blocks of the preset.
    fn whole(&self, blocks: usize) -> f64 {
        let head = median(&self.heads);
        head + (self.median() - head) * blocks as f64 / BLOCKS as f64
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Processor time of this process in seconds; 0 where the system does not say.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
}

fn step(decoder: &Decoder, caches: &mut [Caches], at: u32) -> mico_model::Result<()> {
    let positions = vec![at; decoder.blocks()];
    let rows = caches.iter_mut().enumerate();
    let mut rows: Vec<StepRow> = rows
        .map(|(row, caches)| StepRow { id: row as u32, positions: &positions, caches })
        .collect();
    decoder.step_many(&mut rows).map(|_| ())
}

/// A decoder of a preset's shape with a few blocks, and the number of blocks it would have.
fn build(name: &str, format: &str) -> Result<(Model, usize), Box<dyn std::error::Error>> {
    let mut config = Preset::find("tiny")?.config();
    config.decoder = Preset::find(name)?.config().decoder;
    let blocks = config.decoder.blocks;
    config.decoder.blocks = BLOCKS;
    if let Some(linear) = &mut config.decoder.linear_attention {
        linear.mixers.truncate(BLOCKS);
    }
    let quantize = if format == "f32" { None } else { Some(QuantKind::parse(format)?) };
    let precision = if quantize.is_some() { Precision::F16 } else { Precision::F32 };
    let options = SyntheticOptions { precision, quantize, ..SyntheticOptions::default() };
    Ok((Model::synthetic(config, &options)?.0, blocks))
}

/// Takes all measurements in turns. The first round, in which the copied caches move to their
/// reservation, is not counted.
fn measure(
    decoder: &Decoder,
    (runs, keys): (usize, u32),
    counts: &[usize],
) -> mico_model::Result<Vec<Measurement>> {
    let ids: Vec<u32> = (0..keys).collect();
    let (hidden, positions) = (decoder.embed(&ids)?, decoder.positions(&ids)?);
    let mut measured = Vec::new();
    for format in KvFormat::ALL {
        let mut filled = decoder.new_caches_in(format);
        filled.reserve(&[keys as usize + runs + 1; BLOCKS])?;
        decoder.run(0..BLOCKS, &hidden, &positions, &mut filled, &[])?;
        for &rows in counts {
            let caches = (0..rows).map(|_| filled.try_clone()).collect::<Result<_, _>>()?;
            let (times, heads) = (Vec::new(), Vec::new());
            measured.push(Measurement { rows, format, caches, times, heads, processor: 0.0 });
        }
    }
    for run in 0..=runs as u32 {
        for measured in &mut measured {
            let (start, used) = (Instant::now(), processor());
            step(decoder, &mut measured.caches, keys + run)?;
            let (time, used) = (start.elapsed().as_secs_f64(), processor() - used);
            let last = hidden.narrow(0, 0, measured.rows.min(keys as usize))?;
            let start = Instant::now();
            decoder.logits(&last)?;
            if run > 0 {
                measured.times.push(time);
                measured.heads.push(start.elapsed().as_secs_f64());
                measured.processor += used;
            }
        }
    }
    Ok(measured)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let (name, number) = (arg(0, "llava-1.5-7b"), arg(1, "q4k"));
    let (runs, keys): (usize, u32) = (arg(2, "5").parse()?, arg(3, "626").parse()?);
    let counts: Vec<usize> = match args.get(4..) {
        Some(given) if !given.is_empty() => {
            given.iter().map(|rows| rows.parse()).collect::<Result<_, _>>()?
        }
        _ => vec![1, 2, 4, 8],
    };
    let (model, blocks) = build(&name, &number)?;
    let measured = measure(model.decoder(), (runs.max(1), keys), &counts)?;
    for m in &measured {
        let one = measured.iter().find(|other| other.rows == 1 && other.format == m.format);
        let ratio = |time: &dyn Fn(&Measurement) -> f64| {
            one.map_or(f64::NAN, |one| m.rows as f64 * time(one) / time(m))
        };
        println!(
            "{{\"model\":\"{name}\",\"format\":\"{number}\",\"keys\":{keys},\"kv\":\"{}\",\"rows\":{},\
             \"seconds\":{:.4},\"best\":{:.4},\"processor\":{:.3},\"processor_ratio\":{:.2},\"head\":{:.4},\
             \"tokens_per_second\":{:.2},\"ratio\":{:.2},\"whole_seconds\":{:.4},\"whole_ratio\":{:.2}}}",
            m.format.name(),
            m.rows,
            m.median(),
            m.times.iter().copied().fold(f64::INFINITY, f64::min),
            m.processor / runs.max(1) as f64,
            ratio(&|m| m.processor),
            median(&m.heads),
            m.rows as f64 / m.median(),
            ratio(&Measurement::median),
            m.whole(blocks),
            ratio(&|m| m.whole(blocks)),
        );
    }
    Ok(())
}
