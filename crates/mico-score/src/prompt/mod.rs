//! What is put to the model, per track and per toolkit.

mod ask;
mod caps;
mod grounding;
mod instruction;
mod literal;
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

/// Why an item has no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A field the prompt is made of is missing.
    #[error("an item of {track} has no field '{field}' with a text")]
    Missing {
        /// The item's track.
        track: Track,
        /// The field.
        field: &'static str,
    },
    /// A question marks an image it does not have.
    #[error("the question marks image {number}, images: {images}")]
    Image {
        /// The number in the mark, from 1.
        number: usize,
        /// How many images there are.
        images: usize,
    },
    /// The track compares logs of other tracks.
    #[error("{0} asks no questions of its own: it is computed from the logs of other tracks")]
    NotAsked(Track),
}

/// The prompt of an item with `visuals` images (or one video).
///
/// Images are segments of their own and the text holds no placeholder for them: what a model's template
/// writes around an image is the template's business.
pub fn segments(
    track: Track,
    profile: Profile,
    fields: &Fields,
    visuals: usize,
) -> Result<Vec<Segment>, PromptError> {
    let text = text(track, profile, fields)?;
    let mut segments = match (track, profile) {
        (Track::Mmmu, Profile::VlmEvalKit) => place::at_marks(text, visuals)?,
        // Its authors' runner for LLaVA feeds the first image only.
        (Track::Mmmu, Profile::Llava) => place::in_front(text, visuals.min(1)),
        (_, Profile::InternVl) if !is_video(track) => place::numbered(text, visuals),
        _ => place::in_front(text, visuals),
    };
    segments.retain(|segment| !matches!(segment, Segment::Text(text) if text.is_empty()));
    Ok(segments)
}

/// The words of a prompt.
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
            // The task asks without the tokens an OCR system found, even where the data have them.
            let ask = Ask { tokens: Vec::new(), ..ask };
            lmms::text(track, &ask, &lmms::Frame::of(track, ask.open))
        }
    })
}

/// The data's own question if there is one, else the family's wording around the description.
fn grounding_text(track: Track, profile: Profile, fields: &Fields) -> Result<String, PromptError> {
    if let Some(question) = fields.get("question").and_then(ask::text) {
        return Ok(question);
    }
    let expression = fields.get("expression").and_then(ask::text);
    let expression = expression.ok_or(PromptError::Missing { track, field: "expression" })?;
    Ok(GroundingPrompt::of(profile).text(&expression))
}

/// Whether the track shows videos.
fn is_video(track: Track) -> bool {
    matches!(track, Track::VideoMme | Track::MvBench | Track::LongVideoBench | Track::Mlvu)
}
