//! The tensors of one request, for comparison with other implementations.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};

use crate::error::{Error, Result};
use crate::pruner::Features;

/// Tensors by name: `pixel_values` `[views,3,h,w]` or `[patches,values]` (of all images),
/// `stage1.features` `[N0,d]`
/// and `stage1.reliability` `[N0]` (zeros for tokens that are no patch), `visual_embeds` `[N0,d]`
/// (projected, before pruning), `position_ids` (of the tokens that enter block 1; `[n]`, or `[3,n]`
/// where positions have three axes),
/// `stage2.features` `[N1,d]`, `stage2.relevance` `[N1]`, `first_logits` `[vocabulary]`.
#[derive(Debug, Clone, Default)]
pub struct Dump {
    tensors: BTreeMap<&'static str, Tensor>,
}

impl Dump {
    /// The tensors.
    pub fn tensors(&self) -> &BTreeMap<&'static str, Tensor> {
        &self.tensors
    }

    /// One tensor.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The content of a safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let views = self.tensors.iter().map(|(&name, tensor)| (name, tensor));
        safetensors::serialize(views, None).map_err(|error| Error::Dump(error.to_string()))
    }

    pub(crate) fn put(&mut self, name: &'static str, tensor: Tensor) {
        self.tensors.insert(name, tensor);
    }

    /// Adds tensors joined along their first axis; nothing if there are none.
    pub(crate) fn join(&mut self, name: &'static str, parts: &[Tensor]) -> Result<()> {
        if !parts.is_empty() {
            self.put(name, Tensor::cat(parts, 0)?.contiguous()?);
        }
        Ok(())
    }

    pub(crate) fn vector(&mut self, name: &'static str, values: &[f32]) -> Result<()> {
        self.put(name, Tensor::new(values, &Device::Cpu)?);
        Ok(())
    }

    pub(crate) fn rows(&mut self, name: &'static str, rows: &Features) -> Result<()> {
        self.put(name, rows.to_tensor()?);
        Ok(())
    }
}
