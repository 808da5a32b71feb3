//! Density-peak clustering, by which SparseVLM groups the tokens it merges.

use crate::matrix::{Dense, squared_distance};
use crate::rank::{best, top};

/// `count` centres with their members, centres by falling
/// `density x distance to anything denser`.
pub(super) fn density_peaks(x: &Dense, count: usize) -> Vec<(usize, Vec<usize>)> {
    let n = x.rows();
    let distance = distances(x);
    let row = |i: usize| &distance[i * n..(i + 1) * n];
    let density: Vec<f64> = (0..n)
        .map(|i| {
            let mut nearest = row(i).to_vec();
            nearest.sort_unstable_by(f64::total_cmp);
            let squares = nearest[..count].iter().map(|d| d * d).sum::<f64>();
            (-squares / count as f64).exp()
        })
        .collect();
    let widest = distance.iter().copied().fold(0.0, f64::max);
    let peaks: Vec<f64> = (0..n)
        .map(|i| {
            let denser = (0..n).filter(|&j| density[j] > density[i]);
            let gap = denser.map(|j| row(i)[j]).fold(f64::INFINITY, f64::min);
            density[i] * gap.min(widest)
        })
        .collect();
    let centers = top(&peaks, count);
    let mut clusters: Vec<(usize, Vec<usize>)> =
        centers.iter().map(|&center| (center, Vec::new())).collect();
    for i in (0..n).filter(|i| !centers.contains(i)) {
        if let Some(c) = best(0..count, |c| -row(i)[centers[c]]) {
            clusters[c].1.push(i);
        }
    }
    clusters
}

/// Euclidean distances divided by the square root of the width.
fn distances(x: &Dense) -> Vec<f64> {
    let n = x.rows();
    let mut distance = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let d = (squared_distance(x.row(i), x.row(j)) / x.cols() as f64).sqrt();
            distance[i * n + j] = d;
            distance[j * n + i] = d;
        }
    }
    distance
}
