//! The loop that makes an answer token by token.

use candle_core::Tensor;
use mico_model::{Caches, Decoder};

use super::sampler::{Sampler, check_finite};
use super::stop::StopGate;
use super::{Finish, Generation, Sink};
use crate::error::{Error, Result};
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

/// A finished answer.
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
    let mut stream = tokenizer.map(TextStream::new);
    let mut gate = StopGate::new(&options.stop);
    let mut out = Decoded {
        ids: Vec::new(),
        text: String::new(),
        finish: Finish::Length,
        pending: None,
        positions: Vec::new(),
    };
    let say = |piece: &str, text: &mut String, sink: &mut dyn Sink| {
        if !piece.is_empty() {
            text.push_str(piece);
            sink.text(piece);
        }
    };
    while out.ids.len() < options.max_new_tokens {
        if sink.cancelled() {
            out.finish = Finish::Cancelled;
            break;
        }
        if let Some(id) = out.pending.take() {
            logits = step(decoder, caches, id, &positions)?;
            positions.iter_mut().for_each(|position| *position += 1);
        }
        check_finite(&logits, out.ids.len())?;
        let id = match sink.steer(&logits) {
            Some(id) if (id as usize) < logits.len() => id,
            Some(id) => {
                let accepted = format!("a token of the vocabulary, 0 to {}", logits.len() - 1);
                return Err(Error::range("steered token", id, accepted));
            }
            None => sampler.next(&logits),
        };
        if !options.ignore_eos && ends.contains(&id) {
            out.finish = Finish::End;
            break;
        }
        out.ids.push(id);
        out.pending = Some(id);
        let Some(stream) = &mut stream else { continue };
        let (piece, stop) = gate.push(&stream.push(id)?);
        say(&piece, &mut out.text, sink);
        if let Some(stop) = stop {
            out.finish = Finish::Stop(stop.to_owned());
            break;
        }
    }
    if let (Some(stream), false) = (&mut stream, matches!(out.finish, Finish::Stop(_))) {
        let (piece, stop) = gate.push(&stream.finish()?);
        say(&piece, &mut out.text, sink);
        match stop {
            Some(stop) => out.finish = Finish::Stop(stop.to_owned()),
            None => say(&gate.finish(), &mut out.text, sink),
        }
    }
    out.positions = positions;
    Ok(out)
}

/// One token through all blocks, standing in each where its tokens end.
fn step(decoder: &Decoder, caches: &mut Caches, id: u32, positions: &[u32]) -> Result<Vec<f32>> {
    let mut hidden = decoder.embed(&[id])?;
    let mut from = 0;
    for together in positions.chunk_by(|a, b| a == b) {
        let end = from + together.len();
        let at = decoder.positions(&together[..1])?;
        hidden = decoder.run(from..end, &hidden, &at, caches, &[])?.hidden;
        from = end;
    }
    let logits: Tensor = decoder.logits(&hidden)?.squeeze(0)?;
    logits.to_vec1().map_err(Error::from)
}
