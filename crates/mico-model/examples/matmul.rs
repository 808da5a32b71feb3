//! Speed of one decoder matrix in every storage format, for prefill and decode row counts.
//!
//! `cargo run --release -p mico-model --example matmul -- [runs]` prints one JSON line per
//! measurement: the median and the resulting rate.

use std::time::Instant;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module, Tensor};

const SHAPES: [(usize, usize); 3] = [(1024, 4096), (4096, 4096), (4096, 11_008)];
const ROWS: [usize; 3] = [1, 128, 640];
const FORMATS: [(&str, GgmlDType); 3] =
    [("q4k", GgmlDType::Q4K), ("q6k", GgmlDType::Q6K), ("q8_0", GgmlDType::Q8_0)];

fn report(
    format: &str,
    (input, output): (usize, usize),
    rows: usize,
    runs: usize,
    run: impl Fn() -> candle_core::Result<Tensor>,
) -> candle_core::Result<()> {
    run()?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[runs / 2];
    let gflops = 2e-9 * (rows * input * output) as f64;
    println!(
        "{{\"format\":\"{format}\",\"input\":{input},\"output\":{output},\"rows\":{rows},\
         \"seconds\":{median:.6},\"gflops\":{:.1},\"best_gflops\":{:.1}}}",
        gflops / median,
        gflops / times[0]
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(7), |n| n.parse())?;
    for shape in SHAPES {
        let (input, output) = shape;
        let weight = Tensor::randn(0.0_f32, 0.02, (output, input), &Device::Cpu)?;
        for rows in ROWS {
            let x = Tensor::randn(0.0_f32, 1.0, (rows, input), &Device::Cpu)?;
            report("f32", shape, rows, runs, || x.matmul(&weight.t()?))?;
        }
        for (name, kind) in FORMATS {
            let matrix = QMatMul::from_qtensor(QTensor::quantize(&weight, kind)?)?;
            for rows in ROWS {
                let x = Tensor::randn(0.0_f32, 1.0, (rows, input), &Device::Cpu)?;
                report(name, shape, rows, runs, || matrix.forward(&x))?;
            }
        }
    }
    Ok(())
}
