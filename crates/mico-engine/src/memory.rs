//! Memory of models and requests, computed before it is taken, and compared with what is free.
//!
//! A model's is exact to a few percent. A request's is an upper bound: its KV caches as long as the answer may
//! become, and the most that tower, selection and decoder hold at a time. Both are counted for the CPU.

use mico_model::config::{DecoderConfig, LinearAttentionConfig};
use mico_model::{
    KvFormat, Model, ModelConfig, ModelFiles, ModelMemory, QuantKind, SyntheticOptions,
};
use mico_select::pruner::Plan;
use mico_vision::layout::VisualLayout;

use crate::engine::{Engine, EngineOptions};
use crate::error::{Error, Result};
use crate::flops::visual_per_block;
use crate::pipeline::grids;

/// What is computed may exceed what is free by this part of it before it is refused: bounds are not met at the
/// same moment, and what would have worked must not be refused.
const TOLERANCE: u64 = 16;
/// Scores, sorted tokens and other buffers that do not grow with the model.
const BUFFERS: usize = 32 << 20;
/// Rows of activations that a product repacks at a time.
const REPACKED_ROWS: usize = 1536;
/// What helps where images take most.
const SMALLER_IMAGE: &str = "a smaller image, or a smaller budget, takes less";
/// Bytes of an activation.
const FLOAT: usize = size_of::<f32>();

/// What models and requests are compared with before they take memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MemoryCheck {
    /// What is free for this process, where the system tells ([`mico_util::memory::free`]).
    #[default]
    Free,
    /// So many bytes, whatever is free.
    Limit(u64),
    /// Nothing: whatever does not fit ends the process.
    Off,
}

/// The tokens of a request, from which its memory follows.
#[derive(Debug, Clone, Copy)]
pub struct RequestTokens<'a> {
    /// Layouts of the images and videos, as they are packed.
    pub images: &'a [&'a VisualLayout],
    /// The pruner's plan for them.
    pub plan: &'a Plan,
    /// Text tokens of the prompt.
    pub text: usize,
    /// The most tokens the answer may have.
    pub max_new: usize,
    /// Tokens that each block's KV cache holds of earlier turns; empty for a request by itself.
    pub cached: &'a [Option<usize>],
    /// The format in which keys and values are kept.
    pub kv_format: KvFormat,
}

/// What a request takes at most on top of the model, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RequestMemory {
    /// KV caches and recurrent states when the answer is as long as it may become. Held until the session ends.
    pub kv_bytes: u64,
    /// Pixels, activations and what selection compares: what exists beside `kv_bytes` at the moment when everything
    /// together is most. Free again when the answer is there; tensor dumps come on top.
    pub working_bytes: u64,
}

impl RequestMemory {
    /// Bytes of everything together.
    pub fn total(&self) -> u64 {
        self.kv_bytes + self.working_bytes
    }
}

impl MemoryCheck {
    fn free(self) -> Option<u64> {
        match self {
            Self::Free => mico_util::memory::free(),
            Self::Limit(bytes) => Some(bytes),
            Self::Off => None,
        }
    }

    /// Refuses what exceeds the free memory by more than the tolerance; `uses` and `help` explain it.
    fn admit(
        self,
        what: &'static str,
        needed: u64,
        explain: impl FnOnce() -> (String, String),
    ) -> Result<()> {
        match self.free() {
            Some(free) if needed - needed / TOLERANCE > free => {
                let (uses, help) = explain();
                Err(Error::Memory { what, needed, uses, free, help })
            }
            _ => Ok(()),
        }
    }

    fn admit_model(
        self,
        needed: ModelMemory,
        quantized: Option<QuantKind>,
        with: impl FnOnce(QuantKind) -> Option<ModelMemory>,
    ) -> Result<()> {
        self.admit("the model", needed.loading, || {
            let while_loading = Size(needed.loading - needed.weights);
            let uses =
                format!("{} for weights, {while_loading} while loading", Size(needed.weights));
            let smallest = QuantKind::Q4K;
            let smaller = with(smallest).filter(|_| quantized != Some(smallest));
            let help = smaller.filter(|smaller| smaller.loading < needed.loading).map_or_else(
                || "a smaller model takes less".to_owned(),
                |smaller| {
                    let takes = Size(smaller.loading);
                    format!("--quantize {} takes {takes}", smallest.name())
                },
            );
            (uses, help)
        })
    }

