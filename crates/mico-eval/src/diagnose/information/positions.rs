//! Positions of pictures with one layout: labels counted, norms averaged.

use std::collections::BTreeMap;

use mico_vision::layout::{GroupKind, Patch, VisualLayout};

use super::{InformationBin, PositionPoint, correlation, pairs};
use crate::stats::{Trim, jeffreys_entropy};

/// Positions with labels and how often they have them.
type Labels = Vec<(u32, u16, u32)>;
/// The feature norm at each position of a picture.
type Norms = Vec<(u32, f32)>;

/// What a picture gives.
pub(super) enum Part {
    Labels(Labels),
    Norms(Norms),
}

/// The positions of a layout. Two pictures have the same if their groups are of the same kinds and
/// sizes; which patches the packing leaves out does not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PositionLayout {
    name: String,
    /// Position of each group's first patch, and the number of all.
    starts: Vec<u32>,
}

impl PositionLayout {
    pub(super) fn of(layout: &VisualLayout) -> Self {
        let mut starts = vec![0];
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for group in layout.groups() {
            starts.push(starts.last().copied().unwrap_or(0) + group.patches() as u32);
            let kind = match group.kind {
                GroupKind::Whole => "whole".to_owned(),
                GroupKind::Crop { .. } => "crop".to_owned(),
                GroupKind::Tile { .. } => "tile".to_owned(),
                GroupKind::Thumbnail => "thumbnail".to_owned(),
                GroupKind::Frame { .. } => "frame".to_owned(),
            };
            let name = format!("{kind} {}x{}", group.rows, group.columns);
            match kinds.last_mut() {
                Some((last, times)) if *last == name => *times += 1,
                _ => kinds.push((name, 1)),
            }
        }
        let tiling =
            layout.groups().iter().fold((0, 0), |most: (usize, usize), group| match group.kind {
                GroupKind::Crop { row, column } | GroupKind::Tile { row, column } => {
                    (most.0.max(row + 1), most.1.max(column + 1))
                }
                _ => most,
            });
        let name = |(name, times): &(String, usize)| match times {
            1 => name.clone(),
            _ => format!("{times} x {name}"),
        };
        let mut name = kinds.iter().map(name).collect::<Vec<_>>().join(" + ");
        if tiling != (0, 0) {
            name = format!("{name} ({} by {})", tiling.0, tiling.1);
        }
        Self { name, starts }
    }

    pub(super) fn position(&self, patch: Patch) -> u32 {
        self.starts.get(patch.group).copied().unwrap_or(0) + patch.local as u32
    }
}

/// Pictures of one layout, each with its number within its half.
#[derive(Default)]
struct Bin {
    labels: Vec<(usize, Labels)>,
    norms: Vec<(usize, Norms)>,
}

/// The pictures of the check, grouped by their layout.
pub(super) struct Bins {
    classes: usize,
    layouts: Vec<(PositionLayout, Bin)>,
    pictures: [usize; 2],
}

/// How often a picture counts; once unless it was drawn.
fn weight(weights: Option<&[u16]>, picture: usize) -> f64 {
    weights.map_or(1.0, |weights| weights.get(picture).copied().map_or(0.0, f64::from))
}

impl Bins {
    pub(super) fn new(classes: usize, parts: Vec<(PositionLayout, Part)>) -> Self {
        let (mut bins, mut pictures) = (BTreeMap::<PositionLayout, Bin>::new(), [0, 0]);
        for (places, part) in parts {
            let bin = bins.entry(places).or_default();
            match part {
                Part::Labels(labels) => {
                    bin.labels.push((pictures[0], labels));
                    pictures[0] += 1;
                }
                Part::Norms(norms) => {
                    bin.norms.push((pictures[1], norms));
                    pictures[1] += 1;
                }
            }
        }
        Self { classes, layouts: bins.into_iter().collect(), pictures }
    }

    /// Pictures of A and of B.
    pub(super) fn pictures(&self) -> [usize; 2] {
        self.pictures
    }

    /// Positions that have labels in A and norms in B, pictures counting as often as they were drawn.
    pub(super) fn points(&self, a: Option<&[u16]>, b: Option<&[u16]>) -> Vec<PositionPoint> {
        let mut points = Vec::new();
        for (index, (places, bin)) in self.layouts.iter().enumerate() {
            if bin.labels.is_empty() || bin.norms.is_empty() {
                continue;
            }
            let size = places.starts.last().copied().unwrap_or(0) as usize;
            let entropies = bin.entropies(size, self.classes, a);
            let norms = bin.mean_norms(size, b);
            for (position, both) in entropies.into_iter().zip(norms).enumerate() {
                if let (Some(entropy), Some(norm)) = both {
                    points.push(PositionPoint { bin: index, position, entropy, norm });
                }
            }
        }
        points
    }

    /// The same points with the norms of other draws of B.
    pub(super) fn renormed(&self, points: &[PositionPoint], b: &[u16]) -> Vec<PositionPoint> {
        let means: Vec<Vec<Option<f64>>> = self
            .layouts
            .iter()
            .map(|(places, bin)| {
                bin.mean_norms(places.starts.last().copied().unwrap_or(0) as usize, Some(b))
            })
            .collect();
        let other = |point: &PositionPoint| {
            Some(PositionPoint { norm: means[point.bin][point.position]?, ..*point })
        };
        points.iter().filter_map(other).collect()
    }

