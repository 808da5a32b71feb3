//! Speed and memory of pruned and unpruned prefills, measured honestly.
//!
//! A [`Benchmark`] puts one [`Input`] to one engine under several [`Condition`]s, the same as those of an
//! evaluation. Conditions take turns within each round, so that whatever slows the machine down hits all
//! alike, and speed-ups are medians of the ratios within a round. Every finished run is a line of a
//! [`Journal`], from which an interrupted benchmark goes on and from which alone the [`Report`] is made.
//!
//! ```
//! use std::ops::ControlFlow;
//! use mico_bench::{Benchmark, Comparison, Configuration, Input, InputOptions, Journal, Loaded, Subject};
//! use mico_engine::{Engine, EngineOptions, Setting};
//! use mico_select::schedule::Budget;
//!
//! let (engine, _) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default())?;
//! let input = Input::noise(&engine, &InputOptions::default())?;
//! let subject = Subject::new(engine, input, Loaded::named("tiny"));
//! let mut comparison = Comparison::new(vec!["mico".parse()?]);
//! comparison.budgets = vec![Budget::Tokens(8)];
//! let conditions = comparison.conditions(&Setting::default())?;
//! let mut benchmark = Benchmark::new(conditions, Configuration::new(1, None, []));
//! (benchmark.rounds, benchmark.warmups, benchmark.new_tokens) = (1, 0, 1);
//! let mut journal = Journal::in_memory();
//! let report = benchmark.run(&subject, &mut journal, &mut |_| ControlFlow::Continue(()))?;
//! assert_eq!(report.rows.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod benchmark;
mod comparison;
mod concurrency;
mod configuration;
mod error;
mod input;
mod journal;
mod memory;
mod pareto;
mod quality;
mod report;
mod sample;
mod subject;

pub use benchmark::{Benchmark, Observer, Progress};
pub use comparison::{Comparison, SHARES};
pub use concurrency::{Concurrency, Latency, LevelRow, LevelSeconds, RelativeToOne};
pub use configuration::{About, Configuration};
pub use error::{Error, Result};
pub use input::{Input, InputOptions};
pub use journal::Journal;
pub use memory::{Allocated, AllocationMeter};
pub use mico_eval::Condition;
pub use pareto::Pareto;
pub use quality::Quality;
pub use report::{Report, Row, Speedup, Speedups, Spread, Times};
pub use sample::Tokens;
pub use subject::{Loaded, Subject, synthetic};
