//! The picture of what was kept.

use mico_chart::overlay::{self, Caption, Clip, Pruned, draw_video};
use mico_engine::{ImageInput, Outcome};

use crate::failure::Failure;
use crate::files::OutputFile;
use crate::picture::RasterFormat;
use crate::run::Tokens;

/// What an overlay shows beside the outcome.
pub(crate) struct Drawn<'a> {
    pub(crate) inputs: &'a [ImageInput],
    pub(crate) labels: &'a [String],
    pub(crate) question: &'a str,
}

/// Draws what was kept, beside question and answer, to a file. Says how many characters
/// have no letter in the font.
pub(crate) fn draw(
    file: &OutputFile,
    format: RasterFormat,
    drawn: &Drawn<'_>,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let counts = Tokens::of(outcome).to_string().replace("->", "\u{2192}");
    let caption =
        Caption { question: drawn.question, answer: &outcome.answer.text, counts: &counts };
    let sheet = match (drawn.inputs, outcome.images.as_slice()) {
        ([ImageInput::Frames(frames)], [o]) => {
            let (stage1, kept) = (outcome.stage1_of(o), &outcome.kept_of(o));
            let (layout, stage1) = (&*o.layout, stage1.as_deref());
            draw_video(&Clip { frames, layout, stage1, kept, labels: drawn.labels }, &caption)
        }
        (inputs, outcomes) => {
            let kept: Vec<(Option<Vec<usize>>, Vec<usize>)> =
                outcomes.iter().map(|o| (outcome.stage1_of(o), outcome.kept_of(o))).collect();
            let shown = inputs.iter().zip(outcomes).zip(&kept);
            let pruned = shown.filter_map(|((input, o), (stage1, kept))| match input {
                ImageInput::Decoded(image) => {
                    Some(Pruned { image, layout: &o.layout, stage1: stage1.as_deref(), kept })
                }
                _ => None,
            });
            overlay::draw(&pruned.collect::<Vec<_>>(), &caption)
        }
    };
    let sheet = sheet.map_err(Failure::failed)?;
    file.write(format.encode(&sheet).map_err(Failure::failed)?)?;
    let missing = mico_chart::missing_glyphs(&format!("{}{}", caption.question, caption.answer));
    if missing > 0 {
        let characters = if missing == 1 { "character" } else { "characters" };
        eprintln!("note: the overlay's font has no glyph for {missing} {characters}");
    }
    Ok(())
}
