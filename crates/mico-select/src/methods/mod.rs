//! Every method, one file each: its selection rule, its pruner, and its entry in the registry.
//!
//! To add one, write its file with a `METHOD` and add a line to [`METHODS`].

mod apet;
mod cdpruner;
mod dart;
mod density_peaks;
mod divprune;
mod fastv;
mod holov;
mod index;
mod mico;
mod mico_s1;
mod mmtok;
mod nearest;
mod none;
mod prumerge;
mod pyramiddrop;
mod random;
mod scope;
mod sparsevlm;
mod visionzip;
mod vispruner;
mod vscan;

pub use apet::{Apet, SlotOrder};
pub use cdpruner::CdPruner;
pub use dart::Dart;
pub use divprune::DivPrune;
pub use fastv::FastV;
pub use holov::{HoloV, Surplus};
pub use index::IndexOrder;
pub use mico::{CoverageTerm, Idle, Mico, MicoPruner};
pub use mmtok::MmTok;
pub use none::NoPruning;
pub use prumerge::{PruMerge, PruMergeCount};
pub use pyramiddrop::PyramidDrop;
pub use random::Random;
pub use scope::Scope;
pub use sparsevlm::SparseVlm;
pub use visionzip::VisionZip;
pub use vispruner::VisPruner;
pub use vscan::{LocalRule, VScan};

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pruner::Pruner;
use crate::selector::Selector;
use crate::settings::Settings;

/// Builds the selector or the pruner of a method from its settings.
type Builder<T> = fn(&mut Settings) -> Result<T>;

/// A method in the registry: its name, and how to build its selector and pruner.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The method's name on the command line and in records.
    pub name: &'static str,
    /// What the method does, in one line, for listings.
    pub about: &'static str,
    selector: Option<Builder<Box<dyn Selector>>>,
    pruner: Option<Builder<Arc<dyn Pruner>>>,
}

impl Method {
    /// Whether its rule can be run on signals alone, without a model.
    pub const fn is_selector(&self) -> bool {
        self.selector.is_some()
    }

    /// Whether it can be run inside a model; one that always refuses also counts.
    pub const fn is_pruner(&self) -> bool {
        self.pruner.is_some()
    }
}

/// The registry of methods, in the order of listings.
pub const METHODS: &[Method] = &[
    mico::METHOD,
    mico_s1::METHOD,
    fastv::METHOD,
    sparsevlm::METHOD,
    visionzip::METHOD,
    divprune::METHOD,
    vispruner::METHOD,
    holov::METHOD,
    vscan::METHOD,
    mmtok::METHOD,
    apet::METHOD,
    scope::METHOD,
    prumerge::METHOD,
    prumerge::PLUS,
    pyramiddrop::METHOD,
    dart::METHOD,
    cdpruner::METHOD,
    random::METHOD,
    index::METHOD,
    none::METHOD,
];

/// The methods that have a selection rule, in registry order.
pub fn selectors() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| method.is_selector())
}

/// The methods that can be run inside a model, in registry order.
pub fn pruners() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| method.is_pruner())
}

/// The selection rule of the method called `name`, with its settings.
///
/// ```
/// use mico_select::{Settings, methods::selector_by_name};
/// let settings = Settings::new([("ratio".to_string(), "0.75".to_string())]);
/// assert_eq!(selector_by_name("vispruner", settings)?.name(), "vispruner");
/// assert!(selector_by_name("visprune", Settings::default()).is_err());
/// # Ok::<(), mico_select::Error>(())
/// ```
pub fn selector_by_name(name: &str, settings: Settings) -> Result<Box<dyn Selector>> {
    build(name, settings, |method| method.selector)
}

/// The pruner of the method called `name`, with its settings.
///
/// ```
/// use mico_select::{Settings, methods::pruner_by_name};
/// assert_eq!(pruner_by_name("mico", Settings::default())?.name(), "mico");
/// let error = pruner_by_name("mica", Settings::default()).unwrap_err();
/// assert!(error.to_string().contains("mico-s1"));
/// # Ok::<(), mico_select::Error>(())
/// ```
pub fn pruner_by_name(name: &str, settings: Settings) -> Result<Arc<dyn Pruner>> {
    build(name, settings, |method| method.pruner)
}

/// Builds `part` of the method called `name`; an error if a setting is not one of its own.
fn build<T>(
    name: &str,
    mut settings: Settings,
    part: impl Fn(&Method) -> Option<Builder<T>>,
) -> Result<T> {
    let Some(make) = METHODS.iter().find(|method| method.name == name).and_then(&part) else {
        let known = METHODS.iter().filter(|method| part(method).is_some());
        let known: Vec<&str> = known.map(|method| method.name).collect();
        return Err(Error::UnknownMethod { name: name.into(), known: known.join(", ") });
    };
    let made = make(&mut settings)?;
    settings.finish(name)?;
    Ok(made)
}
