//! What is told about a finished turn.

use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::dump::Dump;
use crate::engine::Engine;
use crate::error::Result;
use crate::generate::Decoded;
use crate::layout::PromptLayout;
use crate::pipeline::{Prefilled, SeenImage, Stage1};
use crate::pruner::Features;
use crate::request::{Answer, ImageOutcome, Outcome, Usage};
use crate::trace::{CutTrace, LogitsTrace, ModelTrace, Seconds, Stage1Trace, Stage2Trace, Trace};

/// Everything a trace is made of.
pub(crate) struct Report<'a> {
    pub(crate) layout: &'a PromptLayout,
    pub(crate) images: &'a [Arc<SeenImage>],
    pub(crate) refine_layer: usize,
    pub(crate) uncalibrated: bool,
    pub(crate) selected: Stage1,
    pub(crate) filled: Prefilled,
    pub(crate) cache_lengths: Vec<Option<usize>>,
    pub(crate) first_logits: LogitsTrace,
}

impl Report<'_> {
    /// The answer and its trace.
    pub(crate) fn finish(
        self,
        engine: &Engine,
        decoded: &Decoded,
        seconds: Seconds,
        dump: Option<Dump>,
    ) -> Outcome {
        let layout = self.layout;
        let kept = self.filled.cuts.last().map_or(&self.selected.kept, |cut| &cut.visual);
        let blocks = self.filled.visual_per_block.len();
        let total: usize = self.filled.visual_per_block.iter().sum();
        let units = if engine.schedule.per_frame {
            self.images.iter().map(|image| image.layout.groups().len()).sum()
        } else {
            layout.images()
        };
        let layer_average = total as f64 / blocks as f64 / units.max(1) as f64;
        let usage = Usage {
            prompt_tokens: layout.len(),
            visual_tokens: layout.visual_tokens(),
            visual_tokens_entered: self.selected.kept.len(),
            visual_tokens_kept: kept.len(),
            layer_average,
            generated_tokens: decoded.ids.len(),
        };
        let local = |all: &[usize], image: usize| {
            let range = layout.image(image);
            let own = all.iter().filter(|token| range.contains(token));
            own.map(|token| token - range.start).collect::<Vec<usize>>()
        };
        let stage1 = self.selected.groups.is_some();
        let images = self.images.iter().enumerate().map(|(index, image)| ImageOutcome {
            layout: image.layout.clone(),
            stage1: stage1.then(|| local(&self.selected.kept, index)),
            kept: local(kept, index),
        });
        let images = images.collect();
        let cuts = &self.filled.cuts;
        let stage2 = cuts.last().map(|cut| Stage2Trace { kept: cut.visual.clone() });
        let merges = self.selected.merges.iter().chain(cuts.iter().flat_map(|cut| &cut.merges));
        let merged: Vec<_> = merges.map(|m| (m.target, m.sources.clone())).collect();
        let several =
            cuts.iter().map(|cut| CutTrace { block: cut.block, kept: cut.visual.clone() });
        let several: Vec<CutTrace> = several.collect();
        let kept = self.selected.kept;
        let trace = Trace {
            model: ModelTrace {
                family: engine.model.config().family.name(),
                layers: blocks,
                refine_layer: self.refine_layer,
                uncalibrated: self.uncalibrated,
            },
            visual_tokens: usage.visual_tokens,
            prompt_tokens: usage.prompt_tokens,
            stage1: self.selected.groups.map(|groups| Stage1Trace { kept, groups }),
            stage2,
            cuts: if several.len() > 1 { several } else { Vec::new() },
            merged,
            layer_average,
            cache_lengths: self.cache_lengths,
            generated_ids: decoded.ids.clone(),
            text: decoded.text.clone(),
            first_logits: self.first_logits,
            seconds,
            peak_memory_bytes: mico_util::memory::peak_resident().unwrap_or(0),
        };
        let answer = Answer {
            text: decoded.text.clone(),
            ids: decoded.ids.clone(),
            finish: decoded.finish.clone(),
            usage,
        };
        Outcome { answer, trace, images, dump }
    }
}

/// The tensors of a turn; `spatial` says whether positions have three axes.
pub(crate) fn dump(
    images: &[Arc<SeenImage>],
    question: Option<&Features>,
    filled: &Prefilled,
    spatial: bool,
) -> Result<Dump> {
    let mut dump = Dump::default();
    let join = |of: fn(&SeenImage) -> Option<&Tensor>| {
        images.iter().filter_map(|image| of(image)).cloned().collect::<Vec<_>>()
    };
    dump.join("pixel_values", &join(|image| image.pixels.as_ref()))?;
    dump.join("visual_embeds", &join(|image| image.embeds.as_ref()))?;
    let rows = |of: fn(&SeenImage) -> Option<&Features>| {
        let parts = images.iter().filter_map(|image| of(image));
        parts.map(Features::to_tensor).collect::<Result<Vec<_>>>()
    };
    dump.join("stage1.features", &rows(|image| image.features.as_ref())?)?;
    dump.join("stage1.keys", &rows(|image| image.keys.as_ref())?)?;
    let numbers = |of: fn(&SeenImage) -> Option<&Vec<f32>>| -> Vec<f32> {
        images.iter().filter_map(|image| of(image)).flatten().copied().collect()
    };
    dump.vector("stage1.reliability", &numbers(|image| image.reliability.as_ref()))?;
    dump.vector("stage1.reliability_shallow", &numbers(|image| image.shallow.as_ref()))?;
    if let Some(question) = question {
        dump.rows("stage1.text", question)?;
    }
    let axes = if spatial { 3 } else { 1 };
    let ids = &filled.position_ids;
    let along = |axis: usize| ids.iter().map(move |id| i64::from(id.axes()[axis]));
    let positions: Vec<i64> = (0..axes).flat_map(along).collect();
    let positions = Tensor::from_vec(positions, (axes, ids.len()), &Device::Cpu)?;
    dump.put("position_ids", if spatial { positions } else { positions.squeeze(0)? });
    for (index, seen) in filled.observed.iter().enumerate() {
        let last = index + 1 == filled.observed.len();
        let place = if last { "stage2".to_owned() } else { format!("cut{}", seen.block) };
        let rows = [
            ("features", &seen.features),
            ("text", &seen.text),
            ("keys", &seen.keys),
            ("text_keys", &seen.text_keys),
        ];
        for (name, rows) in rows {
            if let Some(rows) = rows {
                dump.rows(&format!("{place}.{name}"), rows)?;
            }
        }
        if let Some(relevance) = &seen.attention {
            dump.vector(&format!("{place}.relevance"), relevance)?;
        }
    }
    dump.put("first_logits", filled.logits.clone());
    Ok(dump)
}
