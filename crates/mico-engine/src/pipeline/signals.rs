//! Where each signal of Stage 1 comes from. Open this to add one.

use mico_model::{AttentionTaps, VisionTaps};
use mico_select::Signal;
use mico_select::pruner::{FeatureSpace, Observed, Signals, Stage, Stage1Plan};

use super::VisionOutput;
use crate::error::{Error, Result};
use crate::features::Features;

/// What the tower must be watched for, so that a plan's signals can be shown and its tokens merged.
pub(crate) fn vision_taps(plan: &Stage1Plan) -> VisionTaps {
    let has = |signal| plan.signals.has(signal);
    let tower = plan.signals.space() == FeatureSpace::Tower;
    VisionTaps {
        features: has(Signal::Features) && tower || plan.merge_in_tower,
        joined: false,
        attention: AttentionTaps {
            deep: has(Signal::Reliability),
            shallow: has(Signal::ReliabilityShallow),
            keys: has(Signal::Keys),
        },
    }
}

/// Signals of an image that are made for one request, not by the tower.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// Embeddings as the decoder would take them.
    projected: Option<Features>,
    /// 1 for tokens that show padding alone.
    excluded: Option<Vec<f32>>,
}

impl Derived {
    pub(super) fn of(image: &VisionOutput, signals: Signals) -> Result<Self> {
        let embeddings = || Features::from_tensor(image.embeddings()?);
        let padding = |token| f32::from(u8::from(image.layout.region(token).is_empty()));
        let excluded = || (0..image.layout.len()).map(padding).collect();
        Ok(Self {
            projected: signals.embeddings().then(embeddings).transpose()?,
            excluded: signals.has(Signal::Excluded).then(excluded),
        })
    }
}

/// The declared signals of one image; an error if the vision side was not asked for one of them.
pub(super) fn stage1_signals<'a>(
    method: &'static str,
    signals: Signals,
    image: &'a VisionOutput,
    derived: &'a Derived,
    question: Option<&'a Features>,
) -> Result<Observed<'a>> {
    let features = match signals.space() {
        FeatureSpace::Projected => derived.projected.as_ref(),
        _ => image.features.as_ref(),
    };
    let rows = [
        (Signal::Features, features),
        (Signal::Projected, derived.projected.as_ref()),
        (Signal::Keys, image.keys.as_ref()),
        (Signal::Text, question),
    ];
    let vectors = [
        (Signal::Reliability, image.reliability.as_deref()),
        (Signal::ReliabilityShallow, image.shallow.as_deref()),
        (Signal::Excluded, derived.excluded.as_deref()),
    ];
    let mut observed = Observed::new(method, Stage::BeforeDecoder, signals, image.layout.len());
    for (signal, rows) in rows {
        if let Some(rows) = rows {
            observed = observed.with(signal, rows.matrix()?);
        }
    }
    for (signal, values) in vectors {
        if let Some(values) = values {
            observed = observed.with_vector(signal, values)?;
        }
    }
    match observed.missing().next() {
        None => Ok(observed),
        Some(signal) => {
            Err(Error::internal(format!("stage1.{signal} was declared and not observed")))
        }
    }
}
