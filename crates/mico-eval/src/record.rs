//! What is kept of an answer.

use std::sync::Arc;

use mico_engine::Outcome;
use mico_score::Fields;
use mico_util::digest::Hasher;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::item::Item;

/// Hexadecimal digits of the hash in a key.
const KEY_DIGITS: usize = 24;

/// Identifies an answer: model, task, prompt, gold and setting all went into it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordKey(String);

impl std::fmt::Display for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes the keys of one source's records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunKey(String);

impl RunKey {
    /// Keys of all that is asked under this identity.
    pub(crate) fn new(identity: &str) -> Self {
        Self(digest(&[identity]))
    }

    /// The key of an item under a setting.
    #[expect(
        clippy::expect_used,
        reason = "two items must never share a key because one failed to print"
    )]
    pub(crate) fn of(&self, item: &Item, prompt: &str, setting: &Condition) -> RecordKey {
        let gold = serde_json::to_string(&item.fields).expect("a map of JSON values is JSON");
        let place = item.track.to_string();
        RecordKey(digest(&[&self.0, &place, &item.id, prompt, &gold, &setting.key()]))
    }
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Hasher::new();
    parts.iter().for_each(|part| hash.update_part(part));
    let mut digits = hash.hex();
    digits.truncate(KEY_DIGITS);
    digits
}

/// A number made of a text, for what is drawn at random about it.
pub(crate) fn seed(text: &str) -> u64 {
    let mut hash = Hasher::new();
    hash.update(text);
    hash.bytes().iter().take(8).fold(0, |seed, &byte| seed << 8 | u64::from(byte))
}

/// Seconds of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StageSeconds {
    /// Both stages of pruning.
    pub pruning: f64,
    /// Decoder blocks on the prompt.
    pub prefill: f64,
    /// Everything after the prompt.
    pub decode: f64,
}

/// One answer. The vision side is shared by all settings and questions about a picture and has no
/// time here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The key under which a journal finds the record.
    pub key: RecordKey,
    /// The keys' common part: what model was asked which task how.
    pub run: RunKey,
    /// The name of the item's track.
    pub track: String,
    /// The item's id, unique within its track.
    pub item: String,
    /// Its place in the track, from 0.
    pub position: usize,
    /// The picture it is about.
    pub cluster: String,
    /// The key of the condition that the item was asked under.
    pub setting: String,
    /// What was put to the model; `<image>` where pictures stand.
    pub prompt: String,
    /// The generated text; empty if there is none.
    pub answer: String,
    /// Why the answer ended; empty if there is none.
    pub finish: String,
    /// Why there is no answer: a picture or video that cannot be read, a prompt too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Question, options, gold and what else the rules read.
    pub fields: Arc<Fields>,
    /// Visual tokens before pruning, entering the decoder and in the last block.
    pub visual: [usize; 3],
    /// Visual tokens averaged over the blocks.
    pub layer_average: f64,
    /// Where the time went.
    pub seconds: StageSeconds,
}

impl Record {
    /// The record of an item under a setting, with nothing answered yet.
    pub(crate) fn unanswered(
        run: &RunKey,
        track: &str,
        item: &Item,
        prompt: &str,
        setting: &Condition,
    ) -> Self {
        Self {
            key: run.of(item, prompt, setting),
            run: run.clone(),
            track: track.to_owned(),
            item: item.id.clone(),
            position: item.position,
            cluster: item.cluster.clone(),
            setting: setting.key(),
            prompt: prompt.to_owned(),
            answer: String::new(),
            finish: String::new(),
            failure: None,
            fields: Arc::new(item.fields.clone()),
            visual: [0; 3],
            layer_average: 0.0,
            seconds: StageSeconds::default(),
        }
    }

    /// Whether it answers the same in another way.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        self.failure.is_none() && other.failure.is_none() && self.answer != other.answer
    }

    /// Takes an answer in; without one it says what stood in the way.
    pub(crate) fn set_outcome(&mut self, outcome: std::result::Result<&Outcome, String>) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.failure = Some(failure);
                return;
            }
        };
        let (usage, seconds) = (&outcome.usage, &outcome.seconds);
        self.answer.clone_from(&outcome.answer.text);
        outcome.answer.finish.name().clone_into(&mut self.finish);
        self.visual = [usage.visual_tokens, usage.visual_tokens_entered, usage.visual_tokens_kept];
        self.layer_average = usage.layer_average;
        self.seconds = StageSeconds {
            pruning: seconds.stage1 + seconds.stage2_relevance + seconds.stage2_select,
            prefill: seconds.decoder_prefill,
            decode: seconds.decode,
        };
    }
}
