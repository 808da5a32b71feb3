//! What is kept of an answer.

use mico_engine::Outcome;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::fingerprint::hex;
use crate::setting::Setting;
use crate::task::Item;

/// Bytes of the hash in a key.
const KEY_BYTES: usize = 12;

/// Identifies an answer: model, suite, question and setting all went into it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordKey(String);

/// Makes the keys of one run.
#[derive(Debug, Clone)]
pub struct Keys {
    run: String,
}

impl Keys {
    pub(crate) fn new(run: String) -> Self {
        Self { run }
    }

    /// The key of an item under a setting.
    pub fn of(&self, item: &Item, setting: &Setting) -> RecordKey {
        let mut hash = Sha256::new();
        for part in [&self.run, &item.id, &item.question, &item.answer, &setting.key()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        RecordKey(hex(&digest[..KEY_BYTES]))
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its key.
    pub key: RecordKey,
    /// The item.
    pub item: String,
    /// The setting, as tables call it.
    pub setting: String,
    /// Its budget.
    pub tokens: Option<usize>,
    /// What was asked.
    pub question: String,
    /// What was said.
    pub answer: String,
    /// What is right.
    pub gold: String,
    /// Visual tokens before pruning, entering the decoder and in the last block.
    pub visual: [usize; 3],
    /// Visual tokens averaged over the blocks.
    pub layer_average: f64,
    /// Seconds in the decoder, pruning included; the vision side is shared by all questions about a
    /// picture.
    pub seconds: f64,
}

impl Record {
    pub(crate) fn new(key: RecordKey, item: &Item, setting: &Setting, outcome: &Outcome) -> Self {
        let (usage, seconds) = (&outcome.answer.usage, &outcome.trace.seconds);
        Self {
            key,
            item: item.id.clone(),
            setting: setting.label(),
            tokens: setting.tokens(),
            question: item.question.clone(),
            answer: outcome.answer.text.clone(),
            gold: item.answer.clone(),
            visual: [usage.visual_tokens, usage.visual_tokens_entered, usage.visual_tokens_kept],
            layer_average: usage.layer_average,
            seconds: seconds.stage1
                + seconds.stage2_relevance
                + seconds.stage2_select
                + seconds.decoder_prefill
                + seconds.decode,
        }
    }
}
