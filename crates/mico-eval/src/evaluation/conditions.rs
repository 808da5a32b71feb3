//! What an evaluation compares, before its model is known.

use mico_engine::{Engine, Setting};

use crate::calibrate::refinable_blocks;
use crate::condition::Condition;
use crate::error::Result;
use crate::sweep::Sweep;

/// Where the conditions of an evaluation come from.
#[derive(Debug, Clone)]
pub enum Conditions {
    /// Conditions that the caller lists; duplicates count once.
    Explicit(Vec<Condition>),
    /// Those of a sweep, which also says what to ask where the caller does not.
    Sweep {
        /// The sweep whose entries are expanded once the model's blocks are known.
        sweep: Sweep,
        /// Whether the untouched model is asked about plain grey, too, whatever the sweep says.
        blank: bool,
    },
}

impl Conditions {
    /// What the tables are headed with.
    pub(super) fn title(&self) -> &str {
        match self {
            Self::Explicit(_) => "",
            Self::Sweep { sweep, .. } => &sweep.title,
        }
    }

    /// Refuses what can never be, whatever the model.
    pub(super) fn check(&self, base: &Setting) -> Result<()> {
        for condition in self.all(&[1], base)? {
            condition.setting.options()?;
        }
        Ok(())
    }

    /// Every condition, each once; all are asked in the prompt style of `base` unless they have their own.
    pub(super) fn over(&self, engine: &Engine, base: &Setting) -> Result<Vec<Condition>> {
        let mut conditions = self.all(&refinable_blocks(engine), base)?;
        if let Some(style) = base.style {
            for condition in &mut conditions {
                condition.setting.style.get_or_insert(style);
            }
        }
        Ok(conditions)
    }

    fn all(&self, blocks: &[usize], base: &Setting) -> Result<Vec<Condition>> {
        match self {
            Self::Explicit(conditions) => Ok(distinct(conditions)),
            Self::Sweep { sweep, blank } => {
                let mut conditions = sweep.conditions(blocks, base)?;
                if *blank && !sweep.blank {
                    conditions.insert(usize::from(sweep.unpruned), Condition::blank(base));
                }
                Ok(conditions)
            }
        }
    }
}

/// The conditions in their order, without those whose key came before.
fn distinct(all: &[Condition]) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    for condition in all {
        if !conditions.iter().any(|known| known.key() == condition.key()) {
            conditions.push(condition.clone());
        }
    }
    conditions
}
