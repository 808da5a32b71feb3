//! The information amount: is the feature norm larger at positions where labels vary more?
//!
//! One half of the pictures (A) says how much the dense labels vary at each position, the other
//! half (B) how long features are there on average. Positions are compared within pictures of one
//! layout alone: a position of another grid shows another part of a picture.

mod positions;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::encode::PictureError;
use super::error::{DiagnoseError, Result};
use super::measure::{Measure, draws};
use super::region::{LabelCount, labels_of};
use super::source::{Check, DamagedImage, drawn};
use super::{Diagnose, Progress};
use crate::stats::{Trim, spearman};
use positions::{Bins, Part, PositionLayout};

/// Share that the two-sided trim takes off each end.
const TRIM: f64 = 0.01;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Information {
    /// Number of classes C.
    pub classes: usize,
    /// How tokens count labels.
    pub label_count: LabelCount,
    /// Pictures that gave labels (A) and norms (B).
    pub pictures: [usize; 2],
    /// Spearman's correlation of entropy and mean norm over positions: untrimmed, which is the primary
    /// estimate, then trimmed.
    pub positions: Vec<Trimmed>,
    /// The same of the untrimmed estimate with B alone drawn again.
    pub norms_alone: Measure,
    /// Spearman's correlation of a position's entropy and each token's own norm in B.
    pub tokens: Trimmed,
    /// Each layout by itself.
    pub bins: Vec<InformationBin>,
    /// Every position; in no JSON, they make a file of their own.
    #[serde(skip)]
    pub points: Vec<PositionPoint>,
    /// Pictures that were left out, each with what is wrong with it.
    pub damaged: Vec<DamagedImage>,
}

/// A correlation of what a trim leaves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trimmed {
    /// The name of the rule by which outliers are left out.
    pub trim: &'static str,
    /// The number of points that the trim leaves.
    pub n: usize,
    /// Spearman's correlation; intervals draw the pictures of A and of B again.
    pub rho: Measure,
}

/// Pictures of one layout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InformationBin {
    /// The layout's groups and grids, which all pictures of the bin share.
    pub layout: String,
    /// Pictures in A and in B.
    pub pictures: [usize; 2],
    /// Positions with a label in A and a norm in B.
    pub positions: usize,
    /// Spearman's correlation over them.
    pub rho: Option<f64>,
}

/// One position of one layout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PositionPoint {
    /// Number of the layout among the bins.
    pub bin: usize,
    /// The position: patches of all groups, each in raster order.
    pub position: usize,
    /// Entropy of the labels in A, in nats.
    pub entropy: f64,
    /// Mean norm in B.
    pub norm: f64,
}

impl Information {
    /// Every position as comma-separated values.
    pub fn csv(&self) -> String {
        let mut text = String::from("layout,position,entropy_nats,mean_norm\n");
        for PositionPoint { bin, position, entropy, norm } in &self.points {
            let layout = self.bins.get(*bin).map_or("", |bin| bin.layout.as_str());
            let _ = writeln!(text, "{layout},{position},{entropy},{norm}");
        }
        text
    }
}

/// The trims, with their names.
const TRIMS: [(&str, Trim); 3] = [
    ("untrimmed", Trim::None),
    ("two-sided 1 %", Trim::Share(TRIM)),
    ("Tukey 1.5 IQR", Trim::Tukey),
];

/// Correlates the feature norm of tokens with the entropy of the labels at their positions, each
/// estimated on another half of the pictures.
pub fn information(on: &Diagnose<'_>, progress: &Progress<'_>) -> Result<Information> {
    let pictures = drawn(on.source, Check::Information, on.seed, on.limit);
    if pictures.len() < 2 {
        let found = format!("{} pictures with a label map", pictures.len());
        return Err(too_few(found));
    }
    let first: BTreeSet<usize> = pictures[..pictures.len() / 2].iter().copied().collect();
    let part = |picture: usize| part(on, picture, first.contains(&picture));
    let results = on.gather(&pictures, progress, part)?;
    let bins = Bins::new(on.source.classes(), results.found);
    if bins.pictures().contains(&0) {
        let found = match results.damaged.first() {
            Some(DamagedImage { picture, reason }) => {
                format!("no usable picture ({picture}: {reason})")
            }
            None => "no usable picture".into(),
        };
        return Err(too_few(found));
    }
    Ok(summary(on, &bins, results.damaged))
}

