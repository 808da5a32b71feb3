//! Configuration of the vision towers with a fixed input size: CLIP, SigLIP and `InternViT`.

use mico_util::text::quoted;

use super::fields::Fields;
use super::parts::{Activation, Check, MAX_BLOCKS, MAX_IMAGE_SIDE, MAX_WIDTH};
use crate::error::Result;

/// The kind of tower: what precedes its blocks, and how a checkpoint names its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VitKind {
    /// A class token, and a layer norm before the first block.
    Clip,
    /// Patch embeddings only: no class token, no norm before the blocks.
    Siglip,
    /// A class token, and layer scale in every block.
    InternVit,
}

impl VitKind {
    /// Whether a class token precedes the patches.
    pub fn has_class(self) -> bool {
        self != Self::Siglip
    }

    /// The accepted values of `model_type`, the usual one first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Clip => &["clip_vision_model", "clip"],
            Self::Siglip => &["siglip_vision_model", "siglip"],
            Self::InternVit => &["internvl_vision", "intern_vit_6b", "internvl"],
        }
    }

    /// Defaults of the settings a file of this kind omits.
    fn defaults(self) -> VitConfig {
        let base = VitConfig {
            kind: self,
            hidden_size: 768,
            intermediate_size: 3072,
            blocks: 12,
            heads: 12,
            image_size: 224,
            patch_size: 32,
            activation: Activation::QuickGelu,
            layer_norm_eps: 1e-5,
            qkv_bias: true,
        };
        match self {
            Self::Clip => base,
            Self::Siglip => VitConfig {
                patch_size: 16,
                activation: Activation::GeluTanh,
                layer_norm_eps: 1e-6,
                ..base
            },
            Self::InternVit => INTERN_VIT_300M,
        }
    }
}

/// The configuration of a vision tower with a fixed input size.
#[derive(Debug, Clone, PartialEq)]
pub struct VitConfig {
    /// The kind of tower.
    pub kind: VitKind,
    /// Width of the residual stream (hidden states).
    pub hidden_size: usize,
    /// Inner width of the MLP.
    pub intermediate_size: usize,
    /// The number of blocks of the published tower (not all of them need to run).
    pub blocks: usize,
    /// The number of attention heads per block.
    pub heads: usize,
    /// Side of the square input, in pixels.
    pub image_size: usize,
    /// Side of a patch, in pixels.
    pub patch_size: usize,
    /// The activation function of the MLP.
    pub activation: Activation,
    /// Epsilon of the layer norms.
    pub layer_norm_eps: f64,
    /// Whether query, key and value projections have biases.
    pub qkv_bias: bool,
}

/// CLIP-L/14 at 336 pixels, the tower of every LLaVA-1.5 and LLaVA-NeXT model.
pub const CLIP_L_336: VitConfig = VitConfig {
    kind: VitKind::Clip,
    hidden_size: 1024,
    intermediate_size: 4096,
    blocks: 24,
    heads: 16,
    image_size: 336,
    patch_size: 14,
    activation: Activation::QuickGelu,
    layer_norm_eps: 1e-5,
    qkv_bias: true,
};

/// SigLIP so400m/14 at 384 pixels, the tower of LLaVA-Video.
pub const SIGLIP_SO400M_384: VitConfig = VitConfig {
    kind: VitKind::Siglip,
    hidden_size: 1152,
    intermediate_size: 4304,
    blocks: 27,
    heads: 16,
    image_size: 384,
    patch_size: 14,
    activation: Activation::GeluTanh,
    layer_norm_eps: 1e-6,
    qkv_bias: true,
};

/// `InternViT`-300M at 448 pixels, the tower of InternVL3 up to 14B.
pub const INTERN_VIT_300M: VitConfig = VitConfig {
    kind: VitKind::InternVit,
    hidden_size: 1024,
    intermediate_size: 4096,
    blocks: 24,
    heads: 16,
    image_size: 448,
    patch_size: 14,
    activation: Activation::Gelu,
    layer_norm_eps: 1e-6,
    qkv_bias: true,
};

/// The names by which original checkpoints refer to their towers.
const BY_NAME: [(&str, &VitConfig); 2] = [
    ("clip-vit-large-patch14-336", &CLIP_L_336),
    ("siglip-so400m-patch14-384", &SIGLIP_SO400M_384),
];

impl VitConfig {
    /// The number of patches along a side of a view.
    pub fn grid(&self) -> usize {
        self.image_size / self.patch_size
    }

    /// The number of patches per view, class token not counted.
    pub fn patches(&self) -> usize {
        self.grid() * self.grid()
    }

    /// The number of tokens the blocks run on: patches and, if there is one, the class token.
    pub fn tokens(&self) -> usize {
        self.patches() + usize::from(self.kind.has_class())
    }

    /// Width of one attention head.
    pub fn head_dim(&self) -> usize {
        self.hidden_size / self.heads
    }

    /// Refuses sizes no tower can have. `file` is named in the error.
    pub fn validate(&self, file: &str) -> Result<()> {
        let check = Check { file, part: "vision_config" };
        check.range("hidden_size", self.hidden_size, MAX_WIDTH)?;
        check.range("intermediate_size", self.intermediate_size, MAX_WIDTH)?;
        check.range("num_hidden_layers", self.blocks, MAX_BLOCKS)?;
        check.range("num_attention_heads", self.heads, MAX_WIDTH)?;
        check.range("image_size", self.image_size, MAX_IMAGE_SIDE)?;
        check.range("patch_size", self.patch_size, self.image_size)?;
        check.divides("num_attention_heads", self.heads, "hidden_size", self.hidden_size)
    }
}

/// Reads and validates a tower's settings; `fields` may be the tower's own object or hold it as
/// `vision_config`.
pub fn read_vit(fields: &Fields, kind: VitKind) -> Result<VitConfig> {
    if let Some(inner) = fields.object("vision_config")? {
        return read_vit(&inner, kind);
    }
    let names = kind.names();
    if let Some(found) = fields.text("model_type")?
        && !names.contains(&found)
    {
        let message = format!("is `{}`, accepted: {}", quoted(found), names[0]);
        return Err(fields.unsupported("model_type", message));
    }
    let channels = fields.usize("num_channels")?.unwrap_or(3);
    if channels != 3 {
        return Err(fields.error("num_channels", format!("is {channels}, accepted: 3")));
    }
    let default = kind.defaults();
    let config = VitConfig {
        kind,
        hidden_size: fields.usize("hidden_size")?.unwrap_or(default.hidden_size),
        intermediate_size: fields.usize("intermediate_size")?.unwrap_or(default.intermediate_size),
        blocks: fields.usize("num_hidden_layers")?.unwrap_or(default.blocks),
        heads: fields.usize("num_attention_heads")?.unwrap_or(default.heads),
        image_size: fields.side("image_size")?.unwrap_or(default.image_size),
        patch_size: fields.side("patch_size")?.unwrap_or(default.patch_size),
        activation: fields.activation("hidden_act")?.unwrap_or(default.activation),
        layer_norm_eps: fields.epsilon("layer_norm_eps")?.unwrap_or(default.layer_norm_eps),
        qkv_bias: default.qkv_bias,
    };
    config.validate(fields.file())?;
    Ok(config)
}

/// The configuration of a tower that is known only by name; `None` for an unknown name.
pub(super) fn by_name(name: &str, kind: VitKind) -> Option<VitConfig> {
    let known = BY_NAME.iter().find(|(known, config)| config.kind == kind && name.ends_with(known));
    known.map(|(_, config)| (*config).clone())
}
