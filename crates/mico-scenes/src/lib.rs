//! Synthetic images with known contents, and questions about them with known answers.
//!
//! The embedded model is trained on these scenes, and the built-in benchmark asks about scenes of
//! another [`Split`]. The same split, seed and index give the same scene and questions on every
//! machine.
//!
//! ```
//! use mico_scenes::{Kind, Split, ask, scene};
//! let (scene, mut rng) = scene(Split::Benchmark, 7, 0);
//! assert!((2..=7).contains(&scene.objects.len()));
//! if let Some(question) = ask(&scene, Kind::Count, &mut rng) {
//!     println!("{} {}", question.text, question.answer);
//! }
//! let picture = scene.render();
//! assert_eq!(picture.pixels.len(), 336 * 336 * 3);
//! ```

#![forbid(unsafe_code)]

mod glyph;
mod paint;
mod question;
mod record;
mod scene;
mod shape;
mod vocabulary;

pub use paint::Picture;
pub use question::{GRID, KINDS, Kind, Question, ask};
pub use record::{Contents, write_record};
pub use scene::{BACKGROUND, CHARACTERS, Color, LABELS, Object, SIDE, Scene, Split, scene};
pub use shape::Shape;
pub use vocabulary::vocabulary;

/// The version of the generator, increased whenever scenes, images or questions change, so that old
/// results are not compared with new ones.
pub const VERSION: u32 = 1;
