//! Where weights come from (a checkpoint, a random generator) and in which number format they are kept.

use std::ops::ControlFlow;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Tensor};

use crate::checkpoint::Part;
use crate::error::{Result, on_cpu};
use crate::footprint::ModelMemory;
use crate::linear::Linear;
use crate::matmul::PackedMatrix;
use crate::norm::{LayerNorm, RmsNorm};
use crate::quant::{QuantKind, QuantNote, quantized_type};

/// Progress of loading a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of tensors read so far.
    pub tensors_done: usize,
    /// The number of tensors to read.
    pub tensors_total: usize,
    /// The number of bytes read so far.
    pub bytes_done: u64,
    /// The number of bytes to read.
    pub bytes_total: u64,
}

/// Callback after every tensor; returning `Break` cancels loading.
pub type ProgressFn = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

/// A source of a model's tensors, by part and name.
pub(crate) trait TensorSource {
    /// Whether the tensor exists.
    fn contains(&self, part: Part, name: &str) -> bool;

    /// The tensor in CPU memory, in the number format it is stored in.
    fn tensor(&mut self, part: Part, name: &str, shape: &[usize]) -> Result<Tensor>;

    /// The number format a tensor is stored in; `None` if it is made in memory, or there is none.
    fn stored_dtype(&self, part: Part, name: &str) -> Option<DType>;

    /// A matrix that the source has in quantised form already; `None` if it has none.
    fn quantized(&mut self, _shape: (usize, usize), _kind: GgmlDType) -> Result<Option<QTensor>> {
        Ok(None)
    }
}

/// The number format of the decoder's matrices.
///
/// On the CPU all arithmetic is in f32 whatever the storage: half-precision matrices take half the
/// memory and are widened while they are multiplied. On other devices the arithmetic is done in the
/// storage format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// The format of the checkpoint file.
    #[default]
    Stored,
    /// IEEE single precision, 4 bytes per weight.
    F32,
    /// IEEE half precision, 2 bytes per weight.
    F16,
    /// Brain floating point (the upper half of an f32), 2 bytes per weight.
    Bf16,
}

impl Precision {
    /// Every format, in the order of listings.
    pub const ALL: [Self; 4] = [Self::Stored, Self::F32, Self::F16, Self::Bf16];

    /// The format's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

/// The sizes of a linear layer.
#[derive(Debug, Clone, Copy)]
pub struct LinearShape {
    /// Width of an input row.
    pub input: usize,
    /// Width of an output row.
    pub output: usize,
    /// Whether the layer has a bias.
    pub bias: bool,
}

/// Builds layers from a tensor source, in the number formats asked for.
///
/// A family's vision side asks it for layers and tensors by part and name; where they come from (a
/// checkpoint, a random generator) and in which number format they are kept is not its concern.
pub struct Builder<'s> {
    pub(crate) source: &'s mut dyn TensorSource,
    pub(crate) device: Device,
    pub(crate) precision: Precision,
    pub(crate) quant: Option<QuantKind>,
    pub(crate) notes: Vec<QuantNote>,
    /// Present in a build that counts memory instead of taking it.
    pub(crate) footprint: Option<ModelMemory>,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(
        source: &'s mut dyn TensorSource,
        device: &Device,
        precision: Precision,
        quant: Option<QuantKind>,
    ) -> Self {
        Self {
            source,
            device: device.clone(),
            precision,
            quant,
            notes: Vec::new(),
            footprint: None,
        }
    }

    /// Number format of activations, norms and biases.
    pub(crate) fn compute(&self) -> DType {
        match self.precision {
            _ if on_cpu(&self.device) || self.quant.is_some() => DType::F32,
            Precision::F16 => DType::F16,
            Precision::Bf16 => DType::BF16,
            Precision::Stored | Precision::F32 => DType::F32,
        }
    }

    /// Reads a tensor and converts it to the compute format.
    pub fn tensor(&mut self, part: Part, name: &str, shape: &[usize]) -> Result<Tensor> {
        if let Some(counted) = self.count_tensor(part, name, shape, self.compute()) {
            return counted;
        }
        let tensor = self.source.tensor(part, name, shape)?;
        Ok(tensor.to_dtype(self.compute())?.to_device(&self.device)?)
    }

