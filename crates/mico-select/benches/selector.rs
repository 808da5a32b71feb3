//! Lazy against dense greedy, and the kernel against a plain matrix product.
//!
//! `cargo bench -p mico-select` prints a Markdown table; `-- --json FILE` also writes every number
//! with what is needed to read it. Times are medians; compare ratios, not machines.

use std::time::Instant;

use mico_select::methods::Mico;
use mico_select::reference::dense_greedy;
use mico_select::{Gram, Inputs, Matrix, Options, Rows, Signal, select};
use serde_json::{Value, json};

/// Tokens, budget and feature width: Stage 1 and Stage 2 of the published models.
const SIZES: [(usize, usize, usize); 6] = [
    (576, 128, 1024),
    (576, 256, 1024),
    (1296, 256, 1280),
    (2880, 640, 1024),
    (4096, 736, 3584),
    (8192, 2979, 3584),
];
/// The dense greedy is stopped after so many column evaluations and scaled up to the budget.
const DENSE_EVALUATIONS: usize = 400_000;

/// Features around `n / 12` centres, as image patches are, with positive weights.
fn clustered(n: usize, d: usize) -> (Vec<f32>, Vec<f32>) {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut normal = || {
        let mut sum = 0.0f32;
        for _ in 0..4 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        }
        sum * 1.732
    };
    let centers = (n / 12).max(1);
    let means: Vec<f32> = (0..centers * d).map(|_| normal()).collect();
    let mut features = Vec::with_capacity(n * d);
    for i in 0..n {
        let center = (i * 7919) % centers;
        let length = 1.0 + 0.5 * normal().abs();
        let mean = &means[center * d..(center + 1) * d];
        features.extend(mean.iter().map(|m| length * (m + 0.7 * normal())));
    }
    let weights = (0..n).map(|_| normal().abs() + 0.05).collect();
    (features, weights)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Seconds of `X Xᵀ` by a general matrix product.
fn plain_product(x: &[f32], n: usize, d: usize, out: &mut [f32], threads: usize) -> f64 {
    let start = Instant::now();
    let parallelism =
        if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
    let (d_stride, n_stride) = (d.cast_signed(), n.cast_signed());
    // SAFETY: `out` holds n x n and `x` n x d values, laid out as the strides say.
    unsafe {
        gemm::gemm(
            n,
            n,
            d,
            out.as_mut_ptr(),
            1,
            n_stride,
            false,
            x.as_ptr(),
            1,
            d_stride,
            x.as_ptr(),
            d_stride,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
    start.elapsed().as_secs_f64()
}

fn measure(n: usize, budget: usize, d: usize, threads: usize) -> Value {
    let (features, weights) = clustered(n, d);
    let matrix = Matrix::from_f32(&features, n, d).expect("made to fit");
    let rows = Rows::all(matrix);
    let repeats = if n * d < 2_000_000 { 15 } else { 5 };

    let inputs = Inputs::new()
        .with(Signal::Features, matrix)
        .with_vector(Signal::Weights, &weights)
        .expect("made to fit");
    let run =
        || select(&Mico::default(), &inputs, budget, &Options::default()).expect("good input");
    let lazy_order = run().order;
    let wide: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
    let steps = budget.min((DENSE_EVALUATIONS / n).max(20));
    let dense_order = dense_greedy(&rows, &wide, steps).order;
    assert_eq!(lazy_order[..steps], dense_order, "lazy and dense picks differ");
    let greedy_repeats = if n < 1000 { 9 } else { 3 };
    let mut lazy_times = Vec::with_capacity(greedy_repeats);
    let mut dense_times = Vec::with_capacity(greedy_repeats);
    for _ in 0..greedy_repeats {
        let dense = dense_greedy(&rows, &wide, steps).seconds.select;
        dense_times.push(dense * budget as f64 / steps as f64);
        lazy_times.push(run().seconds.select);
    }
    let (lazy, dense) = (median(lazy_times), median(dense_times));

    // Both write to memory that is already there: page faults are not arithmetic.
    let mut product = vec![0.0; n * n];
    let mut kernel = vec![1.0; n * n];
    plain_product(&features, n, d, &mut product, threads);
    // Alternating, so that a busy moment of the machine hits both.
    let mut kernel_times = Vec::with_capacity(repeats);
    let mut matmul_times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let start = Instant::now();
        Gram::pack(&rows).cosines_into(&mut kernel).expect("made to fit");
        kernel_times.push(start.elapsed().as_secs_f64());
        matmul_times.push(plain_product(&features, n, d, &mut product, threads));
    }
    let (kernel, matmul) = (median(kernel_times), median(matmul_times));
    let half = (n * (n + 1)) as f64 * d as f64;
    let full = 2.0 * (n * n) as f64 * d as f64;
    json!({
        "n": n, "budget": budget, "width": d, "threads": threads,
        "lazy_seconds": lazy, "dense_seconds": dense, "dense_steps_measured": steps,
        "greedy_ratio": dense / lazy,
        "kernel_seconds": kernel, "matmul_seconds": matmul,
        "kernel_gflops": half / kernel / 1e9, "matmul_gflops": full / matmul / 1e9,
        "kernel_share": (half / kernel) / (full / matmul),
    })
}

fn commit() -> String {
    let output = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    output.map_or_else(
        |_| "unknown".into(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_string(),
    )
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|a| a == "--test") {
        return;
    }
    let quick = args.iter().any(|a| a == "--quick");
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    println!(
        "| N / B | d | threads | dense ms | lazy ms | ratio | kernel GFLOP/s | matmul GFLOP/s | share |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (n, budget, d) in SIZES {
        if quick && n > 3000 {
            continue;
        }
        for threads in if all > 1 { vec![1, all] } else { vec![1] } {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let row = pool.install(|| measure(n, budget, d, threads));
            let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
            println!(
                "| {n} / {budget} | {d} | {threads} | {:.2} | {:.3} | {:.0}x | {:.0} | {:.0} | {:.0} % |",
                number("dense_seconds") * 1e3,
                number("lazy_seconds") * 1e3,
                number("greedy_ratio"),
                number("kernel_gflops"),
                number("matmul_gflops"),
                number("kernel_share") * 100.0,
            );
            rows.push(row);
        }
    }
    if let Some(path) = args.iter().position(|a| a == "--json").and_then(|i| args.get(i + 1)) {
        let features = if cfg!(target_feature = "avx2") { "avx2" } else { "baseline" };
        let document = json!({
            "argv": args[1..], "commit": commit(), "dtype": "f32", "sums": "f64",
            "target": features, "rows": rows,
        });
        let text = format!("{document:#}\n");
        if let Err(error) = std::fs::write(path, text) {
            eprintln!("{path}: {error}");
            std::process::exit(1);
        }
    }
}