    /// Refuses to load a model for which there is not enough memory. A model that cannot be measured is left to
    /// the loader, which says what is wrong with it.
    pub(crate) fn files(
        self,
        config: &ModelConfig,
        files: ModelFiles<'_>,
        options: &EngineOptions,
    ) -> Result<()> {
        let load = &options.load;
        if self == Self::Off || !load.device.is_cpu() {
            return Ok(());
        }
        let measure = |quantize| {
            let load = mico_model::LoadOptions { quantize, ..load.clone() };
            Model::memory_to_load(config, files, &load).ok()
        };
        let Some(needed) = measure(load.quantize) else { return Ok(()) };
        self.admit_model(needed, load.quantize, |kind| measure(Some(kind)))
    }

    /// Refuses to make a model with random weights for which there is not enough memory.
    pub fn synthetic(self, config: &ModelConfig, options: &SyntheticOptions) -> Result<()> {
        if self == Self::Off || !options.device.is_cpu() {
            return Ok(());
        }
        let measure = |quantize| {
            let options = SyntheticOptions { quantize, ..options.clone() };
            Model::memory_to_make(config, &options)
        };
        let needed = measure(options.quantize)?;
        self.admit_model(needed, options.quantize, |kind| measure(Some(kind)).ok())
    }
}

impl Engine {
    /// What a request takes at most on top of the model: what a scheduler admits it by, and what is compared with
    /// the free memory before a turn begins. Needs the layouts of its images, not their pixels.
    pub fn request_memory(&self, tokens: &RequestTokens<'_>) -> RequestMemory {
        let decoder = self.model.decoder();
        let visual = visual_per_block(tokens.plan, tokens.images, decoder.blocks());
        let entering = visual.first().copied().unwrap_or(0);
        // Caches are reserved as a whole. The last token of an answer is not fed back.
        let earlier = |block: usize| tokens.cached.get(block).copied().flatten().unwrap_or(0);
        let added = tokens.text + tokens.max_new.saturating_sub(1);
        let capacity: Vec<usize> = visual
            .iter()
            .enumerate()
            .map(|(block, visual)| earlier(block) + visual + added)
            .collect();
        let all = decoder.kv_bytes(&capacity, tokens.kv_format);
        // What a block held before is copied to where there is more room.
        let copied = (0..visual.len()).map(earlier).max().unwrap_or(0)
            * decoder.cache_bytes_per_token_in(tokens.kv_format);
        let encoded = self.encoded_bytes(tokens.images);
        let logits = 3 * FLOAT * self.model.config().decoder.vocab_size;
        let peak = self
            .vision_bytes(tokens.images)
            .max(all + copied + encoded + self.prefill_bytes(tokens, entering) + logits);
        let working = peak.saturating_sub(all) + BUFFERS;
        RequestMemory { kv_bytes: all as u64, working_bytes: working as u64 }
    }

    /// The most that exists while images go through the vision side one after the other: one of them at work, the
    /// others as pixels or done.
    fn vision_bytes(&self, images: &[&VisualLayout]) -> usize {
        let config = self.model.config();
        let (mut others, mut most) = (0, 0);
        for layout in images {
            let Some(work) = config.vision.work(&grids(layout)) else { continue };
            let rests = (FLOAT * work.pixels).max(self.encoded_bytes(&[*layout]));
            others += rests;
            most =
                most.max((work.bytes(config.decoder.hidden_size) as usize).saturating_sub(rests));
        }
        others + most
    }

    /// What is kept of images until the answer is there: embeddings, features and keys of every visual token.
    fn encoded_bytes(&self, images: &[&VisualLayout]) -> usize {
        let config = self.model.config();
        let vision = &config.vision;
        let token = |layout: &&VisualLayout| {
            let outputs = vision.work(&grids(layout)).map_or(1, |work| work.outputs);
            outputs * config.decoder.hidden_size + vision.feature_width() + vision.head_width()
        };
        images.iter().map(|layout| FLOAT * layout.len() * token(layout)).sum()
    }

    /// What selection or a decoder block holds at most on top of caches and images.
    fn prefill_bytes(&self, tokens: &RequestTokens<'_>, entering: usize) -> usize {
        let (decoder, config) = (self.model.decoder(), self.model.config());
        let shape = &config.decoder;
        let blocks = FLOAT * block_values(shape, entering + tokens.text);
        // A matrix of two bytes per weight, neither packed nor quantised, is widened while it is multiplied.
        let weights =
            shape.hidden_size * (shape.vocab_size + 3 * shape.blocks * shape.intermediate_size);
        let widened = if (2 * weights..4 * weights).contains(&decoder.bytes()) {
            FLOAT * shape.hidden_size * shape.intermediate_size
        } else {
            0
        };
        let selects = tokens.plan.stage1.is_some() || !tokens.plan.cuts.is_empty();
        let selection = if selects { selection_bytes(config, tokens.images, entering) } else { 0 };
        (blocks + widened).max(selection)
    }

