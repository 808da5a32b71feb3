//! Axes: the mapping from values to positions, and the choice of ticks at round numbers.

use crate::font;

/// Margin around the points, as a share of their range.
const ROOM: f64 = 0.08;
/// How far intervals may widen the range on each side, as a share of it.
const STRETCH: f64 = 0.5;
/// The least range, as a share of the largest value: noise should not fill the frame.
const LEAST_RANGE: f64 = 0.02;
/// Values beyond this are taken for errors: their differences would overflow.
const LARGEST: f64 = 1e100;
/// Values from this size on are written with an exponent, and steps below the other.
const LARGE: f64 = 1e7;
const SMALL: f64 = 1e-5;
/// The fewest ticks from which an axis can be read.
const LEAST_TICKS: i64 = 3;
/// The least distance between tick labels along an axis, in units.
const BETWEEN: f64 = 8.0;

/// An axis: its label, scale and ticks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Axis {
    /// What is counted, with its unit.
    pub label: String,
    /// Whether the scale is logarithmic (base 2); values that are not above 0 are then left out.
    pub doubling: bool,
    /// Where ticks are drawn.
    pub ticks: Ticks,
    /// Values the range must contain, whatever the points are.
    pub include: Vec<f64>,
    /// The least and the largest value there can be: the range never leaves them.
    pub bounds: Option<(f64, f64)>,
}

/// Where ticks are drawn along an axis.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ticks {
    /// At round numbers, about evenly spaced.
    Round,
    /// At the points, as far as there is room: for values that were chosen, such as budgets.
    AtPoints,
    /// None: rows have names instead. Row `i` is at the value `-i`, so that the first is on top.
    Rows(Vec<Row>),
}

/// A row of a chart whose vertical axis lists names instead of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The name, drawn to the left of the frame.
    pub name: String,
    /// A note drawn to the right of the frame, such as the numbers in words.
    pub note: String,
}

impl Axis {
    /// A linear axis with ticks at round numbers.
    pub fn new(label: impl Into<String>) -> Self {
        let (doubling, ticks, include) = (false, Ticks::Round, Vec::new());
        Self { label: label.into(), doubling, ticks, include, bounds: None }
    }

    /// An axis of shares, whose range never leaves 0 to 1.
    pub fn share(label: impl Into<String>) -> Self {
        Self { bounds: Some((0.0, 1.0)), ..Self::new(label) }
    }

    /// An axis of named rows, from top to bottom.
    pub fn rows(rows: impl IntoIterator<Item = Row>) -> Self {
        let rows: Vec<Row> = rows.into_iter().collect();
        let bottom = -(rows.len().saturating_sub(1) as f64);
        Self { ticks: Ticks::Rows(rows), include: vec![0.0, bottom], ..Self::new("") }
    }

    /// Makes the scale logarithmic (base 2): equal steps double the value.
    pub fn doubling(self) -> Self {
        Self { doubling: true, ..self }
    }

    /// Draws ticks at the values of the points.
    pub fn ticks_at_points(self) -> Self {
        Self { ticks: Ticks::AtPoints, ..self }
    }

    /// Extends the range to contain these values.
    pub fn including(self, values: impl IntoIterator<Item = f64>) -> Self {
        Self { include: values.into_iter().collect(), ..self }
    }

    /// Whether a value can be shown on the axis.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && value.abs() < LARGEST && (value > 0.0 || !self.doubling)
    }

    fn linear(&self, value: f64) -> f64 {
        if self.doubling { value.log2() } else { value }
    }

    /// Fits the axis between two positions: its range holds all points, and the ends of their intervals
    /// too, unless these would squeeze the points.
    pub(crate) fn lay_out(
        &self,
        points: impl Iterator<Item = f64>,
        ends: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
    ) -> Scale {
        let widen = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let place = |value: f64| self.shows(value).then(|| self.linear(value));
        let points = points.chain(self.include.iter().copied()).filter_map(place);
        let (mut low, mut high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), widen);
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let size = low.abs().max(high.abs());
        let range = (high - low).max(if size > 0.0 { size * LEAST_RANGE } else { 1.0 });
        let middle = f64::midpoint(low, high);
        let (least, most) = ends.filter_map(place).fold((low, high), widen);
        let low = least.max(low - STRETCH * range).min(middle - range / 2.0) - ROOM * range;
        let high = most.min(high + STRETCH * range).max(middle + range / 2.0) + ROOM * range;
        let (low, high) = self.bounded(low, high);
        Scale { low, high, from, to, doubling: self.doubling }
    }

    /// The range without what there cannot be; whole if nothing would remain, as with values out of bounds.
    fn bounded(&self, low: f64, high: f64) -> (f64, f64) {
        let Some((least, most)) = self.bounds else { return (low, high) };
        let inside = (low.max(self.linear(least)), high.min(self.linear(most)));
        if inside.0 < inside.1 { inside } else { (low, high) }
    }
}

/// A fitted axis: a range of values and the positions they are drawn at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    doubling: bool,
}

impl Scale {
    /// The position of a value, clamped to the ends of the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.doubling { value.log2() } else { value };
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// The smallest and the largest value shown.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let value = |end: f64| if self.doubling { end.exp2() } else { end };
        (value(self.low), value(self.high))
    }

    /// Round values about `apart` units from each other, with their labels.
    pub(crate) fn round_ticks(&self, apart: f64) -> Vec<(f64, String)> {
        let (low, high) = self.ends();
        let intervals = ((self.to - self.from).abs() / apart).clamp(2.0, 10.0);
        let rough = (high - low) / intervals;
        let power = 10_f64.powf(rough.log10().floor());
        let counts = |step: f64| ((low / step).ceil() as i64, (high / step).floor() as i64);
        let steps = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2].map(|step| step * power);
        // The smallest step that is not too dense, or the next one where that leaves too few.
        let dense = steps.iter().rposition(|step| *step >= rough).unwrap_or(0);
        let few = |step: f64| counts(step).1 - counts(step).0 + 1 < LEAST_TICKS;
        let step = steps[dense..].iter().copied().find(|step| !few(*step)).unwrap_or(steps[dense]);
        let (first, last) = counts(step);
        let values = (first..=last).map(|count| count as f64 * step);
        values.map(|value| (value, written(value, step))).collect()
    }
}

