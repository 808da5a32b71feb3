//! Probes: small classifiers on feature vectors, trained here.
//!
//! Inputs are standardised by the training examples' means and deviations; a linear map undoes that,
//! so the probe's capacity is the same and only its training is easier. Training is Adam on the
//! cross entropy, and the epoch with the best validation accuracy is kept. The same examples and seed
//! give the same probe, whatever the number of threads.

use mico_util::SplitMix64;
use serde::Serialize;

const EPOCHS: usize = 30;
const BATCH: usize = 32;
/// Units of the hidden layer.
const HIDDEN: usize = 64;
const RATE: f32 = 3e-3;
/// Adam's decay of the first and second moments, and what keeps it from dividing by 0.
const DECAY: [f32; 2] = [0.9, 0.999];
const TINY: f32 = 1e-8;
/// A dimension that varies less than this is left as it is.
const CONSTANT: f32 = 1e-6;
/// Sets the heads' random numbers apart from others.
const SEED: u64 = 0x7072_6f62;

/// How a probe maps features to categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// A linear map and a softmax.
    Linear,
    /// The same behind a hidden layer of 64 rectified units.
    Mlp,
}

impl ProbeKind {
    /// Both kinds, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Mlp];

    /// The kind's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Mlp => "MLP",
        }
    }
}

/// Feature vectors with their categories.
#[derive(Debug, Clone, Default)]
pub(super) struct Examples {
    pub(super) features: Vec<Vec<f32>>,
    pub(super) categories: Vec<usize>,
}

/// A trained probe and how it did.
#[derive(Debug, Clone)]
pub(super) struct TrainedProbe {
    pub(super) probe: Probe,
    /// The epoch that was kept, from 1.
    pub(super) epoch: usize,
    /// Accuracy on the training and on the validation examples.
    pub(super) accuracy: [f64; 2],
}

/// A classifier of feature vectors.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    mean: Vec<f32>,
    scale: Vec<f32>,
    layers: Vec<Layer>,
}

/// A linear map with its offsets.
#[derive(Debug, Clone)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// One row of weights per output, then the offsets.
    values: Vec<f32>,
}

impl Layer {
    fn new(inputs: usize, outputs: usize, rng: &mut SplitMix64) -> Self {
        let reach = 1.0 / (inputs.max(1) as f32).sqrt();
        let mut values: Vec<f32> =
            (0..inputs * outputs).map(|_| rng.between(-reach, reach)).collect();
        values.resize(inputs * outputs + outputs, 0.0);
        Self { inputs, outputs, values }
    }

    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let (weights, offsets) = self.values.split_at(self.inputs * self.outputs);
        let rows = weights.chunks_exact(self.inputs.max(1)).zip(offsets);
        rows.map(|(row, offset)| offset + row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>())
            .collect()
    }

    /// Adds the gradient of one example; returns that of its input.
    fn backward(&self, x: &[f32], slope: &[f32], gradient: &mut [f32]) -> Vec<f32> {
        let split = self.inputs * self.outputs;
        let (weights, offsets) = gradient.split_at_mut(split);
        let mut input = vec![0.0; self.inputs];
        let width = self.inputs.max(1);
        let rows = weights.chunks_exact_mut(width).zip(self.values.chunks_exact(width));
        for ((row, own), (&slope, offset)) in rows.zip(slope.iter().zip(offsets)) {
            *offset += slope;
            for at in 0..row.len() {
                row[at] += slope * x[at];
                input[at] += slope * own[at];
            }
        }
        input
    }
}

