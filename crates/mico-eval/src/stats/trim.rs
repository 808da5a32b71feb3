//! Leaving out what lies far from the rest.

use mico_util::quantile;

/// How far from the quartiles Tukey's fences are, in distances between them.
const FENCE: f64 = 1.5;

/// Which points to leave out. A point goes if either coordinate does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trim {
    /// No point is left out.
    None,
    /// Those below this share of the values, and above the same share from the other end.
    Share(f64),
    /// Those beyond Tukey's fences, 1.5 interquartile ranges from the quartiles.
    Tukey,
}

impl Trim {
    /// The points that stay.
    pub fn keep(self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let (Some(x), Some(y)) =
            (self.range(points.iter().map(|p| p.0)), self.range(points.iter().map(|p| p.1)))
        else {
            return points.to_vec();
        };
        let inside = |value: f64, (low, high): (f64, f64)| (low..=high).contains(&value);
        points.iter().filter(|p| inside(p.0, x) && inside(p.1, y)).copied().collect()
    }

    /// From where to where values stay; `None` for everywhere.
    fn range(self, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        match self {
            Self::None => None,
            Self::Share(share) => {
                Some((quantile(&sorted, share)?, quantile(&sorted, 1.0 - share)?))
            }
            Self::Tukey => {
                let (low, high) = (quantile(&sorted, 0.25)?, quantile(&sorted, 0.75)?);
                let reach = FENCE * (high - low);
                Some((low - reach, high + reach))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_points_go_whichever_way_they_are_far() {
        let mut points: Vec<(f64, f64)> =
            (0..99).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        points.push((50.0, 1e6));
        assert_eq!(Trim::None.keep(&points).len(), 100);
        let tukey = Trim::Tukey.keep(&points);
        assert_eq!(tukey.len(), 99);
        assert!(tukey.iter().all(|point| point.1 < 7.0));
        // Of 100 values the first and last percent: the two ends of x, and the far y.
        assert_eq!(Trim::Share(0.01).keep(&points).len(), 97);
        assert!(Trim::Tukey.keep(&[]).is_empty());
    }
}
