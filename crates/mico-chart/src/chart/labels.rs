//! Placement of point labels: near their points and off each other.

use crate::drawing::Place;
use crate::font;
use crate::geometry::Rect;

/// The number of directions in which a label may lie from its point.
const DIRECTIONS: usize = 16;
/// Distances from the point that are tried, in units.
const DISTANCES: [f64; 8] = [9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 66.0, 86.0];
/// Costs of a label: per unit of area on another label or outside the frame; on a point; on a line;
/// and per unit of distance from its point.
const OVERLAP: f64 = 4.0;
const ON_POINT: f64 = 120.0;
const ON_LINE: f64 = 9.0;
const AWAY: f64 = 1.0;
/// Radius that a point is taken to cover.
const POINT: f64 = 7.0;
/// Padding around a label, and depth below the baseline as a share of the font size.
pub(super) const PAD: f64 = 1.5;
pub(super) const DESCENT: f64 = 0.22;

/// A box for the label of each point, placed greedily at the position of least cost.
pub(super) fn place(
    anchors: &[(Place, &str)],
    lines: &[(Place, Place)],
    frame: Rect,
    size: f64,
) -> Vec<Rect> {
    let mut placed: Vec<Rect> = Vec::with_capacity(anchors.len());
    for (at, label) in anchors {
        let height = (font::CAP_HEIGHT + DESCENT) * size + 2.0 * PAD;
        let size = (font::width(label, size) + 2.0 * PAD, height);
        let cost = |rect: &Rect| {
            let labels: f64 = placed.iter().map(|other| rect.overlap(other)).sum();
            let outside = rect.area() - rect.overlap(&frame);
            let points = anchors.iter().filter(|(point, _)| rect.distance(*point) < POINT).count();
            let lines = lines.iter().filter(|line| rect.crossed(**line)).count();
            OVERLAP * (labels + outside)
                + ON_POINT * points as f64
                + ON_LINE * lines as f64
                + AWAY * rect.distance(*at)
        };
        let mut best: Option<(f64, Rect)> = None;
        for rect in candidates(*at, size) {
            let cost = cost(&rect);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, rect));
            }
        }
        placed.extend(best.map(|(_, rect)| rect));
    }
    placed
}

/// Candidate boxes that touch circles around a point from outside, the nearest first.
fn candidates(at: Place, (width, height): (f64, f64)) -> impl Iterator<Item = Rect> {
    let turns = |distance: f64| (0..DIRECTIONS).map(move |direction| (distance, direction));
    DISTANCES.into_iter().flat_map(turns).map(move |(distance, direction)| {
        let angle = direction as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
        let x = at.0 + angle.cos() * (distance + width / 2.0);
        let y = at.1 - angle.sin() * (distance + height / 2.0);
        Rect {
            left: x - width / 2.0,
            top: y - height / 2.0,
            right: x + width / 2.0,
            bottom: y + height / 2.0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_crowded_points_do_not_overlap() {
        let frame = Rect { left: 0.0, top: 0.0, right: 900.0, bottom: 600.0 };
        let anchors: Vec<(Place, &str)> = (0..36)
            .map(|i| {
                ((300.0 + f64::from(i % 6) * 50.0, 250.0 + f64::from(i / 6) * 16.0), "vscan 128")
            })
            .collect();
        let rects = place(&anchors, &[], frame, 12.0);
        assert_eq!(rects.len(), anchors.len());
        for (index, rect) in rects.iter().enumerate() {
            assert!((rect.overlap(&frame) - rect.area()).abs() < 1e-9);
            for other in &rects[index + 1..] {
                assert_eq!(rect.overlap(other), 0.0, "{rect:?} {other:?}");
            }
        }
    }
}
