//! An answer between two tokens, as a value.

use std::sync::Arc;

use super::logprobs::TokenLogprob;
use super::sampler::{Sampler, check_finite};
use super::writer::Writer;
use super::{Finish, GenerationOptions};
use crate::error::{Error, Result};
use crate::sink::{Phase, Step};
use crate::tokenizer::Tokenizer;

/// An answer between two tokens. It knows what the decoder must be fed next, and turns the logits that
/// come back into the next token; it holds no weights and no caches.
///
/// The first logits to accept are those of the prompt ([`crate::Advance::Ready`]); then, as long as
/// [`Self::input`] names a token, the logits that follow that token.
#[derive(Debug)]
pub struct Generation {
    options: GenerationOptions,
    ends: Vec<u32>,
    sampler: Sampler,
    /// `None` without a tokenizer.
    writer: Option<Writer>,
    ids: Vec<u32>,
    logprobs: Vec<TokenLogprob>,
    /// The last token, if the caches do not hold it yet.
    pending: Option<u32>,
    /// Logical position of the token that follows those in the caches, in each block.
    positions: Vec<u32>,
    finish: Option<Finish>,
}

/// What an answer begins with.
pub(crate) struct GenerationStart {
    pub(crate) options: GenerationOptions,
    pub(crate) tokenizer: Option<Arc<Tokenizer>>,
    /// Ids that end an answer.
    pub(crate) ends: Vec<u32>,
    /// Logical position of the first answer token in each block.
    pub(crate) positions: Vec<u32>,
}

/// What one row of logits became.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accepted {
    /// The token that was taken into the answer; `None` for an end token, which is not part of it.
    pub id: Option<u32>,
    /// Text that cannot change any more; empty while a character or a stop string may still be open.
    /// With the last token, all that was held back.
    pub text: String,
    /// Why the answer ends here, if it does.
    pub finish: Option<Finish>,
    /// How likely the token was, if the request asked for it and a token was taken.
    pub logprob: Option<TokenLogprob>,
    /// How far the answer has come; `None` for an end token.
    pub step: Option<Step>,
}

/// A finished answer, as a conversation takes it over.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) ids: Vec<u32>,
    pub(crate) text: String,
    pub(crate) finish: Finish,
    pub(crate) logprobs: Option<Vec<TokenLogprob>>,
    /// The last token, if the caches do not hold it yet.
    pub(crate) pending: Option<u32>,
    /// Logical position of the token that follows those in the caches, in each block.
    pub(crate) positions: Vec<u32>,
}

impl Generation {
    pub(crate) fn new(start: GenerationStart) -> Self {
        let GenerationStart { options, tokenizer, ends, positions } = start;
        let writer = tokenizer.map(|tokenizer| Writer::new(tokenizer, options.stop.clone()));
        Self {
            sampler: Sampler::new(&options),
            writer,
            ids: Vec::new(),
            logprobs: Vec::new(),
            pending: None,
            positions,
            finish: (options.max_new_tokens == 0).then_some(Finish::Length),
            options,
            ends,
        }
    }

    /// The token to feed to the decoder next; `None` before the prompt's logits were accepted, and once
    /// the answer is finished. The last token is not fed back: nothing asks for what follows it.
    pub fn input(&self) -> Option<u32> {
        self.pending.filter(|_| self.finish.is_none())
    }

    /// Logical position of [`Self::input`] in each block: one number, unless the pruner's rule is
    /// [`crate::pruner::PositionRule::Packed`].
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Why the answer ended, once it has.
    pub fn finish(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    /// The tokens so far.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The text so far, as far as it cannot change any more; empty without a tokenizer.
    pub fn text(&self) -> &str {
        self.writer.as_ref().map_or("", Writer::text)
    }

    /// Takes the logits of the prompt, or those behind [`Self::input`], which the caches then hold.
    pub fn accept(&mut self, logits: &[f32]) -> Result<Accepted> {
        self.accept_steered(logits, |_| None)
    }

    /// [`Self::accept`] with a say in the token: `steer` may name one in place of the sampler's.
    pub fn accept_steered(
        &mut self,
        logits: &[f32],
        steer: impl FnOnce(&[f32]) -> Option<u32>,
    ) -> Result<Accepted> {
        if self.finish.is_some() {
            return Err(Error::range("logits", "given to a finished answer", "none any more"));
        }
        if self.pending.take().is_some() {
            self.positions.iter_mut().for_each(|position| *position += 1);
        }
        check_finite(logits, self.ids.len())?;
        let id = match steer(logits) {
            Some(id) if (id as usize) < logits.len() => id,
            Some(id) => {
                let accepted = format!("a token of the vocabulary, 0 to {}", logits.len() - 1);
                return Err(Error::range("steered token", id, accepted));
            }
            None => self.sampler.next(logits),
        };
        if !self.options.ignore_eos && self.ends.contains(&id) {
            self.finish = Some(Finish::End);
            let text = self.flush(String::new())?;
            let finish = self.finish.clone();
            return Ok(Accepted { id: None, text, finish, logprob: None, step: None });
        }
        self.take(id, logits)
    }

    /// Takes a token into the answer.
    fn take(&mut self, id: u32, logits: &[f32]) -> Result<Accepted> {
        let logprob = self.options.logprobs.map(|top| TokenLogprob::new(logits, id, top));
        self.logprobs.extend(logprob.clone());
        self.ids.push(id);
        self.pending = Some(id);
        let mut text = String::new();
        if let Some(writer) = &mut self.writer {
            let piece = writer.push(id)?;
            text = piece.text;
            self.finish = piece.stop.map(Finish::Stop);
        }
        let most = self.options.max_new_tokens;
        if self.finish.is_none() && self.ids.len() == most {
            self.finish = Some(Finish::Length);
            text = self.flush(text)?;
        }
        let step = Some(Step::new(Phase::Decode, self.ids.len(), most));
        Ok(Accepted { id: Some(id), text, finish: self.finish.clone(), logprob, step })
    }

    /// Adds what was held back to the last piece. It may turn out to be a stop string.
    fn flush(&mut self, mut text: String) -> Result<String> {
        if let Some(writer) = &mut self.writer {
            let rest = writer.finish()?;
            text.push_str(&rest.text);
            if let Some(stop) = rest.stop {
                self.finish = Some(Finish::Stop(stop));
            }
        }
        Ok(text)
    }

    /// The finished answer; an error while it is not.
    pub(crate) fn into_generated(self) -> Result<Generated> {
        let text = self.text().to_owned();
        let Some(finish) = self.finish else {
            return Err(Error::range("answer", "unfinished", "one that has come to its end"));
        };
        Ok(Generated {
            ids: self.ids,
            text,
            finish,
            logprobs: self.options.logprobs.map(|_| self.logprobs),
            pending: self.pending,
            positions: self.positions,
        })
    }
}
