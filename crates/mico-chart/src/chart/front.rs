//! The Pareto front: the points that no other point dominates.

use super::{Better, Chart, Point, Series};
use crate::drawing::Place;

impl Chart {
    /// The names of the points on the front, each series and label.
    pub fn front_labels(&self) -> Vec<String> {
        let chart = self.drawable();
        let front = chart.front_places();
        let points =
            chart.series.iter().flat_map(|series| series.points.iter().map(move |p| (series, p)));
        let named = points.filter(|(_, point)| front.contains(&point.place()));
        let label = |(series, point): (&Series, &Point)| {
            // A label may already contain the name of its series.
            if point.label.contains(&series.name) {
                point.label.clone()
            } else {
                format!("{} {}", series.name, point.label)
            }
        };
        named.map(label).collect()
    }

    /// The points that no other point dominates, from left to right; empty if no front is asked for.
    pub(super) fn front_places(&self) -> Vec<Place> {
        let Some(better) = self.front else { return Vec::new() };
        let beaten = |p: Place| {
            let gain = |q: Place| if better == Better::Less { p.0 - q.0 } else { q.0 - p.0 };
            let beats = |q: Place| gain(q) >= 0.0 && q.1 >= p.1 && (gain(q) > 0.0 || q.1 > p.1);
            self.points().any(|point| beats(point.place()))
        };
        let mut front: Vec<Place> =
            self.points().map(Point::place).filter(|place| !beaten(*place)).collect();
        front.sort_by(|a, b| a.0.total_cmp(&b.0));
        front.dedup();
        front
    }

    /// The front as a staircase: between two points it has the lower of both values.
    pub(super) fn front_steps(&self) -> Vec<Place> {
        let front = self.front_places();
        let corners = front.windows(2).flat_map(|pair| {
            let (left, right) = (pair[0], pair[1]);
            let less = self.front == Some(Better::Less);
            [left, if less { (right.0, left.1) } else { (left.0, right.1) }]
        });
        corners.chain(front.last().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    #[test]
    fn the_front_is_what_nothing_beats() {
        let point = |x: f64, y: f64| Point::new(x, y).labeled(format!("a<{x}"));
        let points = [point(1.0, 100.0), point(2.0, 90.0), point(2.0, 95.0), point(3.0, 80.0)];
        let chart = Chart::new("t", Axis::new("x"), Axis::new("y"))
            .series([Series::curve("a & b", points)])
            .front(Better::More);
        assert_eq!(chart.front_places(), [(1.0, 100.0), (2.0, 95.0), (3.0, 80.0)]);
        assert_eq!(chart.front_labels(), ["a & b a<1", "a & b a<2", "a & b a<3"]);
        let steps = [(1.0, 100.0), (1.0, 95.0), (2.0, 95.0), (2.0, 80.0), (3.0, 80.0)];
        assert_eq!(chart.front_steps(), steps);
        let costs = chart.clone().front(Better::Less);
        assert_eq!(costs.front_places(), [(1.0, 100.0)]);
        let text = chart.draw().svg();
        assert!(text.contains("a &amp; b") && text.contains("a&lt;2") && text.contains("Pareto"));
        assert!(Chart { front: None, ..chart }.front_labels().is_empty());
    }
}
