//! The three factors of a token's source weight, and their substitutes from the paper's ablations.
//!
//! `W_v = H_v R_v P_v`: information amount, representation reliability, task relevance. Each is
//! chosen independently; where the paper leaves the formula of a substitute open, the documentation
//! of the variant states the one used.

use crate::error::{Error, Result};
use crate::inputs::same_width;
use crate::matrix::{Rows, dot, norm};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

/// Information amount `H`: how much a token's own feature vector carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Information {
    /// The Euclidean norm `‖x_v‖₂`.
    #[default]
    Norm,
    /// Entropy of `softmax(x_v)` over channels, divided by `ln d`.
    Entropy,
    /// Entropy of `x_v² / ‖x_v‖²` over channels, divided by `ln d`.
    EnergyEntropy,
    /// No such factor: 1 for every token.
    One,
}

/// Representation reliability `R`: how much the vision encoder relies on a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// The `reliability` signal if it was given, else 1.
    #[default]
    IfGiven,
    /// The vision encoder's CLS (or pooled) attention; an error if it was not given.
    Attention,
    /// `[cos(x_v, mean x)]₊`, the similarity to the mean of all features.
    GlobalSimilarity,
    /// No such factor: 1 for every token.
    One,
}

/// Task relevance `P`: how much the question attends to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Relevance {
    /// The `relevance` signal if it was given, else 1.
    #[default]
    IfGiven,
    /// Text-to-visual attention averaged over the text queries: `relevance`, or the mean of the
    /// rows of `text_attention`.
    Attention,
    /// The last row of `text_attention`: the attention of the last prompt token.
    LastToken,
    /// `s_v = [mean_t cos(x_v, t)]₊` over the text tokens, `x` being `projected` if given, else
    /// `features`.
    TextSimilarity,
    /// `1 − mean_t cos(x_v, t)`.
    InverseTextSimilarity,
    /// No such factor: 1 for every token.
    One,
}

/// The choice of the three factors of a source weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proxies {
    /// How the information amount `H` is measured.
    pub information: Information,
    /// How the representation reliability `R` is measured.
    pub reliability: Reliability,
    /// How the task relevance `P` is measured.
    pub relevance: Relevance,
}

impl Proxies {
    /// The signals read, beside the features; explicit `weights` replace the whole product.
    pub(crate) fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        if present.has(Signal::Weights) {
            return Ok(SignalSet::of(&[Signal::Weights]));
        }
        let mut read = SignalSet::default();
        match self.reliability {
            Reliability::IfGiven if present.has(Signal::Reliability) => {
                read = read.with(Signal::Reliability);
            }
            Reliability::Attention => {
                present.require("mico", &[Signal::Reliability])?;
                read = read.with(Signal::Reliability);
            }
            _ => {}
        }
        match self.relevance {
            Relevance::IfGiven | Relevance::Attention if present.has(Signal::Relevance) => {
                read = read.with(Signal::Relevance);
            }
            Relevance::Attention if !present.has(Signal::TextAttention) => {
                let reason = "the proxy 'relevance=attention' reads it or 'text_attention'".into();
                return Err(Error::Missing { signal: Signal::Relevance, reason });
            }
            Relevance::Attention | Relevance::LastToken => {
                present.require("mico", &[Signal::TextAttention])?;
                read = read.with(Signal::TextAttention);
            }
            Relevance::TextSimilarity | Relevance::InverseTextSimilarity => {
                present.require("mico", &[Signal::Text])?;
                read = read.with(Signal::Text);
                if present.has(Signal::Projected) {
                    read = read.with(Signal::Projected);
                }
            }
            _ => {}
        }
        Ok(read)
    }

    /// The source weights of one group, given the Euclidean norms of its features.
    pub(crate) fn weights(
        &self,
        tokens: &Tokens<'_>,
        features: &Rows<'_>,
        norms: &[f64],
    ) -> Result<Vec<f64>> {
        if tokens.has(Signal::Weights) {
            return tokens.vector(Signal::Weights);
        }
        let mut weights = match self.information {
            Information::Norm => norms.to_vec(),
            Information::Entropy => entropies(features, softmax_entropy),
            Information::EnergyEntropy => entropies(features, energy_entropy),
            Information::One => vec![1.0; norms.len()],
        };
        let factors = [self.reliability(tokens, features)?, self.relevance(tokens, features)?];
        for factor in factors.into_iter().flatten() {
            weights.iter_mut().zip(factor).for_each(|(w, f)| *w *= f);
        }
        Ok(weights)
    }

    fn reliability(&self, tokens: &Tokens<'_>, features: &Rows<'_>) -> Result<Option<Vec<f64>>> {
        Ok(match self.reliability {
            Reliability::IfGiven if !tokens.has(Signal::Reliability) => None,
            Reliability::IfGiven | Reliability::Attention => {
                Some(tokens.vector(Signal::Reliability)?)
            }
            Reliability::GlobalSimilarity => Some(similarity_to_mean(features)),
            Reliability::One => None,
        })
    }

    fn relevance(&self, tokens: &Tokens<'_>, features: &Rows<'_>) -> Result<Option<Vec<f64>>> {
        Ok(match self.relevance {
            Relevance::IfGiven if !tokens.has(Signal::Relevance) => None,
            Relevance::IfGiven => Some(tokens.vector(Signal::Relevance)?),
            Relevance::Attention if tokens.has(Signal::Relevance) => {
                Some(tokens.vector(Signal::Relevance)?)
            }
            Relevance::Attention => {
                let rows = tokens.text_attention()?;
                let scale = 1.0 / rows.rows() as f64;
                let column =
                    |i| (0..rows.rows()).map(|m| f64::from(rows.row(m)[i])).sum::<f64>() * scale;
                Some((0..tokens.len()).map(column).collect())
            }
            Relevance::LastToken => {
                let rows = tokens.text_attention()?;
                Some(rows.row(rows.rows() - 1).iter().map(|&x| f64::from(x)).collect())
            }
            Relevance::TextSimilarity => {
                let similarity = text_similarity(tokens, features)?;
                Some(similarity.into_iter().map(|s| s.max(0.0)).collect())
            }
            Relevance::InverseTextSimilarity => {
                let similarity = text_similarity(tokens, features)?;
                Some(similarity.into_iter().map(|s| (1.0 - s).max(0.0)).collect())
            }
            Relevance::One => None,
        })
    }
}

