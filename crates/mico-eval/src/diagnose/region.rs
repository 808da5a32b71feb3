//! What tokens show of boxes and label maps.

use mico_vision::layout::{Region, VisualLayout};
use serde::Serialize;

use super::source::{LabelMap, PixelBox};

/// A token belongs to a box that covers at least this share of what it shows.
const SHARE: f64 = 0.5;

/// How a token counts the labels of its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelCount {
    /// Once: the label most of its pixels have (of equals the lowest), or nothing if that is void.
    #[default]
    Majority,
    /// Once for each of its pixels that is not void.
    Pixels,
}

/// Which share of a token's region a box covers.
pub(super) fn covered(region: &Region, place: &PixelBox) -> f64 {
    if region.is_empty() {
        return 0.0;
    }
    let [x0, y0, x1, y1] = [region.x0, region.y0, region.x1, region.y1].map(f64::from);
    let width = (x1.min(place.x1) - x0.max(place.x0)).max(0.0);
    let height = (y1.min(place.y1) - y0.max(place.y0)).max(0.0);
    width * height / ((x1 - x0) * (y1 - y0))
}

/// The tokens of a box: those it covers by half or more; if there are none, the one it covers most.
pub(super) fn tokens_of(layout: &VisualLayout, place: &PixelBox) -> Vec<usize> {
    let shares: Vec<f64> =
        layout.tokens().iter().map(|token| covered(&token.region, place)).collect();
    let half: Vec<usize> = (0..shares.len()).filter(|&token| shares[token] >= SHARE).collect();
    if !half.is_empty() {
        return half;
    }
    let most = (0..shares.len()).rev().max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    most.filter(|&token| shares[token] > 0.0).into_iter().collect()
}

/// The labels a token counts, with how often; void is none.
pub(super) fn labels_of(region: &Region, map: &LabelMap, count: LabelCount) -> Vec<(u16, u32)> {
    if region.is_empty() {
        return Vec::new();
    }
    let mut seen: Vec<(Option<u16>, u32)> = Vec::new();
    for y in centers(region.y0, region.y1) {
        for x in centers(region.x0, region.x1) {
            let label = map.at(x, y);
            match seen.iter_mut().find(|(known, _)| *known == label) {
                Some((_, times)) => *times += 1,
                None => seen.push((label, 1)),
            }
        }
    }
    let named = |&(label, times): &(Option<u16>, u32)| label.map(|label| (label, times));
    match count {
        LabelCount::Pixels => seen.iter().filter_map(named).collect(),
        LabelCount::Majority => {
            let most = seen.iter().min_by_key(|(label, times)| (u32::MAX - times, *label));
            most.and_then(named).map(|(label, _)| (label, 1)).into_iter().collect()
        }
    }
}

/// The pixels along one axis whose centres lie in a range; if there are none, the one in its middle.
fn centers(low: f32, high: f32) -> std::ops::Range<usize> {
    let first = |edge: f32| (edge - 0.5).ceil().max(0.0) as usize;
    let (from, to) = (first(low), first(high));
    if from < to {
        return from..to;
    }
    let middle = f32::midpoint(low, high).max(0.0) as usize;
    middle..middle + 1
}

#[cfg(test)]
mod tests {
    use mico_vision::Size;
    use mico_vision::layout::{Group, GroupKind, Patch, VisualToken};

    use super::*;

    fn region(x0: f32, y0: f32, x1: f32, y1: f32) -> Region {
        Region { x0, y0, x1, y1 }
    }

    /// A row of tokens of 4 x 4 pixels.
    fn row(columns: usize) -> VisualLayout {
        let token = |local: usize| VisualToken {
            patch: Some(Patch { group: 0, local }),
            region: region(4.0 * local as f32, 0.0, 4.0 * local as f32 + 4.0, 4.0),
        };
        let groups = vec![Group { kind: GroupKind::Whole, rows: 1, columns }];
        let mut tokens: Vec<VisualToken> = (0..columns).map(token).collect();
        tokens.push(VisualToken::NEWLINE);
        VisualLayout::new(Size::new(4 * columns as u32, 4), groups, tokens).unwrap()
    }

    #[test]
    fn a_box_has_the_tokens_it_covers_by_half() {
        let layout = row(4);
        let place = PixelBox::new([2.0, 0.0, 7.0, 4.0]).unwrap();
        assert_eq!(tokens_of(&layout, &place), [0, 1]);
        // Too small for any half: the token with most of it, the first of equals.
        assert_eq!(tokens_of(&layout, &PixelBox::new([6.5, 1.0, 2.0, 2.0]).unwrap()), [1]);
        assert_eq!(tokens_of(&layout, &PixelBox::new([7.0, 1.0, 2.0, 2.0]).unwrap()), [1]);
        assert!(tokens_of(&layout, &PixelBox::new([50.0, 1.0, 2.0, 2.0]).unwrap()).is_empty());
        assert_eq!(covered(&region(0.0, 0.0, 4.0, 4.0), &place), 0.5);
    }

    #[test]
    fn labels_are_counted_by_token_or_pixel() {
        let values = vec![1, 1, 9, 9, 0, 1, 9, 9];
        let map = LabelMap::new(Size::new(4, 2), values, Some(9), 3).unwrap();
        let all = |count| labels_of(&region(0.0, 0.0, 2.0, 2.0), &map, count);
        assert_eq!(all(LabelCount::Majority), [(1, 1)]);
        assert_eq!(all(LabelCount::Pixels), [(1, 3), (0, 1)]);
        let void = region(2.0, 0.0, 4.0, 2.0);
        assert!(labels_of(&void, &map, LabelCount::Majority).is_empty());
        assert!(labels_of(&void, &map, LabelCount::Pixels).is_empty());
        assert!(labels_of(&Region::EMPTY, &map, LabelCount::Pixels).is_empty());
        // Less than a pixel shows the pixel it lies in.
        let small = region(0.6, 1.1, 0.9, 1.4);
        assert_eq!(labels_of(&small, &map, LabelCount::Pixels), [(0, 1)]);
        // Of equals the lowest label.
        let equal = region(0.0, 1.0, 2.0, 2.0);
        assert_eq!(labels_of(&equal, &map, LabelCount::Majority), [(0, 1)]);
    }
}
