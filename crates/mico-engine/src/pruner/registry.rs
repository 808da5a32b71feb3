//! Every pruner by name.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use mico_select::Settings;

use super::{
    Apet, CdPruner, Dart, FastV, HoloV, Mico, MicoS1, MmTok, NoPruning, Pruner, Published,
    PyramidDrop, Random, SparseVlm, VScan, VisionZip,
};
use crate::error::{Error, Result};

/// A pruner as the registry knows it.
#[derive(Debug, Clone, Copy)]
pub struct Registered {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    build: fn(&mut Settings) -> Result<Arc<dyn Pruner>>,
}

const fn line(
    name: &'static str,
    about: &'static str,
    build: fn(&mut Settings) -> Result<Arc<dyn Pruner>>,
) -> Registered {
    Registered { name, about, build }
}

/// Every pruner.
pub const PRUNERS: &[Registered] = &[
    line("mico", "weighted coverage in two stages (MiCo)", Mico::build),
    line("mico-s1", "MiCo's first stage alone", MicoS1::build),
    line("fastv", "attention of the last prompt token, after block 2 (FastV)", FastV::build),
    line(
        "sparsevlm",
        "attention of the question's words, after three blocks, with merging (SparseVLM)",
        SparseVlm::build,
    ),
    line("visionzip", "attention, the rest merged by keys, before the decoder", VisionZip::build),
    line("divprune", "embeddings far from one another, before the decoder", Published::divprune),
    line(
        "vispruner",
        "attention, then distinct features, before the decoder",
        Published::vispruner,
    ),
    line("holov", "quotas for runs of tokens, attention inside, before the decoder", HoloV::build),
    line(
        "vscan",
        "local and global attention with merging, then the last token's in mid-decoder (VScan)",
        VScan::build,
    ),
    line("mmtok", "coverage of the question and the image, before the decoder", MmTok::build),
    line("apet", "tokens others reconstruct worst, before and in mid-decoder (ApET)", Apet::build),
    line("scope", "coverage gain times attention, before the decoder", Published::scope),
    line("pyramiddrop", "the last token's attention, after three blocks", PyramidDrop::build),
    line("dart", "tokens unlike a few pivots, after block 2 (DART)", Dart::build),
    line("cdpruner", "a determinantal process on the question; refused, see why", CdPruner::build),
    line("random", "chance, before the decoder", Random::build),
    line("none", "the model untouched", NoPruning::build),
];

/// The names, separated by commas.
pub fn names() -> String {
    let names: Vec<&str> = PRUNERS.iter().map(|pruner| pruner.name).collect();
    names.join(", ")
}

/// The pruner called `name`, with its settings.
///
/// ```
/// use mico_select::Settings;
/// use mico_engine::pruner::by_name;
/// assert_eq!(by_name("mico", Settings::default())?.name(), "mico");
/// let error = by_name("mica", Settings::default()).unwrap_err();
/// assert!(error.to_string().contains("mico-s1"));
/// # Ok::<(), mico_engine::Error>(())
/// ```
pub fn by_name(name: &str, mut settings: Settings) -> Result<Arc<dyn Pruner>> {
    let Some(found) = PRUNERS.iter().find(|pruner| pruner.name == name) else {
        return Err(Error::Unknown { what: "method", found: name.into(), known: names() });
    };
    let pruner = (found.build)(&mut settings)?;
    settings.finish(name)?;
    Ok(pruner)
}

/// A method with settings, as one word: `name`, or `name:key=value:key=value`.
///
/// ```
/// use mico_engine::pruner::MethodSpec;
/// let spec: MethodSpec = "vispruner:ratio=0.75".parse()?;
/// assert_eq!(spec.build()?.name(), "vispruner");
/// assert_eq!(spec.to_string(), "vispruner:ratio=0.75");
/// for wrong in ["mico:", "mico:a", "mico:a=", "mico:=b", "mico:a=1:a=2"] {
///     assert!(wrong.parse::<MethodSpec>().is_err(), "{wrong}");
/// }
/// # Ok::<(), mico_engine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodSpec {
    name: String,
    /// In the order of their keys.
    settings: BTreeMap<String, String>,
}

impl MethodSpec {
    /// The pruner; an error if there is none of that name or it does not have the settings.
    pub fn build(&self) -> Result<Arc<dyn Pruner>> {
        by_name(&self.name, Settings::new(self.settings.clone()))
    }

    /// The same with a seed, if it leaves something to chance and has none yet.
    pub fn seeded(mut self, seed: u64) -> Self {
        let idle = self.settings.get("idle").is_some_and(|idle| idle == "random");
        if self.name == "random" || idle {
            self.settings.entry("seed".to_owned()).or_insert_with(|| seed.to_string());
        }
        self
    }
}

impl FromStr for MethodSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let accepted = "NAME or NAME:KEY=VALUE:KEY=VALUE, each key once";
            Error::range("method", format!("'{text}'"), accepted)
        };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().to_owned();
        let mut settings = BTreeMap::new();
        for part in parts {
            let pair = part.split_once('=').filter(|(key, value)| ![*key, *value].contains(&""));
            let (key, value) = pair.ok_or_else(wrong)?;
            if settings.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(wrong());
            }
        }
        Ok(Self { name, settings })
    }
}

impl Display for MethodSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}