    /// Every token of B with the entropy of its position.
    pub(super) fn tokens(&self, points: &[PositionPoint]) -> Vec<(f64, f64)> {
        let entropies: BTreeMap<(usize, usize), f64> =
            points.iter().map(|p| ((p.bin, p.position), p.entropy)).collect();
        let mut tokens = Vec::new();
        for (index, (_, bin)) in self.layouts.iter().enumerate() {
            for (position, norm) in bin.norms.iter().flat_map(|(_, norms)| norms) {
                if let Some(entropy) = entropies.get(&(index, *position as usize)) {
                    tokens.push((*entropy, f64::from(*norm)));
                }
            }
        }
        tokens
    }

    /// Each layout by itself.
    pub(super) fn each(&self, points: &[PositionPoint]) -> Vec<InformationBin> {
        let of = |(index, (places, bin)): (usize, &(PositionLayout, Bin))| {
            let own = points.iter().filter(|point| point.bin == index).copied();
            let own = pairs(&own.collect::<Vec<_>>());
            InformationBin {
                layout: places.name.clone(),
                pictures: [bin.labels.len(), bin.norms.len()],
                positions: own.len(),
                rho: correlation(&own, Trim::None),
            }
        };
        self.layouts.iter().enumerate().map(of).collect()
    }
}

impl Bin {
    fn entropies(&self, size: usize, classes: usize, a: Option<&[u16]>) -> Vec<Option<f64>> {
        let mut counts = vec![0.0; size * classes];
        for (picture, labels) in &self.labels {
            let weight = weight(a, *picture);
            if weight > 0.0 {
                for &(position, label, times) in labels {
                    counts[position as usize * classes + usize::from(label)] +=
                        weight * f64::from(times);
                }
            }
        }
        let rows = counts.chunks_exact(classes.max(1));
        // What was never labelled has no entropy.
        let counted = |counts: &&[f64]| counts.iter().sum::<f64>() > 0.0;
        rows.map(|row| Some(row).filter(counted).map(|row| jeffreys_entropy(row, classes)))
            .collect()
    }

    fn mean_norms(&self, size: usize, b: Option<&[u16]>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); size];
        for (picture, norms) in &self.norms {
            let weight = weight(b, *picture);
            if weight > 0.0 {
                for &(position, norm) in norms {
                    let sum = &mut sums[position as usize];
                    *sum = (sum.0 + weight * f64::from(norm), sum.1 + weight);
                }
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0.0).then(|| sum / count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use mico_vision::Size;
    use mico_vision::layout::Group;

    use super::*;

    fn places(rows: usize) -> PositionLayout {
        let groups = vec![Group { kind: GroupKind::Whole, rows, columns: 2 }];
        PositionLayout::of(&VisualLayout::new(Size::new(4, 4), groups, Vec::new()).unwrap())
    }

    #[test]
    fn positions_meet_within_their_layout() {
        let parts = vec![
            (places(1), Part::Labels(vec![(0, 0, 1), (1, 0, 1)])),
            (places(1), Part::Labels(vec![(0, 0, 1), (1, 1, 1)])),
            (places(1), Part::Norms(vec![(0, 1.0), (1, 5.0)])),
            (places(1), Part::Norms(vec![(1, 7.0)])),
            // Labels without norms, and the reverse, are no point.
            (places(2), Part::Labels(vec![(3, 0, 1)])),
            (places(3), Part::Norms(vec![(3, 2.0)])),
        ];
        let bins = Bins::new(2, parts);
        assert_eq!(bins.pictures(), [3, 3]);
        let points = bins.points(None, None);
        assert_eq!(points.len(), 2);
        assert!(points[0].entropy < points[1].entropy);
        assert!((points[1].entropy - 2_f64.ln()).abs() < 1e-12, "one of each");
        assert_eq!((points[0].norm, points[1].norm), (1.0, 6.0));
        assert_eq!(bins.tokens(&points).len(), 3);
        let each = bins.each(&points);
        assert_eq!((each.len(), each[0].layout.as_str()), (3, "whole 1x2"));
        assert!((each[0].rho.unwrap() - 1.0).abs() < 1e-12 && each[1].rho.is_none());
        // Drawing the second picture of A twice and the first not at all.
        let again = bins.points(Some(&[0, 2, 1]), Some(&[1, 0, 1]));
        assert_eq!(again[0].entropy, again[1].entropy);
        assert_eq!(again[1].norm, 5.0);
        assert_eq!(bins.renormed(&points, &[0, 1, 0]).len(), 1);
    }

    #[test]
    fn layouts_are_told_apart_by_their_tiling() {
        let crop =
            |row, column| Group { kind: GroupKind::Crop { row, column }, rows: 3, columns: 3 };
        let of = |groups: Vec<Group>| {
            PositionLayout::of(&VisualLayout::new(Size::new(4, 4), groups, Vec::new()).unwrap())
        };
        let (wide, high) = (of(vec![crop(0, 0), crop(0, 1)]), of(vec![crop(0, 0), crop(1, 0)]));
        assert_eq!(wide.name, "2 x crop 3x3 (1 by 2)");
        assert_ne!(wide, high);
        assert_eq!(wide.position(Patch { group: 1, local: 4 }), 13);
    }
}
