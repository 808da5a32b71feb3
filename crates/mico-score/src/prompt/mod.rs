//! Builds the prompt of a benchmark item as each toolkit words it.

mod ask;
mod caps;
mod grounding;
mod instruction;
mod llava;
mod lmms;
mod place;
mod raw;
mod vlmevalkit;

use crate::{Fields, Profile, Segment, Track};
use ask::Ask;
use vlmevalkit::{Kind, Style};

pub use caps::max_new_tokens;
pub use grounding::GroundingPrompt;
pub(crate) use raw::RAW;

/// Why no prompt could be built for an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A field that the prompt needs is missing or empty.
    #[error("an item of {track} has no field '{field}' with a text")]
    Missing {
        /// The track that the item belongs to.
        track: Track,
        /// The canonical name of the missing field.
        field: &'static str,
    },
    /// The question refers to an image that the item does not have.
    #[error("the question marks image {number}, images: {images}")]
    Image {
        /// The number in the image marker, from 1.
        number: usize,
        /// The number of images that the item has.
        images: usize,
    },
    /// The track has no questions of its own: it is computed from the logs of other tracks.
    #[error("{0} asks no questions of its own: it is computed from the logs of other tracks")]
    NotAsked(Track),
}

/// The prompt of an item with `visuals` images (or one video), as text and image segments.
///
/// The text holds no image placeholder: how an image is written is decided by the model's chat template.
pub fn segments(
    track: Track,
    profile: Profile,
    fields: &Fields,
    visuals: usize,
) -> Result<Vec<Segment>, PromptError> {
    let text = text(track, profile, fields)?;
    let mut segments = match (track, profile) {
        (Track::Mmmu, Profile::VlmEvalKit) => place::at_marks(text, visuals)?,
        // The authors' runner for LLaVA passes only the first image.
        (Track::Mmmu, Profile::Llava) => place::in_front(text, visuals.min(1)),
        (_, Profile::InternVl) if !is_video(track) => place::numbered(text, visuals),
        _ => place::in_front(text, visuals),
    };
    segments.retain(|segment| !matches!(segment, Segment::Text(text) if text.is_empty()));
    Ok(segments)
}

/// The text of a prompt, before images are placed.
fn text(track: Track, profile: Profile, fields: &Fields) -> Result<String, PromptError> {
    let ready = fields.get("prompt").and_then(ask::text);
    if let Some(ready) = ready.filter(|_| profile == Profile::Llava) {
        return Ok(ready);
    }
    if track == Track::VtcBench {
        return Err(PromptError::NotAsked(track));
    }
    if Kind::of(track) == Some(Kind::Grounding) {
        return grounding_text(track, profile, fields);
    }
    let ask = Ask::of(track, fields)?;
    let toolkit = Kind::of(track).zip(Style::of(profile));
    Ok(match toolkit {
        Some((kind, style)) => vlmevalkit::text(kind, style, &ask),
        None if profile == Profile::Llava && !is_video(track) => llava::text(track, &ask),
        None => {
            // lmms-eval asks without OCR tokens by default, even if the data has them.
            let ask = Ask { tokens: Vec::new(), ..ask };
            lmms::text(track, &ask, &lmms::Frame::of(track, ask.open))
        }
    })
}

/// The data's own question if it has one, otherwise the model family's wording around the expression.
fn grounding_text(track: Track, profile: Profile, fields: &Fields) -> Result<String, PromptError> {
    if let Some(question) = fields.get("question").and_then(ask::text) {
        return Ok(question);
    }
    let expression = fields.get("expression").and_then(ask::text);
    let expression = expression.ok_or(PromptError::Missing { track, field: "expression" })?;
    Ok(GroundingPrompt::of(profile).text(&expression))
}

/// Whether the track's questions are about videos.
fn is_video(track: Track) -> bool {
    matches!(track, Track::VideoMme | Track::MvBench | Track::LongVideoBench | Track::Mlvu)
}
