//! Models with random weights of any shape, for tests and benchmarks without checkpoints.
//!
//! A 7B-shaped decoder in 4-bit blocks must not pass through 28 GB of floats, nor spend minutes in
//! the quantiser: its matrices repeat a small pool of quantised random rows. Timing and memory, which
//! such a model is for, do not depend on the values.

use std::borrow::Cow;

use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{DType, Device, Tensor};
use mico_util::SplitMix64;
use rayon::prelude::*;

use crate::checkpoint::Part;
use crate::error::Result;
use crate::quant::QuantKind;
use crate::weights::{Precision, TensorSource};

/// Distinct rows in a quantised matrix.
const POOL_ROWS: usize = 128;
/// Values generated from one seed.
const CHUNK: usize = 1 << 12;
/// Half-width of the uniform noise on norm weights, biases and embeddings.
const NORM_NOISE: f32 = 0.1;
const BIAS_NOISE: f32 = 0.02;
const EMBEDDING_NOISE: f32 = 0.5;

/// How to build a model with random weights.
#[derive(Debug, Clone)]
pub struct SyntheticOptions {
    /// Seed of the generator; the same seed gives the same weights.
    pub seed: u64,
    /// The device that holds the weights.
    pub device: Device,
    /// Number format of the decoder's matrices.
    pub precision: Precision,
    /// Quantisation of the decoder's matrices; `None` keeps them in `precision`.
    pub quantize: Option<QuantKind>,
}

impl Default for SyntheticOptions {
    fn default() -> Self {
        Self { seed: 0, device: Device::Cpu, precision: Precision::F32, quantize: None }
    }
}

/// A tensor source that generates every tensor it is asked for.
pub(crate) struct SyntheticSource {
    seeds: SplitMix64,
}

impl SyntheticSource {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seeds: SplitMix64::new(seed) }
    }

    /// `count` values uniform in `center +- spread`.
    fn uniform(&mut self, count: usize, center: f32, spread: f32) -> Vec<f32> {
        let seed = self.seeds.next_u64();
        let mut values = vec![0.0_f32; count];
        values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
            let seed = seed ^ (chunk as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            let mut rng = SplitMix64::new(seed);
            for value in values {
                *value = center + spread * rng.symmetric();
            }
        });
        values
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Vec<f32> {
        // Uniform numbers of this spread have variance 1/columns, which keeps activations in scale.
        self.uniform(rows * columns, 0.0, (3.0 / columns as f32).sqrt())
    }
}

impl TensorSource for SyntheticSource {
    fn contains(&self, _part: Part, _name: &str) -> bool {
        true
    }

    fn tensor(&mut self, _part: Part, name: &str, shape: &[usize]) -> Result<Tensor> {
        let count: usize = shape.iter().product();
        let is_norm = name.contains("norm") && name.ends_with(".weight");
        let values = if is_norm {
            self.uniform(count, 1.0, NORM_NOISE)
        } else if name.rsplit('.').next() == Some("bias") {
            self.uniform(count, 0.0, BIAS_NOISE)
        } else if shape.len() < 2 || name.contains("embed_tokens") || name.contains("position") {
            self.uniform(count, 0.0, EMBEDDING_NOISE)
        } else {
            self.matrix(shape[0], count / shape[0].max(1))
        };
        Ok(Tensor::from_vec(values, shape, &Device::Cpu)?)
    }

    fn stored_dtype(&self, _part: Part, _name: &str) -> Option<DType> {
        None
    }

    fn quantized(&mut self, shape: (usize, usize), kind: GgmlDType) -> Result<Option<QTensor>> {
        let (rows, columns) = shape;
        let pool_rows = rows.min(POOL_ROWS);
        let pool =
            Tensor::from_vec(self.matrix(pool_rows, columns), (pool_rows, columns), &Device::Cpu)?;
        let pool = QTensor::quantize(&pool, kind)?;
        let pool = pool.data()?;
        let total = pool.len() / pool_rows * rows;
        let mut bytes = Vec::with_capacity(total);
        while bytes.len() < total {
            bytes.extend_from_slice(&pool[..pool.len().min(total - bytes.len())]);
        }
        let storage = QStorage::from_data(Cow::Owned(bytes), &Device::Cpu, kind)?;
        Ok(Some(QTensor::new(storage, shape)?))
    }
}
