//! The segments of a prompt: text and images in order.

/// One segment of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A piece of text, without any image placeholder.
    Text(String),
    /// The image with this 0-based index among the item's images.
    Image(usize),
}
