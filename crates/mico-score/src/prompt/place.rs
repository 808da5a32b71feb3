//! Places the images of a prompt among its text segments.

use super::PromptError;
use crate::Segment;

/// The start of an image marker in MMMU's texts; a digit and `>` follow.
const MARK: &str = "<image ";

/// All images first, then the text.
pub(super) fn in_front(text: String, images: usize) -> Vec<Segment> {
    (0..images).map(Segment::Image).chain([Segment::Text(text)]).collect()
}

/// InternVL's order: a single image comes first unnumbered; several are preceded by `Image-1: ` and
/// so on.
pub(super) fn numbered(text: String, images: usize) -> Vec<Segment> {
    if images < 2 {
        return in_front(text, images);
    }
    let image = |n| [Segment::Text(format!("Image-{}: ", n + 1)), Segment::Image(n)];
    (0..images).flat_map(image).chain([Segment::Text(text)]).collect()
}

/// Replaces image markers in the text by the images; without markers all images come first. Text
/// segments between two markers may be empty.
pub(super) fn at_marks(text: String, images: usize) -> Result<Vec<Segment>, PromptError> {
    let mut segments = Vec::new();
    let mut current = String::new();
    for (i, piece) in text.split(MARK).enumerate() {
        match mark(piece).filter(|_| i > 0) {
            Some((number, rest)) => {
                if number > images {
                    return Err(PromptError::Image { number, images });
                }
                segments.push(Segment::Text(std::mem::take(&mut current)));
                segments.push(Segment::Image(number - 1));
                current.push_str(rest);
            }
            None if i > 0 => {
                current.push_str(MARK);
                current.push_str(piece);
            }
            None => current.push_str(piece),
        }
    }
    if segments.is_empty() {
        return Ok(in_front(text, images));
    }
    segments.push(Segment::Text(current));
    Ok(segments)
}

/// The largest image number marked in the text; 0 if there is no marker.
pub(super) fn marked(text: &str) -> usize {
    let numbers = text.split(MARK).skip(1).filter_map(|piece| mark(piece).map(|(n, _)| n));
    numbers.max().unwrap_or(0)
}

/// The number of a marker, from 1 to 9, and the text after it; `None` if the marker is malformed.
fn mark(piece: &str) -> Option<(usize, &str)> {
    let mut chars = piece.chars();
    let number = chars.next()?.to_digit(10).filter(|n| *n > 0)? as usize;
    chars.as_str().strip_prefix('>').map(|rest| (number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(segments: &[Segment]) -> String {
        let show = |segment: &Segment| match segment {
            Segment::Text(text) => format!("[{text}]"),
            Segment::Image(n) => format!("#{n}"),
        };
        segments.iter().map(show).collect()
    }

    #[test]
    fn images_stand_at_their_marks() {
        let cases = [
            ("a <image 2> b <image 1>", 2, "[a ]#1[ b ]#0[]"),
            ("<image 1><image 1>", 1, "[]#0[]#0[]"),
            ("none here", 2, "#0#1[none here]"),
            ("<image 0> and <image x> and <image ", 1, "#0[<image 0> and <image x> and <image ]"),
            ("<image 12> <image 1>", 1, "[<image 12> ]#0[]"),
        ];
        for (text, images, expected) in cases {
            assert_eq!(show(&at_marks(text.to_owned(), images).unwrap()), expected, "{text}");
        }
        let error = at_marks("see <image 3>".to_owned(), 2).unwrap_err();
        assert_eq!(error.to_string(), "the question marks image 3, images: 2");
        assert_eq!(marked("<image 2> <image 7> <image 9"), 7);
    }

    #[test]
    fn several_images_are_numbered_for_internvl() {
        assert_eq!(show(&numbered("q".to_owned(), 2)), "[Image-1: ]#0[Image-2: ]#1[q]");
        assert_eq!(show(&numbered("q".to_owned(), 1)), "#0[q]");
        assert_eq!(show(&numbered("q".to_owned(), 0)), "[q]");
    }
}