    /// Reads a matrix in the storage format (the embedding table).
    pub(crate) fn stored(&mut self, part: Part, name: &str, shape: &[usize]) -> Result<Tensor> {
        let found = self.source.stored_dtype(part, name).unwrap_or(DType::F32);
        if let Some(counted) = self.count_tensor(part, name, shape, self.storage(found)) {
            return counted;
        }
        let tensor = self.source.tensor(part, name, shape)?;
        let dtype = self.storage(tensor.dtype());
        Ok(tensor.to_dtype(dtype)?.to_device(&self.device)?)
    }

    /// The storage format of a matrix whose file has it in the format `found`.
    pub(crate) fn storage(&self, found: DType) -> DType {
        match self.precision {
            _ if !on_cpu(&self.device) => self.compute(),
            Precision::F32 => DType::F32,
            Precision::F16 => DType::F16,
            Precision::Bf16 => DType::BF16,
            Precision::Stored if found == DType::F64 => DType::F32,
            Precision::Stored => found,
        }
    }

    /// Builds a layer of the tower or projector: in the compute format, or rounded to 16-bit fixed point
    /// where the decoder is quantised.
    pub fn dense(&mut self, part: Part, name: &str, shape: LinearShape) -> Result<Linear> {
        let full = format!("{name}.weight");
        if let Some(counted) = self.count_dense(part, &full, shape) {
            self.bias(part, name, shape)?;
            return counted;
        }
        let weight = self.tensor(part, &full, &[shape.output, shape.input])?;
        let bias = self.bias(part, name, shape)?;
        if self.rounds() { Linear::rounded(weight, bias) } else { Linear::dense(weight, bias) }
    }

    /// Whether tower and projector are rounded to 16-bit fixed point: where the decoder is quantised, on
    /// a CPU with that kernel.
    pub(crate) fn rounds(&self) -> bool {
        self.quant.is_some()
            && self.device.is_cpu()
            && self.compute() == DType::F32
            && PackedMatrix::rounds()
    }

    /// Builds a decoder layer: quantised when asked for, else in the storage format.
    pub(crate) fn linear(&mut self, part: Part, name: &str, shape: LinearShape) -> Result<Linear> {
        let bias = self.bias(part, name, shape)?;
        let full = format!("{name}.weight");
        if let Some(counted) = self.count_linear(part, &full, shape) {
            return counted;
        }
        if let Some(kind) = self.quant {
            let (dtype, note) = quantized_type(kind, part, &full, shape.input);
            self.notes.extend(note);
            if let Some(dtype) = dtype {
                let ready = self.source.quantized((shape.output, shape.input), dtype)?;
                let matrix = if let Some(matrix) = ready {
                    matrix
                } else {
                    let dense = self.source.tensor(part, &full, &[shape.output, shape.input])?;
                    QTensor::quantize_onto(&dense.to_dtype(DType::F32)?, dtype, &self.device)?
                };
                return Linear::quantized(matrix, bias);
            }
        }
        let weight = self.stored(part, &full, &[shape.output, shape.input])?;
        Linear::stored(weight, bias, self.compute())
    }

    fn bias(&mut self, part: Part, name: &str, shape: LinearShape) -> Result<Option<Tensor>> {
        if !shape.bias {
            return Ok(None);
        }
        self.tensor(part, &format!("{name}.bias"), &[shape.output]).map(Some)
    }

    /// Builds an RMS norm of `width` values from the tensor `{name}.weight`.
    pub fn rms_norm(&mut self, part: Part, name: &str, width: usize, eps: f64) -> Result<RmsNorm> {
        let weight = self.tensor(part, &format!("{name}.weight"), &[width])?;
        Ok(RmsNorm::new(weight, eps))
    }

    /// Builds a layer norm of `width` values from the tensors `{name}.weight` and `{name}.bias`.
    pub fn layer_norm(
        &mut self,
        part: Part,
        name: &str,
        width: usize,
        eps: f64,
    ) -> Result<LayerNorm> {
        let weight = self.tensor(part, &format!("{name}.weight"), &[width])?;
        let bias = self.tensor(part, &format!("{name}.bias"), &[width])?;
        Ok(LayerNorm::new(weight, bias, eps))
    }
}
