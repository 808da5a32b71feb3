//! Every selection rule, one file each, and the registry that finds them by name.

#![allow(
    clippy::unnecessary_wraps,
    reason = "the registry's builders share one signature, settings or not"
)]

mod apet;
mod cdpruner;
mod dart;
mod divprune;
mod fastv;
mod holov;
mod mico;
mod mmtok;
mod nearest;
mod prumerge;
mod pyramiddrop;
mod scope;
mod sparsevlm;
mod trivial;
mod visionzip;
mod vispruner;
mod vscan;

pub use apet::{ApET, SlotOrder};
pub use cdpruner::CdPruner;
pub use dart::Dart;
pub use divprune::DivPrune;
pub use fastv::FastV;
pub use holov::{HoloV, Surplus};
pub use mico::{CoverageTerm, Mico};
pub use mmtok::MmTok;
pub use prumerge::{PruMerge, PruMergeCount};
pub use pyramiddrop::PyramidDrop;
pub use scope::Scope;
pub use sparsevlm::SparseVlm;
pub use trivial::{IndexOrder, Random};
pub use visionzip::VisionZip;
pub use vispruner::VisPruner;
pub use vscan::{LocalRule, VScan};

use std::time::Instant;

use crate::error::{Error, Result};
use crate::gram::{Columns, Gram, Sketch, least_memory, packed_bytes};
use crate::matrix::Rows;
use crate::progress::Progress;
use crate::selector::Selector;
use crate::settings::Settings;

/// A method as the registry knows it.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    build: fn(&mut Settings) -> Result<Box<dyn Selector>>,
}

/// Every method.
pub const METHODS: &[Method] = &[
    Method { name: "mico", about: "weighted coverage, greedy (MiCo)", build: Mico::build },
    Method { name: "fastv", about: "attention of the last prompt token", build: FastV::build },
    Method {
        name: "sparsevlm",
        about: "attention of rater words, density-peak merge of the rest",
        build: SparseVlm::build,
    },
    Method {
        name: "visionzip",
        about: "dominant tokens by CLS attention, contextual merge by keys",
        build: VisionZip::build,
    },
    Method { name: "divprune", about: "max-min cosine distance", build: DivPrune::build },
    Method {
        name: "vispruner",
        about: "attention, then removal of near duplicates",
        build: VisPruner::build,
    },
    Method { name: "holov", about: "quotas per run, attention inside", build: HoloV::build },
    Method {
        name: "vscan",
        about: "shallow local and deep global attention, merge",
        build: VScan::build,
    },
    Method { name: "mmtok", about: "coverage of text and image", build: MmTok::build },
    Method { name: "apet", about: "error of a low-rank reconstruction, merge", build: ApET::build },
    Method { name: "scope", about: "coverage gain times attention", build: Scope::build },
    Method {
        name: "cdpruner",
        about: "determinantal point process conditioned on the question",
        build: CdPruner::build,
    },
    Method {
        name: "prumerge",
        about: "attention outliers, merge of their neighbours",
        build: PruMerge::build,
    },
    Method {
        name: "prumerge+",
        about: "attention outliers and a regular grid, merge",
        build: PruMerge::build_plus,
    },
    Method {
        name: "pyramiddrop",
        about: "attention of the last prompt token, one stage",
        build: PyramidDrop::build,
    },
    Method { name: "dart", about: "tokens least like pivot tokens", build: Dart::build },
    Method { name: "random", about: "uniform without replacement", build: Random::build },
    Method { name: "index", about: "the first tokens", build: IndexOrder::build },
];

/// The method called `name`, with its settings.
///
/// ```
/// use mico_select::{Settings, methods::by_name};
/// let settings = Settings::new([("ratio".to_string(), "0.75".to_string())]);
/// assert_eq!(by_name("vispruner", settings)?.name(), "vispruner");
/// assert!(by_name("visprune", Settings::default()).is_err());
/// # Ok::<(), mico_select::Error>(())
/// ```
pub fn by_name(name: &str, mut settings: Settings) -> Result<Box<dyn Selector>> {
    let Some(method) = METHODS.iter().find(|method| method.name == name) else {
        let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        return Err(Error::UnknownMethod { name: name.into(), known: known.join(", ") });
    };
    let selector = (method.build)(&mut settings)?;
    settings.finish(name)?;
    Ok(selector)
}

/// What is left of the working memory for kernel columns once the features are packed.
fn kernel_budget(features: &Rows<'_>, memory: usize) -> Result<usize> {
    let packed = packed_bytes(features.len(), features.cols());
    let least = least_memory(features.len());
    memory
        .checked_sub(packed)
        .filter(|&left| left >= least)
        .ok_or(Error::Memory { limit: memory, needed: packed.saturating_add(least) })
}

/// The kernel `[cos]₊`: all of it where it fits in `memory`, else some columns and a sketch.
fn positive_kernel<'a>(
    gram: &'a Gram,
    memory: usize,
    progress: &Progress<'_>,
) -> Result<(Columns<'a>, Option<Sketch>)> {
    let n = gram.len();
    let whole = n.saturating_mul(n).saturating_mul(size_of::<f32>());
    let left = memory.checked_sub(Sketch::bytes(n)).filter(|&left| left >= least_memory(n));
    match left {
        Some(left) if whole > memory => {
            let start = Instant::now();
            let sketch = Sketch::new(gram, progress);
            let mut columns = Columns::new(gram, &positive, left, progress)?;
            columns.add_spent(start.elapsed());
            Ok((columns, Some(sketch)))
        }
        _ => Ok((Columns::new(gram, &positive, memory, progress)?, None)),
    }
}

/// `[cos]₊`, in place.
fn positive(_token: usize, column: &mut [f32]) {
    for k in column {
        *k = k.max(0.0);
    }
}

/// `Σ_v weight_v [cos(v, i)]₊` of every token `i`.
fn positive_sums(gram: &Gram, weights: &[f64]) -> Vec<f64> {
    gram.weighted_sums(weights, |cosine| f64::from(cosine.max(0.0)))
}
