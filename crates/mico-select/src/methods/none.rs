//! The unpruned model as a method, so that baselines run through the same code.

use std::sync::Arc;

use super::Method;
use crate::error::Result;
use crate::pruner::{Plan, PlanRequest, Pruner};

pub(super) const METHOD: Method = Method {
    name: "none",
    about: "the model untouched",
    selector: None,
    pruner: Some(|_| Ok(Arc::new(NoPruning))),
};

/// The pruner that drops nothing; its plan is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoPruning;

impl Pruner for NoPruning {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn prunes(&self) -> bool {
        false
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        Ok(Plan::default())
    }
}
