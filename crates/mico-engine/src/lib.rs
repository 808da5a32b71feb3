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
//! let request = Request::new(vec![image], Prompt::question("What is this?", 1))
//!     .with(Pruning::mico(Budget::Tokens(64)));
//! let outcome = engine.run(&request, &mut ())?;
//! assert_eq!(outcome.usage.visual_tokens_kept, 46);
//! # Ok::<(), mico_engine::Error>(())
//! ```
#![forbid(unsafe_code)]

mod description;
mod dump;
mod encoded;
mod engine;
mod error;
mod estimate;
pub mod families;
mod features;
pub mod flops;
mod generate;
mod image_key;
mod layout;
mod model_traits;
mod outcome;
mod pipeline;
mod prepare;
mod preprocess;
pub mod prompt;
mod report;
mod request;
mod schedule;
mod sequence;
mod session;
mod setting;
mod sink;
pub mod switches;
pub mod tokenizer;
mod trace;
mod turn;
mod units;
mod visuals;

pub use description::Description;
pub use dump::Dump;
pub use encoded::{EncodedImage, EncodingKey};
pub use engine::{Engine, EngineOptions};
pub use error::{Error, Result};
pub use estimate::{Counted, Estimate, TextTokens};
pub use features::Features;
pub use generate::{
    Accepted, DEFAULT_MAX_NEW_TOKENS, Finish, Generation, GenerationOptions, TokenLogprob,
};
pub use image_key::ImageKey;
pub use layout::{Extent, PromptLayout, Slot};
pub use mico_select::pruner;
pub use mico_util::ErrorKind;
pub use outcome::{Answer, CutOutcome, ImageOutcome, Outcome, Stage1Outcome, Usage};
pub use pipeline::{Advance, Prefill, Ready};
pub use prepare::Prepared;
pub use preprocess::ImageLimits;
pub use prompt::{Message, Part, PromptFormat, PromptStyle, Role};
pub use report::Report;
pub use request::{ImageInput, Observe, Prompt, Request, SessionOptions, TurnRequest};
pub use schedule::ModelSchedule;
pub use sequence::Sequence;
pub use session::Session;
pub use setting::Setting;
pub use sink::{Phase, Sink, Step, TextSink};
pub use switches::{
    InternFeature, LimitSource, PositionMode, SWITCHES, Switch, SwitchValue, Switches, VideoFeature,
};
pub use trace::{LogitsTrace, ModelTrace, Seconds, Stage2Trace, Trace};
pub use turn::Progress;
