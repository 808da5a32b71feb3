//! The model untouched.

use std::sync::Arc;

use mico_select::Settings;

use super::{Plan, PlanRequest, Pruner};
use crate::error::Result;

/// Drops nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoPruning;

impl NoPruning {
    #[allow(clippy::unnecessary_wraps, reason = "the registry's builders may fail")]
    pub(super) fn build(_: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self))
    }
}

impl Pruner for NoPruning {
    fn name(&self) -> &'static str {
        "none"
    }

    fn prunes(&self) -> bool {
        false
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        Ok(Plan::default())
    }
}
