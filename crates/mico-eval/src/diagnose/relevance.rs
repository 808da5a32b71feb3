//! The relevance: do tokens inside the box that is asked about get more of the text's attention?
//!
//! Observed where `MiCo` uses it: at the refinement block, over the tokens that Stage 1 left.

use mico_engine::{EncodedImage, GenerationOptions, ImageInput, Observe, Prompt, Request};
use mico_vision::layout::VisualLayout;
use serde::Serialize;

use super::encode::PictureError;
use super::error::{DiagnoseError, Result};
use super::measure::Measure;
use super::region::covered;
use super::source::{Check, DamagedImage, Query, drawn};
use super::{Diagnose, Progress};
use crate::stats::spearman;

/// Bins of the calibration table.
const DECILES: usize = 10;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Relevance {
    /// The budget T in visual tokens per image, averaged over the blocks.
    pub budget: usize,
    /// The block at which attention was observed, counted from 1; null if none was.
    pub block: Option<usize>,
    /// Tokens that Stage 1 left, on average over the queries.
    pub survivors: f64,
    /// Queries with a defined correlation.
    pub queries: usize,
    /// Pictures they are about.
    pub pictures: usize,
    /// Mean over these queries of Spearman's correlation of attention and box overlap.
    pub rho: Measure,
    /// Share of these queries whose correlation is above 0.
    pub positive: Option<f64>,
    /// Queries without a correlation.
    pub undefined: Undefined,
    /// All tokens of these queries in ten bins by rank of their attention.
    pub deciles: Vec<Decile>,
    /// Pictures and queries left out.
    pub damaged: Vec<DamagedImage>,
}

/// Why queries have no correlation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Undefined {
    /// Their box overlaps no token that Stage 1 left.
    pub no_overlap: usize,
    /// Overlap or attention is the same at every token.
    pub constant: usize,
    /// The picture has so few tokens that the budget drops none, and no block looks at them.
    pub not_pruned: usize,
}

/// Tokens of neighbouring ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decile {
    /// The number of tokens in this bin.
    pub tokens: usize,
    /// Their mean share of the attention that the tokens left by Stage 1 get.
    pub attention: f64,
    /// Their mean share of the box.
    pub target: f64,
}

/// What one query gives.
enum QueryResult {
    NoOverlap,
    Constant,
    NotPruned,
    /// The correlation, and shares of attention and box of every token.
    Defined {
        rho: f64,
        shares: Vec<(f64, f64)>,
        block: usize,
    },
}

/// What one picture gives.
struct Answers {
    found: Vec<QueryResult>,
    damaged: Vec<String>,
    picture: usize,
}

/// Correlates the attention that text tokens pay to visual tokens with the box that the text asks
/// about.
pub fn relevance(on: &Diagnose<'_>, progress: &Progress<'_>) -> Result<Relevance> {
    let pictures = drawn(on.source, Check::Relevance, on.seed, on.limit);
    if pictures.is_empty() {
        let found = "no picture with a query".to_owned();
        let accepted = "at least 1".to_owned();
        return Err(DiagnoseError::TooFew { check: Check::Relevance, found, accepted });
    }
    let results = on.gather(&pictures, progress, |picture| answers(on, picture))?;
    let mut damaged = results.damaged;
    for each in &results.found {
        let picture = on.source.title(each.picture);
        damaged.extend(
            each.damaged
                .iter()
                .map(|reason| DamagedImage { picture: picture.clone(), reason: reason.clone() }),
        );
    }
    if results.found.iter().all(|each| each.found.is_empty()) {
        let first = damaged
            .first()
            .map_or(String::new(), |first| format!(" ({}: {})", first.picture, first.reason));
        return Err(DiagnoseError::TooFew {
            check: Check::Relevance,
            found: format!("no usable query{first}"),
            accepted: "at least 1".to_owned(),
        });
    }
    Ok(Relevance { damaged, ..summary(on.budget, &results.found) })
}

