//! The parts of a prompt.

/// A part of what is put to the model, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Words.
    Text(String),
    /// The image of that number, from 0.
    Image(usize),
}