/// Adam's moments of one layer.
struct Moments {
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Moments {
    fn step(&mut self, values: &mut [f32], gradient: &[f32], time: i32) {
        let [a, b] = DECAY;
        let (fix_a, fix_b) = (1.0 - a.powi(time), 1.0 - b.powi(time));
        for at in 0..values.len() {
            self.first[at] = a * self.first[at] + (1.0 - a) * gradient[at];
            self.second[at] = b * self.second[at] + (1.0 - b) * gradient[at] * gradient[at];
            let (mean, spread) = (self.first[at] / fix_a, self.second[at] / fix_b);
            values[at] -= RATE * mean / (spread.sqrt() + TINY);
        }
    }
}

impl Probe {
    /// Trains a probe with the random numbers of `seed`.
    pub(super) fn train(
        kind: ProbeKind,
        categories: usize,
        training: &Examples,
        validation: &Examples,
        seed: u64,
    ) -> TrainedProbe {
        let mut rng = SplitMix64::keyed(&[SEED, kind as u64, seed]);
        let mut probe = Self::new(kind, categories, training, &mut rng);
        let inputs: Vec<Vec<f32>> =
            training.features.iter().map(|x| probe.standardized(x)).collect();
        let moments = |layer: &Layer| {
            let zeros = vec![0.0; layer.values.len()];
            Moments { first: zeros.clone(), second: zeros }
        };
        let mut moments: Vec<Moments> = probe.layers.iter().map(moments).collect();
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        let (mut best, mut time) = (None::<TrainedProbe>, 0);
        for epoch in 1..=EPOCHS {
            for last in (1..order.len()).rev() {
                order.swap(last, rng.below(last + 1));
            }
            for batch in order.chunks(BATCH) {
                let gradients = probe.gradients(&inputs, &training.categories, batch);
                time += 1;
                for (layer, (moments, gradient)) in
                    probe.layers.iter_mut().zip(moments.iter_mut().zip(&gradients))
                {
                    moments.step(&mut layer.values, gradient, time);
                }
            }
            let found = probe.accuracy(validation);
            // Of equals the first: the later ones have had more time to learn by heart.
            if best.as_ref().is_none_or(|best| found > best.accuracy[1]) {
                best = Some(TrainedProbe { probe: probe.clone(), epoch, accuracy: [0.0, found] });
            }
        }
        let mut best = best.unwrap_or(TrainedProbe { probe, epoch: 0, accuracy: [0.0; 2] });
        best.accuracy[0] = best.probe.accuracy(training);
        best
    }

    fn new(kind: ProbeKind, categories: usize, training: &Examples, rng: &mut SplitMix64) -> Self {
        let width = training.features.first().map_or(0, Vec::len);
        let count = training.features.len().max(1) as f32;
        let mut mean = vec![0.0; width];
        for x in &training.features {
            mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += x / count);
        }
        let mut scale = vec![0.0; width];
        for x in &training.features {
            for at in 0..width {
                scale[at] += (x[at] - mean[at]).powi(2) / count;
            }
        }
        scale.iter_mut().for_each(|s| *s = if s.sqrt() > CONSTANT { 1.0 / s.sqrt() } else { 1.0 });
        let layers = match kind {
            ProbeKind::Linear => vec![Layer::new(width, categories, rng)],
            ProbeKind::Mlp => {
                vec![Layer::new(width, HIDDEN, rng), Layer::new(HIDDEN, categories, rng)]
            }
        };
        Self { mean, scale, layers }
    }

    fn standardized(&self, x: &[f32]) -> Vec<f32> {
        let factors = self.mean.iter().zip(&self.scale);
        x.iter().zip(factors).map(|(x, (mean, scale))| (x - mean) * scale).collect()
    }

    /// Inputs of every layer, then the scores of the categories.
    fn activations(&self, x: Vec<f32>) -> Vec<Vec<f32>> {
        let mut all = vec![x];
        for (index, layer) in self.layers.iter().enumerate() {
            let mut next = layer.forward(&all[index]);
            if index + 1 < self.layers.len() {
                next.iter_mut().for_each(|value| *value = value.max(0.0));
            }
            all.push(next);
        }
        all
    }

    /// The mean gradient of a batch, one per layer.
    fn gradients(
        &self,
        inputs: &[Vec<f32>],
        categories: &[usize],
        batch: &[usize],
    ) -> Vec<Vec<f32>> {
        let mut gradients: Vec<Vec<f32>> =
            self.layers.iter().map(|layer| vec![0.0; layer.values.len()]).collect();
        for &example in batch {
            let activations = self.activations(inputs[example].clone());
            let mut slope = softmax(activations.last().map_or(&[], Vec::as_slice));
            if let Some(own) = slope.get_mut(categories[example]) {
                *own -= 1.0;
            }
            slope.iter_mut().for_each(|value| *value /= batch.len() as f32);
            for (index, layer) in self.layers.iter().enumerate().rev() {
                slope = layer.backward(&activations[index], &slope, &mut gradients[index]);
                // What the rectifier cut off passes nothing back.
                let passed = slope.iter_mut().zip(&activations[index]);
                passed.filter(|_| index > 0).for_each(|(slope, &x)| {
                    if x <= 0.0 {
                        *slope = 0.0;
                    }
                });
            }
        }
        gradients
    }

    /// The likeliest category; of equals the first.
    pub(super) fn predict(&self, x: &[f32]) -> usize {
        let activations = self.activations(self.standardized(x));
        let scores = activations.last().map_or(&[][..], Vec::as_slice);
        let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        best.unwrap_or(0)
    }

