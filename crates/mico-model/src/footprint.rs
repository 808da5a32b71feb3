//! Memory of a model, known before it is loaded: a build in which tensors have shapes and number formats but no
//! storage, counted layer by layer as the loader would keep them.

use candle_core::{DType, Device, Tensor};

use crate::checkpoint::Part;
use crate::error::Result;
use crate::linear::Linear;
use crate::matmul::PackedMatrix;
use crate::quant::quantized_type;
use crate::weights::{Builder, LinearShape, TensorSource};

/// What a model takes in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ModelMemory {
    /// Bytes of the weights once they are loaded, packed and quantised as asked.
    pub weights: u64,
    /// The most bytes that exist at a time while the model is loaded, weights included: a matrix is there in
    /// the format of its file, in f32 and packed for a moment.
    pub loading: u64,
}

impl ModelMemory {
    /// Counts a tensor that stays, and what exists beside it while it is made.
    fn keep(&mut self, kept: usize, making: usize) {
        self.loading = self.loading.max(self.weights + (kept.max(making)) as u64);
        self.weights += kept as u64;
        self.loading = self.loading.max(self.weights);
    }
}

/// A tensor of that shape whose elements are all one and the same, which takes no memory.
fn without_storage(dtype: DType, shape: &[usize]) -> Result<Tensor> {
    Ok(Tensor::zeros((), dtype, &Device::Cpu)?.broadcast_as(shape)?)
}

/// A source of tensors without storage, in the number formats that another one stores them in.
pub(crate) struct Weightless<'s>(pub(crate) &'s dyn TensorSource);

impl TensorSource for Weightless<'_> {
    fn contains(&self, part: Part, name: &str) -> bool {
        self.0.contains(part, name)
    }

    fn tensor(&mut self, part: Part, name: &str, shape: &[usize]) -> Result<Tensor> {
        without_storage(self.0.stored_dtype(part, name).unwrap_or(DType::F32), shape)
    }

    fn stored_dtype(&self, part: Part, name: &str) -> Option<DType> {
        self.0.stored_dtype(part, name)
    }
}

/// Bytes of so many elements.
fn bytes(elements: usize, dtype: DType) -> usize {
    elements * dtype.size_in_bytes()
}

impl Builder<'_> {
    /// Bytes of a tensor as its file stores it, and of the buffer it is read into beside that.
    fn reading(&self, part: Part, name: &str, elements: usize) -> (usize, usize) {
        match self.source.stored_dtype(part, name) {
            Some(dtype) => (bytes(elements, dtype), 2 * bytes(elements, dtype)),
            // Made in memory, in f32.
            None => (bytes(elements, DType::F32), bytes(elements, DType::F32)),
        }
    }

    /// Counts a tensor that is kept in a number format; a tensor without storage in its place. `None` if this
    /// is no build that counts.
    pub(crate) fn count_tensor(
        &mut self,
        part: Part,
        name: &str,
        shape: &[usize],
        dtype: DType,
    ) -> Option<Result<Tensor>> {
        let elements = shape.iter().product();
        let (stored, reading) = self.reading(part, name, elements);
        let footprint = self.footprint.as_mut()?;
        let kept = bytes(elements, dtype);
        footprint.keep(kept, reading.max(stored + kept));
        Some(without_storage(dtype, shape))
    }

    /// Counts the matrix of a layer of the tower or projector; a layer without storage in its place.
    pub(crate) fn count_dense(
        &mut self,
        part: Part,
        name: &str,
        shape: LinearShape,
    ) -> Option<Result<Linear>> {
        self.footprint.as_ref()?;
        let compute = self.compute();
        let kept = match (self.rounds(), compute == DType::F32 && self.device.is_cpu()) {
            (true, _) => PackedMatrix::fixed_bytes(shape.output, shape.input),
            (false, true) => PackedMatrix::dense_bytes(shape.output, shape.input),
            (false, false) => bytes(shape.output * shape.input, compute),
        };
        self.count_matrix(part, name, shape, compute, kept)
    }

    /// Counts the matrix of a decoder layer; a layer without storage in its place.
    pub(crate) fn count_linear(
        &mut self,
        part: Part,
        name: &str,
        shape: LinearShape,
    ) -> Option<Result<Linear>> {
        self.footprint.as_ref()?;
        let elements = shape.output * shape.input;
        let blocks = self.quant.and_then(|kind| quantized_type(kind, part, name, shape.input).0);
        if let Some(blocks) = blocks {
            let quantized = elements / blocks.block_size() * blocks.type_size();
            let packed = if self.device.is_cpu() {
                PackedMatrix::quantized_bytes(blocks, (shape.output, shape.input))
            } else {
                None
            };
            let (stored, reading) = self.reading(part, name, elements);
            let making = match self.source.stored_dtype(part, name) {
                // The quantiser takes f32, which a file in f32 has already.
                Some(DType::F32) => reading.max(stored + quantized),
                Some(_) => reading.max(stored + bytes(elements, DType::F32) + quantized),
                // Repeats a few rows, and is copied once.
                None => 2 * quantized,
            };
            let kept = packed.unwrap_or(quantized);
            let packing = packed.map_or(0, |packed| quantized + packed);
            let footprint = self.footprint.as_mut()?;
            footprint.keep(kept, making.max(packing));
            return Some(self.stand_in(shape));
        }
        let stored = self.source.stored_dtype(part, name).unwrap_or(DType::F32);
        let dtype = self.storage(stored);
        let packs = dtype == DType::F32 && self.compute() == DType::F32 && self.device.is_cpu();
        let kept = if packs {
            PackedMatrix::dense_bytes(shape.output, shape.input)
        } else {
            bytes(elements, dtype)
        };
        self.count_matrix(part, name, shape, dtype, kept)
    }

    /// Counts a matrix that is converted to a number format and then kept in `kept` bytes.
    fn count_matrix(
        &mut self,
        part: Part,
        name: &str,
        shape: LinearShape,
        dtype: DType,
        kept: usize,
    ) -> Option<Result<Linear>> {
        let elements = shape.output * shape.input;
        let (stored, reading) = self.reading(part, name, elements);
        let converted = bytes(elements, dtype);
        let same = self.source.stored_dtype(part, name).unwrap_or(DType::F32) == dtype;
        let converting = if same { 0 } else { stored + converted };
        let packing = converted + kept;
        let footprint = self.footprint.as_mut()?;
        footprint.keep(kept, reading.max(converting).max(packing));
        Some(self.stand_in(shape))
    }

    /// A layer of that shape without storage.
    fn stand_in(&self, shape: LinearShape) -> Result<Linear> {
        let compute = self.compute();
        Ok(Linear::shared(without_storage(compute, &[shape.output, shape.input])?, compute))
    }
}
