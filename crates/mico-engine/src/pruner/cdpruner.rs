//! CDPruner: known, and refused.

use std::sync::Arc;

use mico_select::Settings;

use super::{Plan, PlanRequest, Pruner, refused};
use crate::error::Result;

/// CDPruner conditions its choice on CLIP's own joint space of images and texts: the projection of
/// patches into it and the text tower. Checkpoints of multimodal models carry neither, so the rule runs
/// as a selector on tensors alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CdPruner;

impl CdPruner {
    #[allow(clippy::unnecessary_wraps, reason = "the registry's builders may fail")]
    pub(super) fn build(_: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self))
    }
}

impl Pruner for CdPruner {
    fn name(&self) -> &'static str {
        "cdpruner"
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        let reason = "it reads CLIP's projections of patches and text, and no checkpoint of these \
                      models has CLIP's text tower; `mico select --method cdpruner` takes them as \
                      tensors clip_image and clip_text";
        Err(refused(self.name(), reason))
    }
}