/// Every query about one picture.
fn answers(on: &Diagnose<'_>, picture: usize) -> std::result::Result<Answers, PictureError> {
    let image = on.source.image(picture)?;
    let size = image.size();
    let encoded = on.encode(image)?;
    let mut answers = Answers { found: Vec::new(), damaged: Vec::new(), picture };
    for query in on.source.queries(picture) {
        let Some(place) = query.place.clipped(size) else {
            answers.damaged.push(format!("{} lies outside the picture", query.place));
            continue;
        };
        answers.found.push(answer(on, &encoded.0, &Query { place, ..query })?);
    }
    Ok(answers)
}

fn answer(
    on: &Diagnose<'_>,
    encoded: &EncodedImage,
    query: &Query,
) -> std::result::Result<QueryResult, PictureError> {
    let image = ImageInput::Features(encoded.clone());
    // What the model would say is of no interest here.
    let request = Request::new(vec![image], Prompt::question(&query.text, 1))
        .with(on.options())
        .generating(GenerationOptions::greedy(0))
        .observing(Observe::TENSORS);
    let outcome = on.engine.run(&request, &mut ())?;
    let survivors = outcome.images.first().and_then(|image| outcome.stage1_of(image));
    let attention = outcome.tensors.as_ref().and_then(|dump| dump.get("stage2.relevance"));
    let (Some(survivors), Some(attention)) = (survivors, attention) else {
        return Ok(QueryResult::NotPruned);
    };
    let attention: Vec<f32> = attention.to_vec1().map_err(|error| error.to_string())?;
    if attention.len() != survivors.len() {
        let found = format!("{} numbers for {} tokens", attention.len(), survivors.len());
        return Err(PictureError::Damaged(format!("relevance has {found}")));
    }
    let block = outcome.model.refine_layer;
    Ok(compare(encoded.layout(), &survivors, &attention, query, block))
}

/// Holds the attention that tokens get against how far the box covers them.
fn compare(
    layout: &VisualLayout,
    survivors: &[usize],
    attention: &[f32],
    query: &Query,
    block: usize,
) -> QueryResult {
    let overlap: Vec<f64> =
        survivors.iter().map(|&token| covered(&layout.region(token), &query.place)).collect();
    let attention: Vec<f64> = attention.iter().map(|&value| f64::from(value)).collect();
    let (box_total, mass): (f64, f64) = (overlap.iter().sum(), attention.iter().sum());
    if box_total <= 0.0 {
        return QueryResult::NoOverlap;
    }
    match spearman(&attention, &overlap) {
        Some(rho) if mass > 0.0 => {
            let shares = attention.iter().zip(&overlap).map(|(a, o)| (a / mass, o / box_total));
            QueryResult::Defined { rho, shares: shares.collect(), block }
        }
        _ => QueryResult::Constant,
    }
}

fn summary(budget: usize, pictures: &[Answers]) -> Relevance {
    let mut undefined = Undefined::default();
    let (mut sums, mut shares, mut above, mut first) = (Vec::new(), Vec::new(), 0, None);
    let mut queries = 0;
    for answers in pictures {
        let mut own = (0.0, 0.0);
        for found in &answers.found {
            match found {
                QueryResult::NoOverlap => undefined.no_overlap += 1,
                QueryResult::Constant => undefined.constant += 1,
                QueryResult::NotPruned => undefined.not_pruned += 1,
                QueryResult::Defined { rho, shares: tokens, block } => {
                    own = (own.0 + rho, own.1 + 1.0);
                    above += usize::from(*rho > 0.0);
                    queries += 1;
                    first = first.or(Some(*block));
                    shares.extend_from_slice(tokens);
                }
            }
        }
        sums.push(own);
    }
    Relevance {
        budget,
        block: first,
        survivors: shares.len() as f64 / queries.max(1) as f64,
        queries,
        pictures: sums.iter().filter(|own| own.1 > 0.0).count(),
        rho: Measure::mean(&sums),
        positive: (queries > 0).then(|| above as f64 / queries as f64),
        undefined,
        deciles: deciles(shares),
        damaged: Vec::new(),
    }
}

