//! The Qwen models' vision side: the tower, and the mergers that join the patches of a visual token.

use std::sync::Arc;

use candle_core::Tensor;

use crate::architectures::{VisionSide, patch_means, token_means};
use crate::checkpoint::Part;
use crate::config::{Activation, QwenTowerKind, QwenVision};
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::vision::block::{Norm, NormKind};
use crate::vision::qwen::{NORM_EPS, QwenOutput, QwenTower};
use crate::vision::{Embedded, Encoded, Pixels, TowerRun, VisionTaps};
use crate::weights::{Builder, LinearShape};

/// The vision side of the Qwen models: the tower, its patch merger and the mergers of DeepStack.
#[derive(Debug)]
pub(super) struct Qwen {
    tower: Arc<QwenTower>,
    merger: Merger,
    deepstack: Vec<Merger>,
}

/// `second(gelu(first(joined patches)))`, normalised before or after they are joined.
#[derive(Debug)]
struct Merger {
    joined: usize,
    norm: Norm,
    /// Whether the norm sees the joined patches.
    after: bool,
    first: Linear,
    second: Linear,
}

/// How a merger's tensors are called.
struct MergerNames {
    norm: String,
    first: String,
    second: String,
}

impl Merger {
    fn build(
        b: &mut Builder,
        config: &QwenVision,
        names: &MergerNames,
        after: bool,
    ) -> Result<Self> {
        let (width, joined) = (config.hidden_size, config.joined());
        let wide = width * joined;
        let kind = match config.kind {
            QwenTowerKind::Windowed { .. } => NormKind::Rms,
            QwenTowerKind::Positioned { .. } => NormKind::Layer,
        };
        let norm = kind.build(b, &names.norm, if after { wide } else { width }, NORM_EPS)?;
        let mut linear = |name: &str, output| {
            b.dense(Part::Vision, name, LinearShape { input: wide, output, bias: true })
        };
        let first = linear(&names.first, wide)?;
        let second = linear(&names.second, config.output)?;
        Ok(Self { joined, norm, after, first, second })
    }

    /// `[patches, d]` to `[tokens, D]`.
    fn forward(&self, patches: &Tensor) -> Result<Tensor> {
        let (rows, width) = patches.dims2()?;
        let join = |x: &Tensor| x.reshape((rows / self.joined, width * self.joined));
        let x = if self.after {
            self.norm.forward(&join(patches)?)?
        } else {
            join(&self.norm.forward(patches)?)?
        };
        self.second.forward(&self.first.forward_with(&x, Activation::Gelu)?)
    }
}

impl Qwen {
    pub(super) fn build(b: &mut Builder, config: &QwenVision) -> Result<Self> {
        let tower = Arc::new(QwenTower::build(b, config)?);
        let names = |prefix: &str| match config.kind {
            QwenTowerKind::Windowed { .. } => MergerNames {
                norm: format!("{prefix}.ln_q"),
                first: format!("{prefix}.mlp.0"),
                second: format!("{prefix}.mlp.2"),
            },
            QwenTowerKind::Positioned { .. } => MergerNames {
                norm: format!("{prefix}.norm"),
                first: format!("{prefix}.linear_fc1"),
                second: format!("{prefix}.linear_fc2"),
            },
        };
        let merger = Merger::build(b, config, &names("merger"), false)?;
        let deepstack = (0..config.deepstack().len())
            .map(|layer| {
                Merger::build(b, config, &names(&format!("deepstack_merger_list.{layer}")), true)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { tower, merger, deepstack })
    }

    /// Patches as visual tokens, and what was observed of them.
    fn read(&self, seen: QwenOutput, taps: VisionTaps) -> Result<Encoded> {
        let joined = self.tower.config().joined();
        let features = taps.features.then(|| patch_means(&seen.hidden, joined)).transpose()?;
        let means =
            |patches: Option<Vec<f32>>| patches.map(|p| token_means(&p, joined)).transpose();
        let (reliability, shallow) = (means(seen.attention)?, means(seen.shallow)?);
        let keys = seen.keys.map(|patches| patch_means(&patches, joined)).transpose()?;
        let mut states = vec![seen.hidden];
        states.extend(seen.deepstack);
        Ok(Encoded { features, reliability, shallow, keys, states })
    }
}

impl VisionSide for Qwen {
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        let run = self.tower.begin(pixels, taps.attention)?;
        Ok(TowerRun::new(run, move |seen| self.read(seen, taps)))
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let (Some((last, layers)), true) =
            (encoded.states.split_first(), encoded.states.len() == 1 + self.deepstack.len())
        else {
            let (found, expected) = (encoded.states.len(), 1 + self.deepstack.len());
            let message = format!("{found} tensors, expected {expected}");
            return Err(Error::input("tower output", message));
        };
        let deepstack = self.deepstack.iter().zip(layers).map(|(merger, x)| merger.forward(x));
        Ok(Embedded {
            embeds: self.merger.forward(last)?,
            deepstack: deepstack.collect::<Result<_>>()?,
            newline: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn a_token_is_the_mean_of_its_patches() {
        let rows = Tensor::arange(0.0_f32, 16.0, &Device::Cpu).unwrap().reshape((8, 2)).unwrap();
        let found = patch_means(&rows, 4).unwrap();
        assert_eq!(found.to_vec2::<f32>().unwrap(), [[3.0, 4.0], [11.0, 12.0]]);
        let found = token_means(&[1.0, 2.0, 3.0, 6.0], 4).unwrap();
        assert_eq!(found.to_vec1::<f32>().unwrap(), [3.0]);
    }
}
