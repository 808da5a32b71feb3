//! The loop that makes an answer token by token.

use candle_core::Tensor;
use mico_model::{Caches, Decoder, StepRow};

use super::sampler::{Sampler, check_finite};
use super::stop::StopGate;
use super::{Finish, Generation};
use crate::error::{Error, Result};
use crate::sink::{Phase, Sink, report, unless_stopped};
use crate::tokenizer::{TextStream, Tokenizer};

/// Where an answer begins.
pub(crate) struct Decoding<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) tokenizer: Option<&'a Tokenizer>,
    pub(crate) options: &'a Generation,
    /// Ids that end an answer.
    pub(crate) ends: &'a [u32],
    /// Logits at the last prompt token.
    pub(crate) logits: Vec<f32>,
    /// Logical position of the first answer token in each block.
    pub(crate) positions: Vec<u32>,
}

/// A finished answer: its token ids, its text and why it ended.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) ids: Vec<u32>,
    pub(crate) text: String,
    pub(crate) finish: Finish,
    /// The last token, if the caches do not hold it yet.
    pub(crate) pending: Option<u32>,
    /// Logical position of the token that follows those in the caches, in each block.
    pub(crate) positions: Vec<u32>,
}

/// Makes the answer. The last token is not fed back: nothing asks for what follows it.
pub(crate) fn decode(
    start: Decoding<'_>,
    caches: &mut Caches,
    sink: &mut dyn Sink,
) -> Result<Decoded> {
    let Decoding { decoder, tokenizer, options, ends, mut logits, mut positions } = start;
    let mut sampler = Sampler::new(options);
    let mut writer = tokenizer.map(|tokenizer| Writer::new(tokenizer, options));
    let (mut ids, mut pending, mut finish) = (Vec::new(), None, Finish::Length);
    while ids.len() < options.max_new_tokens {
        if let Some(id) = pending.take() {
            logits = step(decoder, caches, id, &positions)?;
            positions.iter_mut().for_each(|position| *position += 1);
        }
        check_finite(&logits, ids.len())?;
        let id = match sink.steer(&logits) {
            Some(id) if (id as usize) < logits.len() => id,
            Some(id) => {
                let accepted = format!("a token of the vocabulary, 0 to {}", logits.len() - 1);
                return Err(Error::range("steered token", id, accepted));
            }
            None => sampler.next(&logits),
        };
        if !options.ignore_eos && ends.contains(&id) {
            finish = Finish::End;
            break;
        }
        ids.push(id);
        pending = Some(id);
        if let Some(writer) = &mut writer
            && let Some(stop) = writer.push(id, sink)?
        {
            finish = Finish::Stop(stop);
        }
        report(sink, Phase::Decode, ids.len(), options.max_new_tokens)?;
        if matches!(finish, Finish::Stop(_)) {
            break;
        }
    }
    let mut text = String::new();
    if let Some(mut writer) = writer {
        if !matches!(finish, Finish::Stop(_))
            && let Some(stop) = writer.finish(sink)?
        {
            finish = Finish::Stop(stop);
        }
        text = writer.text;
    }
    Ok(Decoded { ids, text, finish, pending, positions })
}

/// Turns ids into text, holds back what may become a stop string, and passes the rest on.
struct Writer<'a> {
    stream: TextStream<'a>,
    gate: StopGate<'a>,
    text: String,
}

impl<'a> Writer<'a> {
    fn new(tokenizer: &'a Tokenizer, options: &'a Generation) -> Self {
        let (stream, gate) = (TextStream::new(tokenizer), StopGate::new(&options.stop));
        Self { stream, gate, text: String::new() }
    }

    /// Takes one more token; the stop string, if it completed one.
    fn push(&mut self, id: u32, sink: &mut dyn Sink) -> Result<Option<String>> {
        let piece = self.stream.push(id)?;
        self.pass(&piece, sink)
    }

    /// Everything held back so far; the stop string, if it turned out to be one.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<Option<String>> {
        let piece = self.stream.finish()?;
        let stop = self.pass(&piece, sink)?;
        if stop.is_none() {
            let rest = self.gate.finish();
            self.say(&rest, sink)?;
        }
        Ok(stop)
    }

    fn pass(&mut self, piece: &str, sink: &mut dyn Sink) -> Result<Option<String>> {
        let (ready, stop) = self.gate.push(piece);
        let stop = stop.map(str::to_owned);
        self.say(&ready, sink)?;
        Ok(stop)
    }

    fn say(&mut self, piece: &str, sink: &mut dyn Sink) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        self.text.push_str(piece);
        unless_stopped(sink.text(piece))
    }
}

/// One token through all blocks, at each block's own position.
fn step(decoder: &Decoder, caches: &mut Caches, id: u32, positions: &[u32]) -> Result<Vec<f32>> {
    let row = StepRow { id, positions, caches };
    let logits: Tensor = decoder.step_many(&mut [row])?.squeeze(0)?;
    logits.to_vec1().map_err(Error::from)
}
