//! Values to places, and round numbers along an axis.

/// Room around the points, as a share of their range.
const ROOM: f64 = 0.1;
/// How far whiskers may widen the range on each side, as a share of it.
const STRETCH: f64 = 0.5;
/// Intervals between ticks, about.
const INTERVALS: f64 = 8.0;

/// An axis: a range of values and where they are drawn.
pub(crate) struct Axis {
    pub(crate) low: f64,
    pub(crate) high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Holds all points; whiskers too, unless they would squeeze the points.
    pub(crate) fn new(
        points: impl Iterator<Item = f64>,
        whiskers: impl IntoIterator<Item = f64>,
        (from, to): (f64, f64),
    ) -> Self {
        let widen = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let finite = points.filter(|value| value.is_finite());
        let (mut low, mut high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), widen);
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let range = (high - low).max(high.abs().max(1.0) * 0.02);
        let ends = whiskers.into_iter().filter(|value| value.is_finite());
        let (least, most) = ends.fold((low, high), widen);
        let low = least.max(low - STRETCH * range) - ROOM * range;
        let high = most.min(high + STRETCH * range) + ROOM * range;
        Self { low, high, from, to }
    }

    /// Where a value is; beyond the ends of the axis, the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Round values along the axis, and how they are written.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / INTERVALS;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps.iter().map(|s| s * power).find(|step| *step >= rough);
        let step = step.unwrap_or(power * 10.0);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let values = (first..=last).map(|count| count as f64 * step);
        values.map(|value| (value, format!("{value:.decimals$}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_and_bounded_whiskers() {
        let axis = Axis::new([1.0, 5.0].into_iter(), [0.9, 40.0], (0.0, 100.0));
        assert!(axis.low < 0.9 && axis.low > 0.0 && axis.high < 8.0);
        let ticks: Vec<String> = axis.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(ticks, ["1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(axis.at(1e9), 100.0);
        let flat = Axis::new([100.0].into_iter(), [], (0.0, 1.0));
        assert!(flat.low < 100.0 && flat.high > 100.0 && flat.ticks().len() > 2);
    }
}