/// Ten bins of equal size by rank of attention, the least first.
fn deciles(mut shares: Vec<(f64, f64)>) -> Vec<Decile> {
    shares.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let edge = |index: usize| index * shares.len() / DECILES;
    let bins = (0..DECILES).map(|index| &shares[edge(index)..edge(index + 1)]);
    bins.filter(|bin| !bin.is_empty())
        .map(|bin| {
            let mean =
                |of: fn(&(f64, f64)) -> f64| bin.iter().map(of).sum::<f64>() / bin.len() as f64;
            Decile { tokens: bin.len(), attention: mean(|b| b.0), target: mean(|b| b.1) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mico_vision::Size;
    use mico_vision::layout::{Group, GroupKind, Patch, Region, VisualToken};

    use super::*;
    use crate::diagnose::PixelBox;

    fn layout() -> VisualLayout {
        let token = |local: usize| VisualToken {
            patch: Some(Patch { group: 0, local }),
            region: Region { x0: local as f32, y0: 0.0, x1: local as f32 + 1.0, y1: 1.0 },
        };
        let groups = vec![Group { kind: GroupKind::Whole, rows: 1, columns: 6 }];
        VisualLayout::new(Size::new(6, 1), groups, (0..6).map(token).collect()).unwrap()
    }

    fn query(x: f64, width: f64) -> Query {
        Query { place: PixelBox::new([x, 0.0, width, 1.0]).unwrap(), text: "?".into() }
    }

    #[test]
    fn attention_inside_the_box_counts_for_it() {
        let survivors = [0, 2, 4, 5];
        let found = |attention: [f32; 4], query: &Query| match compare(
            &layout(),
            &survivors,
            &attention,
            query,
            1,
        ) {
            QueryResult::Defined { rho, shares, .. } => Some((rho, shares)),
            _ => None,
        };
        let (rho, shares) = found([0.1, 0.2, 0.3, 0.4], &query(4.0, 1.5)).unwrap();
        // Overlaps 0, 0, 1, 1/2 have the ranks 1.5, 1.5, 4, 3.
        assert!((rho - 0.737_864_787_372_622).abs() < 1e-9, "{rho}");
        assert!((shares[2].1 - 2.0 / 3.0).abs() < 1e-9 && (shares[3].0 - 0.4).abs() < 1e-6);
        assert!(found([0.4, 0.3, 0.2, 0.1], &query(4.0, 1.5)).unwrap().0 < 0.0);
        // Nothing left of the box; attention without an order; a box around everything.
        let kind = |attention: [f32; 4], query: &Query| {
            compare(&layout(), &survivors, &attention, query, 1)
        };
        assert!(matches!(kind([0.1, 0.2, 0.3, 0.4], &query(1.0, 1.0)), QueryResult::NoOverlap));
        assert!(matches!(kind([0.1; 4], &query(4.0, 1.0)), QueryResult::Constant));
        assert!(matches!(kind([0.1, 0.2, 0.3, 0.4], &query(0.0, 6.0)), QueryResult::Constant));
    }

    #[test]
    fn queries_are_counted_and_averaged() {
        let defined =
            |rho: f64| QueryResult::Defined { rho, shares: vec![(0.5, 1.0), (0.5, 0.0)], block: 3 };
        let of = |found: Vec<QueryResult>| Answers { found, damaged: Vec::new(), picture: 0 };
        let found = summary(
            8,
            &[
                of(vec![defined(0.5), defined(-0.1)]),
                of(vec![QueryResult::NoOverlap, QueryResult::Constant, QueryResult::NotPruned]),
                of(vec![defined(0.2)]),
            ],
        );
        assert_eq!((found.queries, found.pictures, found.block), (3, 2, Some(3)));
        assert!((found.rho.value.unwrap() - 0.2).abs() < 1e-12);
        let each = Undefined { no_overlap: 1, constant: 1, not_pruned: 1 };
        assert_eq!((found.undefined, found.survivors), (each, 2.0));
        assert!((found.positive.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn deciles_go_by_rank() {
        let shares: Vec<(f64, f64)> = (0..25).map(|i| (f64::from(24 - i), f64::from(i))).collect();
        let bins = deciles(shares);
        assert_eq!(bins.iter().map(|bin| bin.tokens).sum::<usize>(), 25);
        assert_eq!((bins.len(), bins[0].attention, bins[0].target), (10, 0.5, 23.5));
        assert!(bins.windows(2).all(|pair| pair[0].attention < pair[1].attention));
        assert_eq!(deciles(vec![(1.0, 1.0)]).len(), 1);
        assert!(deciles(Vec::new()).is_empty());
    }
}
