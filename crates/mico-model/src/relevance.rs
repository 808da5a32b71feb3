//! Text-to-visual relevance: attention of text queries to visual keys, from a tapped block.

use candle_core::{DType, Tensor};

use crate::attention::tile_rows;
use crate::decoder::QkTap;
use crate::error::{Error, Result};
use crate::ops::{RowSoftmax, softmax_in_place};

/// Over which keys the softmax of a text query is taken.
///
/// Pruning methods have a type of the same meaning in a crate without tensors. This crate does not know
/// it, so that models can be used without a pruning method; the engine maps one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalization {
    /// Over all keys the query may attend to in sequence order; the visual columns are then used as
    /// they are.
    #[default]
    FullCausal,
    /// Over the visual keys alone, without the causal mask.
    VisualOnly,
}

/// Mean attention of the tapped queries, over heads and queries, to each of the keys `visual`
/// (indices into the tapped keys).
///
/// Softmax in f32 with scale `head_dim^-1/2`. Scores exist for a bounded tile of rows at a time.
pub fn text_to_visual_attention(
    tap: &QkTap,
    visual: &[u32],
    normalization: Normalization,
) -> Result<Vec<f32>> {
    let (_, keys, _) = tap.k.dims3()?;
    if visual.is_empty() {
        return Err(Error::input("visual keys", "none given"));
    }
    if let Some(key) = visual.iter().find(|&&key| key as usize >= keys) {
        return Err(Error::input("visual keys", format!("{key} of {keys} keys")));
    }
    match normalization {
        Normalization::FullCausal => {
            let visible: Vec<usize> = tap.query_index.iter().map(|&index| index + 1).collect();
            let columns = column_means(&tap.q, &tap.k, &visible)?;
            Ok(visual.iter().map(|&key| columns[key as usize]).collect())
        }
        Normalization::VisualOnly => {
            let index = Tensor::new(visual, tap.k.device())?;
            let k = tap.k.contiguous()?.index_select(&index, 1)?;
            column_means(&tap.q, &k, &vec![visual.len(); tap.query_index.len()])
        }
    }
}

/// One tapped query's attention to every key, averaged over heads (0 for keys after it). `query` is
/// its index in the tap's list.
pub fn attention_row(tap: &QkTap, query: usize) -> Result<Vec<f32>> {
    let Some(&index) = tap.query_index.get(query) else {
        let message = format!("{query} of {} tapped", tap.query_index.len());
        return Err(Error::input("query", message));
    };
    column_means(&tap.q.narrow(1, query, 1)?, &tap.k, &[index + 1])
}

/// The mean over heads and queries of the softmax rows; query `i` sees the first `visible[i]` keys.
pub(crate) fn column_means(q: &Tensor, k: &Tensor, visible: &[usize]) -> Result<Vec<f32>> {
    let (heads, queries, dim) = q.dims3()?;
    let (kv_heads, keys, _) = k.dims3()?;
    let group = heads / kv_heads;
    let scale = (dim as f32).powf(-0.5);
    let tile = tile_rows(heads, keys).min(queries);
    let (q, k) = (q.to_dtype(DType::F32)?, k.to_dtype(DType::F32)?);
    let grouped = q.reshape((kv_heads, group, queries, dim))?;
    let k = k.transpose(1, 2)?;
    let mut sums = vec![0.0_f64; keys];
    for start in (0..queries).step_by(tile) {
        let count = tile.min(queries - start);
        let rows = grouped.narrow(2, start, count)?.reshape((kv_heads, group * count, dim))?;
        let softmax = RowSoftmax { scale, visible: visible[start..start + count].to_vec() };
        let weights = softmax_in_place(rows.matmul(&k)?, &softmax)?;
        for row in weights.reshape((heads * count, keys))?.to_vec2::<f32>()? {
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += f64::from(weight);
            }
        }
    }
    let total = (heads * queries) as f64;
    Ok(sums.into_iter().map(|sum| (sum / total) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    const KEYS: usize = 9;

    fn tap() -> QkTap {
        QkTap {
            block: 0,
            q: noise(1, 2.0, (4, 3, 6)),
            k: noise(2, 2.0, (2, KEYS, 6)),
            query_index: vec![1, 6, 8],
            earlier: 0,
        }
    }

    /// One query at a time, in double precision.
    fn reference(tap: &QkTap, visual: &[usize], causal: bool) -> Vec<f64> {
        let q = tap.q.to_vec3::<f32>().unwrap();
        let k = tap.k.to_vec3::<f32>().unwrap();
        let mut mean = vec![0.0; visual.len()];
        for (head, rows) in q.iter().enumerate() {
            for (row, &index) in rows.iter().zip(&tap.query_index) {
                let seen: Vec<usize> = if causal { (0..=index).collect() } else { visual.to_vec() };
                let weight = |key: usize| {
                    let dot: f64 = row
                        .iter()
                        .zip(&k[head / 2][key])
                        .map(|(a, b)| f64::from(*a) * f64::from(*b))
                        .sum();
                    (dot / 6.0_f64.sqrt()).exp()
                };
                let norm: f64 = seen.iter().map(|&key| weight(key)).sum();
                for (mean, key) in mean.iter_mut().zip(visual) {
                    if seen.contains(key) {
                        *mean += weight(*key) / norm / 12.0;
                    }
                }
            }
        }
        mean
    }

    #[test]
    fn both_normalizations_match_the_definition() {
        let tap = tap();
        let visual = [2_usize, 3, 4, 7];
        let ids: Vec<u32> = visual.iter().map(|&v| v as u32).collect();
        for (normalization, causal) in
            [(Normalization::FullCausal, true), (Normalization::VisualOnly, false)]
        {
            let found = text_to_visual_attention(&tap, &ids, normalization).unwrap();
            for (f, e) in found.iter().zip(reference(&tap, &visual, causal)) {
                assert!((f64::from(*f) - e).abs() < 1e-6, "{normalization:?}: {f} {e}");
            }
        }
        assert!(text_to_visual_attention(&tap, &[], Normalization::FullCausal).is_err());
        assert!(text_to_visual_attention(&tap, &[9], Normalization::VisualOnly).is_err());
    }

    #[test]
    fn a_row_sums_to_one_and_stops_at_its_query() {
        let row = attention_row(&tap(), 1).unwrap();
        assert_eq!(row.len(), KEYS);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(&row[7..], [0.0, 0.0]);
        assert!(attention_row(&tap(), 3).is_err());
    }
}
