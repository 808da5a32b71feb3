//! The tensors of one request, for comparison with other implementations.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};

use crate::error::{Error, Result};
use crate::features::Features;

/// Tensors by name: `pixel_values` `[views,3,h,w]` or `[patches,values]` (of all images),
/// `stage1.features` `[N0,d]` (in the space that the method compares)
/// and `stage1.reliability` `[N0]` (zeros for tokens that are no patch), `stage1.group` `[N0]` (which tokens
/// compete with each other, -1 for none), `visual_embeds` `[N0,d]`
/// (projected, before pruning), `position_ids` (of the tokens that enter block 1; `[n]`, or `[3,n]`
/// where positions have three axes),
/// `stage2.features` `[N1,d]`, `stage2.relevance` `[N1]`, `stage2.token` `[N1]` (the place of each row among the
/// N0 tokens), `first_logits` `[vocabulary]`. Beside these
/// whatever the method declared, by the name `mico select` has for it: `stage1.keys`,
/// `stage1.reliability_shallow`, `stage1.text`, `stage2.keys`, `stage2.text`, `stage2.text_keys`. What a
/// cut before the last one saw is called `cut<block>.features` and so on.
#[derive(Debug, Clone, Default)]
pub struct Dump {
    tensors: BTreeMap<String, Tensor>,
}

impl Dump {
    /// All recorded tensors under the names listed above, in alphabetical order.
    pub fn tensors(&self) -> &BTreeMap<String, Tensor> {
        &self.tensors
    }

    /// The tensor of that name; `None` if the request did not produce it.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The content of a safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let views = self.tensors.iter();
        safetensors::serialize(views, None).map_err(|error| Error::Dump(error.to_string()))
    }

    pub(crate) fn put(&mut self, name: &str, tensor: Tensor) {
        self.tensors.insert(name.to_owned(), tensor);
    }

    /// Adds tensors joined along their first axis; nothing if there are none.
    pub(crate) fn join(&mut self, name: &str, parts: &[Tensor]) -> Result<()> {
        if !parts.is_empty() {
            self.put(name, Tensor::cat(parts, 0)?.contiguous()?);
        }
        Ok(())
    }

    /// Adds numbers; nothing if there are none.
    pub(crate) fn vector(&mut self, name: &str, values: &[f32]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.put(name, Tensor::new(values, &Device::Cpu)?);
        Ok(())
    }

    /// Adds whole numbers; nothing if there are none.
    pub(crate) fn integers(&mut self, name: &str, values: &[i64]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.put(name, Tensor::new(values, &Device::Cpu)?);
        Ok(())
    }

    pub(crate) fn rows(&mut self, name: &str, rows: &Features) -> Result<()> {
        self.put(name, rows.to_tensor()?);
        Ok(())
    }
}
