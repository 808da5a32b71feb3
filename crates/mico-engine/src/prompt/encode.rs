//! From the pieces of a prompt to token ids.

use crate::error::Result;
use crate::tokenizer::Tokenizer;

/// How the original LLaVA code writes an image.
const IMAGE_TOKEN: &str = "<image>";

/// A piece of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words of the template: special tokens in them are special.
    Own(String),
    /// Words of a message: nothing in them is special.
    Given {
        /// The message's text, encoded without special tokens.
        text: String,
        /// Whether the assistant said them.
        answer: bool,
    },
    /// The place of an image.
    Image,
}

impl Piece {
    /// Words of the template.
    pub fn own(text: &str) -> Self {
        Self::Own(text.into())
    }

    /// Whether it is what the assistant said.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Given { answer: true, .. })
    }
}

/// How an image is written in the prompts of a checkpoint.
pub(crate) fn image_token_text(tokenizer: &Tokenizer, placeholder: u32) -> String {
    let by_id = tokenizer.specials().iter().find(|special| special.id == placeholder);
    let by_id = by_id.map(|special| special.text.as_str());
    by_id.or(tokenizer.named("image_token")).unwrap_or(IMAGE_TOKEN).to_owned()
}

/// Puts every image between two marks where it does not stand between them already, as a processor
/// does with what a template writes.
pub(crate) fn enclosed(pieces: Vec<Piece>, (opens, closes): (&str, &str)) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let image = piece == Piece::Image;
        let opened = |piece: &Piece| matches!(piece, Piece::Own(own) if own.ends_with(opens));
        let closed = |piece: &Piece| matches!(piece, Piece::Own(own) if own.starts_with(closes));
        if image && !out.last().is_some_and(opened) {
            out.push(Piece::own(opens));
        }
        out.push(piece);
        if image && !pieces.peek().is_some_and(closed) {
            out.push(Piece::own(closes));
        }
    }
    out
}

/// Ids of the pieces, `placeholder` for each image. Texts that touch are one text to the tokenizer,
/// whoever wrote them; only special tokens and images cut. `begins` says whether the pieces begin the
/// prompt.
pub(crate) fn encode(
    tokenizer: &Tokenizer,
    pieces: &[Piece],
    placeholder: u32,
    begins: bool,
) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    let mut text = String::new();
    let flush = |text: &mut String, ids: &mut Vec<u32>| -> Result<()> {
        if !text.is_empty() {
            let first = begins && ids.is_empty();
            let new = if first { tokenizer.encode(text) } else { tokenizer.encode_continued(text) };
            ids.extend(new?);
            text.clear();
        }
        Ok(())
    };
    for piece in pieces {
        match piece {
            Piece::Given { text: given, .. } => text.push_str(given),
            Piece::Image => {
                flush(&mut text, &mut ids)?;
                ids.push(placeholder);
            }
            Piece::Own(own) => {
                let mut rest = own.as_str();
                while let Some((at, length, id)) = first_special(tokenizer, rest) {
                    text.push_str(&rest[..at]);
                    flush(&mut text, &mut ids)?;
                    ids.push(id);
                    rest = &rest[at + length..];
                }
                text.push_str(rest);
            }
        }
    }
    flush(&mut text, &mut ids)?;
    Ok(ids)
}

/// The special token that comes first in a text, the longest if several begin there: its place,
/// length and id.
fn first_special(tokenizer: &Tokenizer, text: &str) -> Option<(usize, usize, u32)> {
    let specials = tokenizer.specials().iter().filter(|special| !special.text.is_empty());
    let found = specials
        .filter_map(|special| Some((text.find(&special.text)?, special.text.len(), special.id)));
    found.min_by_key(|&(at, length, _)| (at, usize::MAX - length))
}