    fn accuracy(&self, examples: &Examples) -> f64 {
        let pairs = examples.features.iter().zip(&examples.categories);
        let right = pairs.filter(|(x, category)| self.predict(x) == **category).count();
        right as f64 / examples.categories.len().max(1) as f64
    }
}

fn softmax(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let total: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points around the corners of a square, whose category `of` says.
    fn points(count: usize, seed: u64, of: fn(bool, bool) -> usize) -> Examples {
        let mut rng = SplitMix64::keyed(&[seed]);
        let mut examples = Examples::default();
        for _ in 0..count {
            let (a, b) = (rng.chance(0.5), rng.chance(0.5));
            let mut near = |side: bool| f32::from(u8::from(side)) + rng.between(-0.2, 0.2);
            examples.features.push(vec![near(a), near(b), 7.0]);
            examples.categories.push(of(a, b));
        }
        examples
    }

    fn trained(kind: ProbeKind, of: fn(bool, bool) -> usize, categories: usize) -> TrainedProbe {
        Probe::train(kind, categories, &points(300, 1, of), &points(100, 2, of), 0)
    }

    #[test]
    fn what_a_line_parts_is_learnt_and_what_none_parts_needs_the_hidden_layer() {
        let corner = |a: bool, b: bool| usize::from(a) + 2 * usize::from(b);
        for kind in ProbeKind::ALL {
            assert!(trained(kind, corner, 4).accuracy[1] > 0.98, "{kind:?}");
        }
        let unequal = |a: bool, b: bool| usize::from(a != b);
        assert!(trained(ProbeKind::Linear, unequal, 2).accuracy[1] < 0.8);
        assert!(trained(ProbeKind::Mlp, unequal, 2).accuracy[1] > 0.98);
    }

    /// Every derivative against a difference of losses. Where the step turns a rectified unit on or
    /// off, the loss has a corner and the difference is no derivative: those weights are left out.
    #[test]
    fn gradients_are_those_of_the_loss() {
        const STEP: f32 = 1e-2;
        let examples = points(5, 3, |a, b| usize::from(a) + usize::from(b));
        for kind in ProbeKind::ALL {
            let mut probe = Probe::new(kind, 3, &examples, &mut SplitMix64::keyed(&[9]));
            let inputs: Vec<Vec<f32>> =
                examples.features.iter().map(|x| probe.standardized(x)).collect();
            let gradients = probe.gradients(&inputs, &examples.categories, &[0, 1, 2, 3, 4]);
            // The mean loss, and which hidden units are on.
            let encoded = |probe: &Probe| -> (f64, Vec<bool>) {
                let (mut loss, mut on) = (0.0, Vec::new());
                for (x, &category) in inputs.iter().zip(&examples.categories) {
                    let mut all = probe.activations(x.clone());
                    loss -= f64::from(softmax(&all.pop().unwrap())[category].ln()) / 5.0;
                    on.extend(all.iter().skip(1).flatten().map(|&unit| unit > 0.0));
                }
                (loss, on)
            };
            let (mut checked, mut corners) = (0, 0);
            for layer in 0..probe.layers.len() {
                for at in 0..probe.layers[layer].values.len() {
                    let old = probe.layers[layer].values[at];
                    let mut moved = |by: f32| {
                        probe.layers[layer].values[at] = old + by;
                        encoded(&probe)
                    };
                    let ((more, on), (less, off)) = (moved(STEP), moved(-STEP));
                    probe.layers[layer].values[at] = old;
                    if on != off {
                        corners += 1;
                        continue;
                    }
                    checked += 1;
                    let slope = (more - less) / f64::from(2.0 * STEP);
                    let found = f64::from(gradients[layer][at]);
                    assert!((slope - found).abs() < 2e-4, "{kind:?} {layer} {at}: {slope} {found}");
                }
            }
            assert!(checked > 9 * corners, "{kind:?}: {checked} checked, {corners} left out");
        }
    }

    #[test]
    fn training_is_repeatable_and_seeds_differ() {
        let examples = points(60, 4, |a, b| usize::from(a && b));
        let train = |seed| {
            let trained = Probe::train(ProbeKind::Linear, 2, &examples, &examples, seed);
            trained.probe.layers[0].values.clone()
        };
        assert_eq!(train(1), train(1));
        assert_ne!(train(1), train(2));
    }

    #[test]
    fn nothing_to_learn_from_is_no_accident() {
        let none = Examples::default();
        let trained = Probe::train(ProbeKind::Mlp, 2, &none, &none, 0);
        assert_eq!((trained.probe.predict(&[]), trained.accuracy), (0, [0.0, 0.0]));
    }
}
