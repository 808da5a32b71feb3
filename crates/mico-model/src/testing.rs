//! Made-up tensors for tests, the same in every run.

use candle_core::{Device, Shape, Tensor};
use mico_util::SplitMix64;

/// Numbers uniform in `[-spread, spread)`; the seed keeps tensors of one test apart.
pub(crate) fn noise(seed: u64, spread: f32, shape: impl Into<Shape>) -> Tensor {
    let shape = shape.into();
    let mut rng = SplitMix64::new(seed);
    let values = (0..shape.elem_count()).map(|_| spread * rng.symmetric()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}
