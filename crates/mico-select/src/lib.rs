//! Exact, fast selection of visual tokens.
//!
//! Given the features of `N` visual tokens from any model in any engine, this crate says which `B`
//! of them to keep: by MiCo's weighted coverage, or by the rule of any published method beside it.
//!
//! ```
//! use mico_select::{Inputs, Matrix, Options, Signal, methods::Mico, select};
//!
//! // Four tokens of width 2; the second repeats the first.
//! let features = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.5];
//! let attention = [0.4, 0.1, 0.3, 0.2];
//! let inputs = Inputs::new()
//!     .with(Signal::Features, Matrix::from_f32(&features, 4, 2)?)
//!     .with_vector(Signal::Reliability, &attention)?;
//! let selection = select(&Mico::default(), &inputs, 2, &Options::default())?;
//! assert_eq!(selection.kept, [0, 2]);
//! # Ok::<(), mico_select::Error>(())
//! ```
//!
//! # The objective
//!
//! Every token `v` is a source of information with a weight, and is covered by the kept token
//! most like it:
//!
//! ```text
//! I(S)     = Σ_v W_v · max_{s ∈ S} κ(v, s),        I(∅) = 0
//! W_v      = H_v · R_v · P_v                        information × reliability × relevance
//! κ(v, i)  = max(cos(x_v, x_i), 0)
//! Δ(i | S) = Σ_v W_v · max(κ(v, i) − max_{s ∈ S} κ(v, s), 0)
//! ```
//!
//! `H_v = ‖x_v‖₂` is measured before normalisation, `R_v` is the vision encoder's CLS attention
//! (Stage 1), `P_v` the text-to-visual attention inside the decoder (Stage 2); a factor that is not
//! given counts as 1, and [`proxies`] holds the ablations' substitutes. `I` is normalised, monotone
//! and submodular, so adding the token with the largest gain `B` times reaches at least
//! `1 − (1 − 1/B)^B ≥ 1 − 1/e` of the best possible value.
//!
//! # What is exact
//!
//! The picks are those of the plain dense greedy, in its order, equal gains going to the lowest
//! index. Similarities are f32, gains and sums f64 (features may also be f16 or bf16). A
//! similarity depends on its two vectors alone, never on where or on which thread it was computed,
//! so the answer is the same on every run, for every number of threads and every memory limit.
//! Stale gains serve as upper bounds ([lazy greedy]); rounding cannot make them wrong, because every
//! step of the sum rounds monotonically.
//!
//! Memory is bounded by [`Options::memory`]: where the `N x N` kernel does not fit, its columns are
//! recomputed in batches, guided by a half-precision upper bound of one triangle.
//!
//! # Budgets
//!
//! [`schedule`] turns a layer-average token count into Stage-1 and Stage-2 counts. Natural groups
//! (crops, tiles, frames) each get their share and are selected alone.
//!
//! # Inside a model
//!
//! [`pruner`] says how a method runs inside a multimodal model: what it plans for a budget, which
//! [`Signal`]s it wants to see before the decoder and after its blocks, and what it keeps there. Each
//! file of [`methods`] holds a method's selection rule and its pruner.
//!
//! # What this crate is not for
//!
//! It computes no attention and no features, reads no files, and knows no tensor framework and no
//! model by name: running a model, observing its signals and carrying a choice out is the engine's
//! part.
//!
//! [lazy greedy]: reference::dense_greedy

#![forbid(unsafe_code)]

mod coverage;
mod covering;
mod error;
mod gram;
mod groups;
mod inputs;
mod kernel;
mod lazy;
mod matrix;
pub mod methods;
mod progress;
pub mod proxies;
pub mod pruner;
mod rank;
pub mod reference;
pub mod schedule;
mod selection;
mod selector;
mod settings;
mod signal;
mod tokens;

pub use error::{Error, Result};
pub use gram::Gram;
pub use groups::{Remainder, split_budget};
pub use inputs::Inputs;
pub use matrix::{Dense, Matrix, Rows, Values};
pub use progress::{Done, Progress};
pub use rank::round_ratio;
pub use selection::{Merge, Replacement, Seconds, Selection};
pub use selector::{Context, DEFAULT_MEMORY, Options, Selector, select};
pub use settings::Settings;
pub use signal::{Signal, SignalSet};
pub use tokens::Tokens;
