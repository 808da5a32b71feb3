//! MiCo's engine: from images and a question to an answer, with visual tokens pruned on the way.
//!
//! [`Engine::open`] loads the folder of a published model; [`Engine::run`] answers one
//! [`Request`], [`Session`] a conversation. What is pruned is up to a [`pruner::Pruner`]; what happened
//! is in the [`Trace`]. The crate prints nothing, keeps no global state and ends no process.
//!
//! Building it takes a Rust compiler and nothing else: no C or C++ compiler, no TLS, no network. Models are
//! given as folders (`mico-hub` fetches them by name), videos as frames (`mico-video` decodes files).
//!
//! ```no_run
//! use mico_engine::{Engine, EngineOptions, ImageInput, Prompt, Request, pruner::Pruning};
//! use mico_select::schedule::Budget;
//!
//! let folder = std::path::Path::new("llava-1.5-7b-hf");
//! let (engine, _) = Engine::open(folder, &EngineOptions::default())?;
//! let image = ImageInput::Encoded(std::fs::read("cat.jpg").unwrap());
//! let mut request = Request::new(vec![image], Prompt::question("What is this?", 1));
//! request.pruning = Pruning::mico(Budget::Tokens(64));
//! let outcome = engine.run(&request, &mut ())?;
//! assert_eq!(outcome.trace.stage2.unwrap().kept.len(), 46);
//! # Ok::<(), mico_engine::Error>(())
//! ```
#![forbid(unsafe_code)]

mod dump;
mod engine;
mod error;
mod estimate;
pub mod flops;
mod generate;
mod layout;
mod pipeline;
mod preprocess;
pub mod prompt;
pub mod pruner;
mod report;
mod request;
mod schedule;
mod seen;
mod session;
mod switches;
pub mod tokenizer;
mod trace;
mod visuals;

pub use dump::Dump;
pub use engine::{Description, Engine, EngineOptions};
pub use error::{Error, Result};
pub use estimate::{Counted, Estimate, TextTokens};
pub use generate::{DEFAULT_MAX_NEW_TOKENS, Finish, Generation, Phase, Sink, Step, TextSink};
pub use layout::{Extent, PromptLayout, Slot};
pub use preprocess::{ImageLimits, default_preprocessing};
pub use prompt::{Message, Part, PromptStyle, Role};
pub use request::{Answer, ImageInput, ImageOutcome, Outcome, Prompt, Request, TurnRequest, Usage};
pub use schedule::ModelSchedule;
pub use seen::Seen;
pub use session::Session;
pub use switches::{InternFeature, LimitSource, PositionMode, SWITCHES, Switches, VideoFeature};
pub use trace::{CutTrace, LogitsTrace, ModelTrace, Seconds, Stage1Trace, Stage2Trace, Trace};
