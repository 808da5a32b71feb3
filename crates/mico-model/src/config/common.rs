//! Configuration fields that every family's file states in the same way.

use mico_util::text::quoted;

use super::StoredDtype;
use super::fields::Fields;
use crate::error::{Error, Result};

/// Token ids that end generation, from the root or the text part; `default` if neither states them.
pub fn eos(root: &Fields, text: Option<&Fields>, default: &[u32]) -> Result<Vec<u32>> {
    for fields in [Some(root), text].into_iter().flatten() {
        if let Some(ids) = fields.tokens("eos_token_id")? {
            return Ok(ids);
        }
    }
    Ok(default.to_vec())
}

/// The token id that begins a prompt, from the root or the text part; `None` if neither states it.
pub fn bos(root: &Fields, text: Option<&Fields>) -> Result<Option<u32>> {
    match root.token("bos_token_id")? {
        Some(id) => Ok(Some(id)),
        None => Ok(text.map(|text| text.token("bos_token_id")).transpose()?.flatten()),
    }
}

/// The number format of the weights, from `dtype` or `torch_dtype`; `None` if not stated.
pub fn dtype(root: &Fields, text: Option<&Fields>) -> Result<Option<StoredDtype>> {
    for fields in [Some(root), text].into_iter().flatten() {
        for key in ["dtype", "torch_dtype"] {
            let Some(name) = fields.text(key)? else { continue };
            return match name.trim_start_matches("torch.") {
                "float32" => Ok(Some(StoredDtype::F32)),
                "float16" => Ok(Some(StoredDtype::F16)),
                "bfloat16" => Ok(Some(StoredDtype::Bf16)),
                other => {
                    let other = quoted(other);
                    let message = format!("is `{other}`, accepted: float32, float16, bfloat16");
                    Err::<_, Error>(fields.error(key, message))
                }
            };
        }
    }
    Ok(None)
}
