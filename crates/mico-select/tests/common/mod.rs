//! Reading tensor files, for tests only.

use std::path::Path;

use half::{bf16, f16};
use mico_select::{Inputs, Matrix, Signal, Values};
use safetensors::{Dtype, SafeTensors};

enum Owned {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

/// The tensors of one file.
pub(crate) struct TensorFile {
    tensors: Vec<(Signal, Owned, usize, usize)>,
    groups: Option<Vec<i64>>,
}

impl TensorFile {
    /// Reads a file that is known to be good.
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let mut tensors = Vec::new();
        for tensor in Signal::ALL {
            let Ok(view) = file.tensor(tensor.name()) else { continue };
            let data = view.data();
            let two = data.as_chunks::<2>().0;
            let owned = match view.dtype() {
                Dtype::F32 => Owned::F32(
                    data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
                ),
                Dtype::F16 => Owned::F16(two.iter().map(|b| f16::from_le_bytes(*b)).collect()),
                Dtype::BF16 => Owned::Bf16(two.iter().map(|b| bf16::from_le_bytes(*b)).collect()),
                other => panic!("{tensor}: {other:?}"),
            };
            let shape = view.shape();
            tensors.push((tensor, owned, shape[0], shape.get(1).copied().unwrap_or(1)));
        }
        let groups = file.tensor("group").ok().map(|view| {
            view.data().as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect()
        });
        Self { tensors, groups }
    }

    /// As a request's inputs.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        let mut inputs = Inputs::new();
        for (tensor, owned, rows, cols) in &self.tensors {
            let values = match owned {
                Owned::F32(v) => Values::F32(v),
                Owned::F16(v) => Values::F16(v),
                Owned::Bf16(v) => Values::Bf16(v),
            };
            inputs = inputs.with(*tensor, Matrix::new(values, *rows, *cols).unwrap());
        }
        if let Some(groups) = &self.groups {
            inputs = inputs.with_groups(groups);
        }
        inputs
    }
}
