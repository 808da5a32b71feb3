//! Qwen3.5: Qwen3-VL's vision before a decoder most of whose blocks have linear attention.

use mico_model::{Normalization, architectures};
use mico_select::schedule::OutOfRange;

use super::qwen::CHATML;
use super::{ChatMl, FamilySpec, PromptFormat, PromptSpec, QWEN3_VL, SchedulePolicy};

/// Thinking is over before it begins.
static PROMPT: PromptFormat = PromptFormat {
    name: "qwen3.5",
    render: |messages| {
        let own = ChatMl { system: None, answer: "<think>\n\n</think>\n\n", trims: true, ..CHATML };
        own.render(messages)
    },
};

/// Qwen3.5: all of Qwen3-VL but the prompt and what hybrid decoders change about pruning.
pub static QWEN3_5: FamilySpec = FamilySpec {
    architecture: &architectures::QWEN3_5,
    prompt: PromptSpec { formats: &[&PROMPT], format: |_| &PROMPT, ..QWEN3_VL.prompt },
    pruning: SchedulePolicy {
        out_of_range: OutOfRange::Refuse,
        relevance: Normalization::VisualOnly,
        ..SchedulePolicy::PAPER
    },
    ..QWEN3_VL
};
