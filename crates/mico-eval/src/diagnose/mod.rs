//! The paper's three checks of its proxies, on anyone's pictures.
//!
//! Each check holds an observable number that selects tokens against a reference that annotations
//! give: [`information`] the feature norm against the entropy of dense labels, [`reliability`] the
//! attention of the class token against whether a masked object can still be decoded, [`relevance`]
//! the attention of the text against the box that is asked about. Pictures come from a [`Source`]:
//! a user's [`Folder`] or generated [`Scenes`]. Results are the same for every number of threads.

mod encode;
mod error;
mod figure;
mod folder;
mod information;
mod label_file;
mod markdown;
mod mask;
mod measure;
mod probe;
mod region;
mod relevance;
mod reliability;
mod scenes;
mod source;

use std::ops::ControlFlow;

use mico_engine::{Engine, SessionOptions};
use serde::Serialize;

pub use error::{DiagnoseError, Result};
pub use folder::{Folder, Labeling};
pub use information::{Information, InformationBin, PositionPoint, Trimmed, information};
pub use measure::{DRAWS, Measure};
pub use probe::ProbeKind;
pub use region::LabelCount;
pub use relevance::{Decile, Relevance, Undefined, relevance};
pub use reliability::{
    Accuracy, Arm, Concordance, HeadReport, ProbeReport, Reliability, Score, SplitCounts,
    reliability,
};
pub use scenes::Scenes;
pub use source::{Check, DamagedImage, LabelMap, LabeledObject, PixelBox, Query, Source};

/// Called with the number of pictures that are done, and with the number of all; answering [`ControlFlow::Break`] ends the check there with
/// [`mico_engine::Error::Cancelled`].
pub type Progress<'a> = dyn Fn(usize, usize) -> ControlFlow<()> + Sync + 'a;

/// What is checked, on what.
pub struct Diagnose<'a> {
    /// The engine with the model whose proxies are checked.
    pub engine: &'a Engine,
    /// Switches, image limits and prompt style; its pruning is not looked at.
    pub base: &'a SessionOptions,
    /// The pictures with their annotations.
    pub source: &'a dyn Source,
    /// Draws pictures, halves, masks and heads.
    pub seed: u64,
    /// Most pictures of a check.
    pub limit: usize,
    /// Visual tokens per block that `MiCo` may keep, on average, where relevance is observed.
    pub budget: usize,
    /// How tokens count labels.
    pub label_count: LabelCount,
}

impl std::fmt::Debug for Diagnose<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diagnose").field("source", &self.source.name()).finish_non_exhaustive()
    }
}

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Diagnosis {
    /// The pictures, in words.
    pub source: String,
    /// The check of the information amount, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub information: Option<Information>,
    /// The check of the reliability, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability: Option<Reliability>,
    /// The check of the relevance, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Relevance>,
}