    /// Refuses an image or video whose pixels, or whose way through the tower, take more memory than there is:
    /// before they are made, from its layout alone.
    pub(crate) fn admit_pixels(&self, layout: impl FnOnce() -> Result<VisualLayout>) -> Result<()> {
        if self.is_unlimited() {
            return Ok(());
        }
        let layout = layout()?;
        let Some(work) = self.model.config().vision.work(&grids(&layout)) else { return Ok(()) };
        // Resized, normalized and cut into patches, they are there up to three times.
        let preparing = 3 * FLOAT * work.pixels;
        let needed = preparing.max(self.vision_bytes(&[&layout])) as u64;
        let help = "a smaller image, or fewer pixels or tiles of it, take less";
        self.memory.admit("the request", needed, || {
            (format!("{} for pixels and activations", Size(needed)), help.to_owned())
        })
    }

    fn is_unlimited(&self) -> bool {
        self.memory == MemoryCheck::Off || !self.model.decoder().device().is_cpu()
    }

    /// What a turn takes; an error if there is not enough memory for it.
    pub(crate) fn admit(&self, tokens: &RequestTokens<'_>) -> Result<RequestMemory> {
        let needed = self.request_memory(tokens);
        if self.is_unlimited() {
            return Ok(needed);
        }
        self.memory.admit("the request", needed.total(), || {
            let RequestMemory { kv_bytes, working_bytes } = needed;
            let uses = format!(
                "{} for KV caches, {} for pixels and activations",
                Size(kv_bytes),
                Size(working_bytes)
            );
            let all: usize = tokens.images.iter().map(|layout| layout.len()).sum();
            // What is most decides what helps.
            let help = if tokens.max_new > tokens.text + all && kv_bytes > working_bytes {
                "fewer new tokens take less"
            } else if all > 0 {
                SMALLER_IMAGE
            } else {
                "a shorter prompt takes less"
            };
            (uses, help.to_owned())
        })?;
        Ok(needed)
    }
}

/// Values that a decoder holds while it runs one block on so many rows, besides caches.
///
/// The stream before and after the block and the embeddings it came from; then in attention the norm, queries
/// three times (projected, rotated, mixed) with their gate, and keys and values twice; in the MLP the norm, the
/// mixed rows and its inner values twice. Beside that what a product repacks of its rows.
fn block_values(config: &DecoderConfig, rows: usize) -> usize {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let queries = config.heads * config.head_dim;
    let keys = config.kv_heads * config.head_dim;
    let linear = config.linear_attention.as_ref().map_or(0, |linear: &LinearAttentionConfig| {
        2 * linear.channels() + 3 * linear.values_width()
    });
    let mixer = ((3 + usize::from(config.output_gate)) * queries + 4 * keys).max(linear);
    let row = 4 * width + mixer.max(2 * inner + width);
    rows * row + rows.min(REPACKED_ROWS) * inner.max(queries).max(width)
}

/// Bytes that selection takes: copies of the features it compares, and similarities, of each group by itself
/// before the decoder and of all that entered inside it, but no more than the selector's limit.
fn selection_bytes(config: &ModelConfig, images: &[&VisualLayout], entering: usize) -> usize {
    let groups = images.iter().flat_map(|layout| layout.group_sizes());
    let before: usize = groups.map(|tokens| tokens * tokens).sum();
    // SparseVLM compares twice.
    let similarities = 2 * FLOAT * before.max(entering * entering);
    let all: usize = images.iter().map(|layout| layout.len()).sum();
    let features = (all * config.vision.feature_width()).max(entering * config.decoder.hidden_size);
    2 * FLOAT * features + similarities.min(mico_select::Options::default().memory)
}

/// Bytes as messages write them.
pub(crate) struct Size(pub(crate) u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MIB: u64 = 1 << 20;
        const GIB: u64 = 1 << 30;
        if self.0 < GIB {
            // Rounded up: what is needed is never 0.
            write!(f, "{} MiB", self.0.div_ceil(MIB))
        } else {
            write!(f, "{:.1} GiB", self.0 as f64 / GIB as f64)
        }
    }
}
