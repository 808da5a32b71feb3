//! Charts and pruning overlays: every plot of the workspace, the pruning overlay and the contact sheet.
//!
//! * A [`Chart`] describes axes, series, references and a legend once; its [`Drawing`] is written as SVG (a
//!   file, or an element of an HTML document that follows the reader's light or dark preference) or as PNG.
//! * [`overlay`] shows what pruning kept of an image or a video, beside the question and the answer.
//!
//! All text is set in one embedded font (`DejaVu Sans`, 336 KB of it), all colors come from one palette that
//! people with weak red or green vision can tell apart. Texts and numbers may be anything: what is no
//! number is left out, what the font lacks is shown as a replacement character, and no text is markup.
#![forbid(unsafe_code)]

mod axis;
mod chart;
mod color;
mod drawing;
mod font;
mod geometry;
pub mod overlay;
mod text;

pub use axis::{Axis, Row, Ticks};
pub use chart::{
    Better, Chart, Interval, Intervals, Point, Reference, ReferenceShape, Series, Style, Tone, grid,
};
pub use color::theme_css;
pub use drawing::{Drawing, RenderError};
pub use font::missing_glyphs;
