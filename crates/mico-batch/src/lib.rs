//! Many requests on one engine, and a cache of encoded images.
//!
//! A decode step reads every weight once, however many sequences take part, so several answers can be made in
//! little more than the time of one. This crate decides who takes part when:
//!
//! * [`Scheduler`] has a thread of its own, for a server; [`run_all`] answers a list of jobs on the caller's
//!   thread, in order and in bounded memory; [`Core`] is what both drive, one [`Core::turn`] at a time.
//! * [`Backend`] is what an engine offers to it: sequences that are worked on in slices and step together.
//! * [`Limits`] bound memory, queue and pauses. A request's bytes are known before it runs ([`Memory`]), so
//!   it is admitted when they fit, to the byte, and refused at once if they never will.
//! * [`EventSink`] takes what a client is told; [`channel()`] makes one for threads.
//! * [`Observer`] and [`Snapshot`] are for metrics, taken where the work is done.
//! * [`EncoderCache`] keeps encoded images.
//! * `engine` (a feature, on by default) puts `mico_engine::Engine` under the scheduler.
//!
//! # Rules
//!
//! * **Order.** One prompt is in work at a time, because its activations are the peak of memory. The oldest
//!   request of a client comes first; the client with the fewest admitted requests comes first, then
//!   the one served longest ago.
//! * **Large requests.** One that does not fit now is passed by at most [`Limits::overtakes`] others; then
//!   nothing is admitted before it.
//! * **Tokens.** Between the slices of a prompt all running answers step together. The time between
//!   two of their tokens at most doubles while a prompt is in work, unless a single slice takes longer
//!   than a step.
//! * **Ends.** Every accepted request ends exactly once, and its sink is told how. Cancellations and
//!   deadlines take effect before the next call of the backend. A panic ends the request that
//!   caused it ([`Backend::recover`] says what becomes of those that shared its step).
//! * **Slow readers.** A request whose sink is full is not stepped until there is room, and is cancelled
//!   after [`Limits::patience`]. Others do not wait for it.
//!
//! # Example
//!
//! With a [`scripted`] backend in place of an engine:
//!
//! ```
//! use std::sync::Arc;
//! use mico_batch::scripted::{Script, Scripted};
//! use mico_batch::{Event, Limits, Message, Scheduler, Shutdown, SubmitOptions, channel};
//!
//! let scheduler = Scheduler::spawn(Arc::new(Scripted::default()), Limits::default())?;
//! let (sink, events) = channel(64);
//! // A prompt of three slices and an answer of two tokens.
//! let job = Script::new("a", 3, 2);
//! let ticket = scheduler.submit(job, SubmitOptions::of("somebody"), sink)?;
//! let mut text = String::new();
//! for message in events {
//!     match message {
//!         Message::Event(Event::Token(piece)) => text += &piece,
//!         Message::Event(_) => {}
//!         Message::End(end) => assert_eq!(end.result?, "a0 a1 "),
//!     }
//! }
//! assert_eq!(text, "a0 a1 ");
//! assert!(ticket.is_ended());
//! scheduler.shutdown(Shutdown::Drain);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod backend;
mod cache;
mod case;
mod channel;
mod clock;
mod contain;
mod core;
#[cfg(feature = "engine")]
pub mod engine;
mod error;
mod event;
mod ledger;
mod limits;
mod observe;
mod pace;
mod queue;
mod run_all;
mod scheduler;
pub mod scripted;
mod shared;
mod signal;
mod ticket;

pub use crate::core::{Core, Turn};
pub use backend::{Advance, Backend, BackendError, Finish, Memory, Progress, StepResults, Stepped};
pub use cache::{CacheKey, CacheStats, CacheValue, EncoderCache};
pub use channel::{ChannelSink, Events, Message, channel};
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{Failure, Refusal};
pub use event::{End, Event, EventSink, Timings, Unsent};
pub use limits::{Limits, Setup};
pub use observe::{EndReason, Observation, Observer, Snapshot};
pub use run_all::{RunAll, run_all};
pub use scheduler::{Scheduler, Shutdown};
pub use ticket::{ClientId, SubmitOptions, Ticket};
