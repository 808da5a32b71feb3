//! gRefCOCO (generalised referring expressions): a set of boxes for one expression, possibly none.

use super::boxes::Xyxy;
use super::percent;

/// The overlap measure by which boxes are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Generalised intersection over union, which the released code and the paper use.
    Giou,
    /// Plain intersection over union, as in the original definition.
    Iou,
}

/// Pairs with an overlap below this do not match.
const THRESHOLD: f32 = 0.5;

/// Converts a box from left, top, width and height, as COCO stores it.
pub fn from_xywh([left, top, width, height]: [f64; 4]) -> Xyxy {
    [left, top, left + width, top + height]
}

/// The overlap of two boxes, in single precision as in the reference, because values near one half
/// depend on it.
fn value(a: Xyxy, b: Xyxy, measure: Measure) -> f32 {
    let [a, b] = [a, b].map(|of| super::boxes::ordered(of).map(|number| number as f32));
    let area = |of: [f32; 4]| (of[2] - of[0]).max(0.0) * (of[3] - of[1]).max(0.0);
    let common = [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])];
    let shared = area(common);
    let union = area(a) + area(b) - shared;
    let iou = shared / union;
    let value = match measure {
        Measure::Iou => iou,
        Measure::Giou => {
            let hull = area([a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
            iou - (hull - union) / hull
        }
    };
    // Two boxes without area give 0 / 0.
    if value.is_nan() { 0.0 } else { value }
}

/// Whether targets and boxes match one to one; without targets, whether there is no box.
pub fn right(targets: &[Xyxy], found: &[Xyxy], measure: Measure) -> bool {
    if targets.len() != found.len() {
        return false;
    }
    let mut values: Vec<Vec<f32>> = found
        .iter()
        .map(|found| targets.iter().map(|target| value(*found, *target, measure)).collect())
        .collect();
    for _ in 0..found.len() {
        let mut best = (0, 0, f32::NEG_INFINITY);
        for (row, row_values) in values.iter().enumerate() {
            for (column, value) in row_values.iter().enumerate() {
                if *value > best.2 {
                    best = (row, column, *value);
                }
            }
        }
        if best.2 < THRESHOLD {
            return false;
        }
        values[best.0].fill(0.0);
        values.iter_mut().for_each(|row| row[best.1] = 0.0);
    }
    true
}

/// The metrics of a set of samples, in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Samples whose boxes all match their targets.
    pub right: f64,
    /// `T_acc`: samples with targets for which any box was given; `None` if no sample has targets.
    pub targets: Option<f64>,
    /// `N_acc`: samples without targets for which no box was given; `None` if every sample has targets.
    pub no_targets: Option<f64>,
}

/// Summarises samples given as (has targets, has boxes, is right).
pub fn summary(samples: &[(bool, bool, bool)]) -> Summary {
    let share = |targets: bool| {
        let of: Vec<bool> = samples
            .iter()
            .filter(|sample| sample.0 == targets)
            .map(|sample| sample.1 == targets)
            .collect();
        (!of.is_empty()).then(|| percent(of.iter().filter(|agrees| **agrees).count(), of.len()))
    };
    let right = samples.iter().filter(|sample| sample.2).count();
    Summary { right: percent(right, samples.len()), targets: share(true), no_targets: share(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: Xyxy = [0.0, 0.0, 10.0, 10.0];

    #[test]
    fn generalised_overlap_is_stricter() {
        let shifted = [[1.7, 1.7, 11.7, 11.7]];
        assert!(!right(&[SQUARE], &shifted, Measure::Giou));
        assert!(right(&[SQUARE], &shifted, Measure::Iou));
        assert!(right(&[SQUARE], &[[0.0, 0.0, 10.0, 5.0]], Measure::Giou));
    }

    #[test]
    fn numbers_of_boxes_must_agree() {
        let far = [20.0, 0.0, 30.0, 10.0];
        assert!(right(&[SQUARE, far], &[far, SQUARE], Measure::Giou));
        assert!(!right(&[SQUARE, far], &[SQUARE], Measure::Giou));
        assert!(!right(&[SQUARE], &[SQUARE, SQUARE], Measure::Giou));
        assert!(!right(&[SQUARE, far], &[SQUARE, SQUARE], Measure::Giou));
        assert!(right(&[], &[], Measure::Giou) && !right(&[], &[SQUARE], Measure::Giou));
        assert!(right(&[SQUARE], &[[10.0, 10.0, 0.0, 0.0]], Measure::Giou));
        assert!(!right(&[[0.0; 4]], &[[0.0; 4]], Measure::Giou));
    }
}