/// `[cos(x_v, mean x)]₊` of every token.
pub(crate) fn similarity_to_mean(features: &Rows<'_>) -> Vec<f64> {
    let mut row = vec![0.0; features.cols()];
    let mut mean = vec![0.0; features.cols()];
    for i in 0..features.len() {
        features.copy_row(i, &mut row);
        mean.iter_mut().zip(&row).for_each(|(m, &x)| *m += f64::from(x));
    }
    cosines_to(features, &mean).into_iter().map(|c| c.max(0.0)).collect()
}

/// The Euclidean norm of every row.
pub(crate) fn norms(features: &Rows<'_>) -> Vec<f64> {
    let mut row = vec![0.0; features.cols()];
    (0..features.len())
        .map(|i| {
            features.copy_row(i, &mut row);
            norm(&row)
        })
        .collect()
}

/// The mean cosine of each token with the text tokens: the inner product of its unit vector
/// with the mean of theirs.
fn text_similarity(tokens: &Tokens<'_>, features: &Rows<'_>) -> Result<Vec<f64>> {
    let text = tokens.rows(Signal::Text)?;
    let visual =
        if tokens.has(Signal::Projected) { tokens.rows(Signal::Projected)? } else { *features };
    same_width(Signal::Text, &text, &visual)?;
    let mut row = vec![0.0; text.cols()];
    let mut mean = vec![0.0; text.cols()];
    for t in 0..text.len() {
        text.copy_row(t, &mut row);
        let length = norm(&row);
        if length > 0.0 {
            let scale = 1.0 / (length * text.len() as f64);
            mean.iter_mut().zip(&row).for_each(|(m, &x)| *m += f64::from(x) * scale);
        }
    }
    Ok(map_rows(&visual, |x| {
        let length = norm(x);
        let inner: f64 = x.iter().zip(&mean).map(|(&x, m)| f64::from(x) * m).sum();
        if length > 0.0 { inner / length } else { 0.0 }
    }))
}

/// Cosines of every row with one f64 vector; 0 where either is zero.
fn cosines_to(rows: &Rows<'_>, direction: &[f64]) -> Vec<f64> {
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    map_rows(rows, |x| {
        let scale = norm(x) * length;
        let inner: f64 = x.iter().zip(direction).map(|(&x, d)| f64::from(x) * d).sum();
        if scale > 0.0 { inner / scale } else { 0.0 }
    })
}

fn entropies(features: &Rows<'_>, entropy: impl Fn(&[f32]) -> f64) -> Vec<f64> {
    let scale = (features.cols() as f64).ln();
    map_rows(features, |x| if scale > 0.0 { (entropy(x) / scale).max(0.0) } else { 0.0 })
}

fn map_rows(rows: &Rows<'_>, f: impl Fn(&[f32]) -> f64) -> Vec<f64> {
    let mut row = vec![0.0; rows.cols()];
    (0..rows.len())
        .map(|i| {
            rows.copy_row(i, &mut row);
            f(&row)
        })
        .collect()
}

/// `ln Z − Σ p x` with `p = exp(x − max) / Z`.
fn softmax_entropy(x: &[f32]) -> f64 {
    let max = x.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(f64::from(x)));
    let (mut total, mut weighted) = (0.0, 0.0);
    for &x in x {
        let shifted = f64::from(x) - max;
        let e = shifted.exp();
        total += e;
        weighted += e * shifted;
    }
    total.ln() - weighted / total
}

fn energy_entropy(x: &[f32]) -> f64 {
    let total = dot(x, x);
    if total == 0.0 {
        return 0.0;
    }
    let terms = x.iter().map(|&x| f64::from(x) * f64::from(x) / total);
    -terms.filter(|&p| p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn entropy_is_one_for_flat_and_small_for_peaked_rows() {
        let data = [2.0, 2.0, 2.0, 2.0, 0.0, 50.0, 0.0, 0.0];
        let rows = Rows::all(Matrix::from_f32(&data, 2, 4).unwrap());
        for entropy in [softmax_entropy as fn(&[f32]) -> f64, energy_entropy] {
            let h = entropies(&rows, entropy);
            assert!((h[0] - 1.0).abs() < 1e-12 && h[1] < 1e-9, "{h:?}");
        }
    }

    #[test]
    fn similarity_to_the_mean_is_the_positive_cosine() {
        let data = [1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0];
        let rows = Rows::all(Matrix::from_f32(&data, 4, 2).unwrap());
        assert_eq!(similarity_to_mean(&rows), [1.0, 1.0, 0.0, 0.0]);
    }
}