/// A value formatted with as many decimals as a tick step of `step` needs.
fn written(value: f64, step: f64) -> String {
    if value != 0.0 && (value.abs() >= LARGE || step < SMALL) {
        // Steps are one digit, so a few decimals tell neighbours apart.
        let decimals = (value.abs() / step).log10().ceil().clamp(0.0, 6.0) as usize;
        return format!("{value:.decimals$e}");
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    text.replace('-', "\u{2212}")
}

/// The ticks whose labels do not overlap along a horizontal axis; `ticks` are in the order of their
/// positions.
pub(crate) fn apart(ticks: Vec<(f64, String)>, scale: &Scale, size: f64) -> Vec<(f64, String)> {
    let mut free = f64::NEG_INFINITY;
    let mut kept = ticks;
    kept.retain(|(value, text)| {
        let (at, half) = (scale.at(*value), font::width(text, size) / 2.0);
        let fits = at - half >= free;
        if fits {
            free = at + half + BETWEEN;
        }
        fits
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale, apart: f64) -> Vec<String> {
        scale.round_ticks(apart).into_iter().map(|tick| tick.1).collect()
    }

    fn lay_out(axis: &Axis, points: &[f64], ends: &[f64]) -> Scale {
        axis.lay_out(points.iter().copied(), ends.iter().copied(), (0.0, 100.0))
    }

    #[test]
    fn round_numbers_and_bounded_intervals() {
        let axis = Axis::new("x");
        let scale = lay_out(&axis, &[1.0, 5.0], &[0.9, 40.0]);
        let (low, high) = scale.ends();
        assert!(low < 0.9 && low > 0.0 && high < 8.0);
        assert_eq!(texts(&scale, 10.0), ["1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!((scale.at(1e9), scale.at(-1e9)), (100.0, 0.0));
        let (low, high) = lay_out(&axis, &[100.0], &[]).ends();
        assert!(low < 99.0 && high > 101.0, "{low} {high}");
        assert_eq!(texts(&lay_out(&axis, &[-1.0, 1.0], &[]), 50.0), ["\u{2212}1", "0", "1"]);
    }

    #[test]
    fn shares_end_at_nothing_and_all() {
        let axis = Axis::share("accuracy");
        let scale = lay_out(&axis, &[0.0, 1.0], &[-0.2, 1.4]);
        assert_eq!(scale.ends(), (0.0, 1.0));
        assert_eq!(texts(&scale, 20.0).last().unwrap(), "1.0");
        let (low, high) = lay_out(&axis, &[0.4, 0.5], &[]).ends();
        assert!(low > 0.3 && high < 0.6, "{low} {high}");
        let (low, high) = lay_out(&axis, &[2.0, 3.0], &[]).ends();
        assert!(low < high, "values out of bounds are drawn all the same");
    }

    #[test]
    fn ticks_step_by_one_two_or_five() {
        for (low, high) in [(88.0, 101.0), (-0.51, 0.02), (0.0, 1.4), (3.0, 7.9), (0.001, 0.0097)] {
            let scale = lay_out(&Axis::new("x"), &[low, high], &[]);
            let ticks = scale.round_ticks(20.0);
            for pair in ticks.windows(2) {
                let step = pair[1].0 - pair[0].0;
                let digit = (step / 10_f64.powf(step.log10().floor())).round();
                assert!([1.0, 2.0, 5.0, 10.0].contains(&digit), "{low} to {high}: {ticks:?}");
            }
        }
    }

    #[test]
    fn small_values_fill_their_axis() {
        let scale = lay_out(&Axis::new("x"), &[0.0001, 0.0009], &[]);
        assert!(scale.at(0.0009) - scale.at(0.0001) > 80.0);
        assert_eq!(texts(&scale, 25.0), ["0.0002", "0.0004", "0.0006", "0.0008"]);
    }

    #[test]
    fn steps_double() {
        let axis = Axis::new("T").doubling();
        let scale = lay_out(&axis, &[32.0, 64.0, 128.0, 0.0, -3.0], &[]);
        let at = [32.0, 64.0, 128.0].map(|value| scale.at(value));
        assert!((at[1] - at[0] - (at[2] - at[1])).abs() < 1e-9);
        assert!(!axis.shows(0.0) && axis.shows(0.5));
    }

    #[test]
    fn whatever_the_values_ticks_are_few_and_finite() {
        let odd = [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0, 1e99, -1e99, 1e-300];
        for a in odd {
            for b in odd {
                let scale = lay_out(&Axis::new("x"), &[a, b], &[b, a]);
                let ticks = scale.round_ticks(40.0);
                assert!((1..=12).contains(&ticks.len()), "{a} {b}: {ticks:?}");
                for (value, text) in ticks {
                    assert!(scale.at(value).is_finite() && text.len() < 20, "{a} {b}: {text}");
                }
            }
        }
    }

    #[test]
    fn texts_keep_their_distance() {
        let scale = lay_out(&Axis::new("x"), &[0.0, 200.0], &[]);
        let ticks: Vec<(f64, String)> = (0..=200).map(|x| (f64::from(x), x.to_string())).collect();
        let kept = apart(ticks, &scale, 12.0);
        assert!((3..8).contains(&kept.len()), "{kept:?}");
    }
}