fn too_few(found: String) -> DiagnoseError {
    let accepted = "at least 2 pictures with label maps, one for each half".to_owned();
    DiagnoseError::TooFew { check: Check::Information, found, accepted }
}

/// A picture's layout, and its labels (for A) or norms (for B) by position.
fn part(
    on: &Diagnose<'_>,
    picture: usize,
    labels: bool,
) -> std::result::Result<(PositionLayout, Part), PictureError> {
    let (image, map) = (on.source.image(picture)?, on.source.labels(picture)?);
    if image.size() != map.size() {
        let message = format!("a label map of {} for a picture of {}", map.size(), image.size());
        return Err(PictureError::Damaged(message));
    }
    let encoded = on.encode(image)?;
    let layout = encoded.layout();
    let places = PositionLayout::of(layout);
    let shown = (0..layout.len())
        .filter(|&token| !layout.region(token).is_empty())
        .filter_map(|token| Some((token, places.position(layout.tokens()[token].patch?))));
    if labels {
        let counts = shown.flat_map(|(token, position)| {
            let counted = labels_of(&layout.region(token), &map, on.label_count);
            counted.into_iter().map(move |(label, times)| (position, label, times))
        });
        return Ok((places.clone(), Part::Labels(counts.collect())));
    }
    let norms = shown.map(|(token, position)| Ok((position, encoded.norm(token)? as f32)));
    let norms = norms.collect::<std::result::Result<Vec<_>, PictureError>>()?;
    Ok((places, Part::Norms(norms)))
}

fn summary(on: &Diagnose<'_>, bins: &Bins, damaged: Vec<DamagedImage>) -> Information {
    let pictures = bins.pictures();
    let points = bins.points(None, None);
    let rho = |points: &[PositionPoint], trim: Trim| correlation(&pairs(points), trim);
    let again = draws(&pictures, |rows| {
        let points = bins.points(Some(&rows[0]), Some(&rows[1]));
        TRIMS.map(|(_, trim)| rho(&points, trim))
    });
    let trimmed = |(index, (name, trim)): (usize, (&'static str, Trim))| Trimmed {
        trim: name,
        n: trim.keep(&pairs(&points)).len(),
        rho: Measure::correlation(rho(&points, trim), again.iter().map(|all| all[index])),
    };
    let positions = TRIMS.into_iter().enumerate().map(trimmed).collect();
    // Entropies do not change where norms alone are drawn again.
    let drawn_norms =
        draws(&[pictures[1]], |rows| rho(&bins.renormed(&points, &rows[0]), Trim::None));
    let tokens = bins.tokens(&points);
    let tokens = Trimmed {
        trim: "untrimmed",
        n: tokens.len(),
        rho: Measure { value: correlation(&tokens, Trim::None), ..Measure::default() },
    };
    Information {
        classes: on.source.classes(),
        label_count: on.label_count,
        pictures,
        positions,
        norms_alone: Measure::correlation(rho(&points, Trim::None), drawn_norms),
        tokens,
        bins: bins.each(&points),
        points,
        damaged,
    }
}

fn pairs(points: &[PositionPoint]) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.entropy, point.norm)).collect()
}

/// Spearman's correlation of what a trim leaves.
fn correlation(pairs: &[(f64, f64)], trim: Trim) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = trim.keep(pairs).into_iter().unzip();
    spearman(&x, &y)
}
