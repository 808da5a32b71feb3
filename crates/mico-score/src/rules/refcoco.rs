//! RefCOCO, RefCOCO+ and RefCOCOg: one bounding box for one referring expression, scored by overlap.

use super::boxes::{self, Unit, Xyxy, iou, ordered};

/// The intersection over union from which on a box counts as right.
pub const THRESHOLD: f64 = 0.5;
/// If no coordinate exceeds this, VLMEvalKit takes the numbers for fractions.
const FRACTIONS: f64 = 1.5;
/// If no coordinate exceeds this, it takes them for thousandths; otherwise for pixels.
const THOUSANDTHS: f64 = 1000.0;

/// The box that VLMEvalKit reads from a reply, in pixels of an image of the given size.
pub fn by_magnitude(text: &str, width: f64, height: f64) -> Option<Xyxy> {
    boxes::first(text).map(|numbers| scaled_by_magnitude(numbers, width, height))
}

/// Converts a box to pixels: the unit is guessed from the largest number, the box is clipped to the
/// image, then its corners are put in order.
pub fn scaled_by_magnitude(numbers: Xyxy, width: f64, height: f64) -> Xyxy {
    let largest = numbers.into_iter().map(f64::abs).fold(0.0, f64::max);
    let clipped = |value: f64, size: f64| {
        let scaled = if largest <= FRACTIONS {
            value * size
        } else if largest <= THOUSANDTHS {
            value / 1000.0 * size
        } else {
            value
        };
        scaled.max(0.0).min(size)
    };
    let [left, top, right, bottom] = numbers;
    ordered([
        clipped(left, width),
        clipped(top, height),
        clipped(right, width),
        clipped(bottom, height),
    ])
}

/// The first box of a reply written in a known unit, in fractions of the image.
pub fn in_unit(text: &str, unit: Unit) -> Option<Xyxy> {
    let numbers = boxes::every(text).first().copied().or_else(|| boxes::first(text))?;
    Some(ordered(unit.to_fractions(numbers)))
}

/// lmms-eval's intersection over union, in which areas keep their sign; an unreadable box is given
/// as all zeros.
pub fn lmms_iou(gold: Xyxy, found: Xyxy) -> f64 {
    let width = (gold[2].min(found[2]) - gold[0].max(found[0])).max(0.0);
    let height = (gold[3].min(found[3]) - gold[1].max(found[1])).max(0.0);
    let area = |of: Xyxy| (of[2] - of[0]) * (of[3] - of[1]);
    let union = area(gold) + area(found) - width * height;
    if union == 0.0 { 0.0 } else { width * height / union }
}

/// Intersection over union with the gold; 0 if no box was found.
pub fn overlap(gold: Xyxy, found: Option<Xyxy>) -> f64 {
    found.map_or(0.0, |found| iou(found, gold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_guessed_from_the_largest_number() {
        assert_eq!(by_magnitude("[0,0,.5,.25]", 1.0, 1.0), Some([0.0, 0.0, 0.5, 0.25]));
        assert_eq!(by_magnitude("[500,600,100,200]", 1.0, 1.0), Some([0.1, 0.2, 0.5, 0.6]));
        assert_eq!(by_magnitude("[0,0,1200,50]", 640.0, 480.0), Some([0.0, 0.0, 640.0, 50.0]));
        assert_eq!(by_magnitude("nothing", 1.0, 1.0), None);
    }

    #[test]
    fn a_known_unit_is_not_guessed() {
        let found = in_unit("[112, 168, 560, 504]", Unit::Pixels(1120.0, 840.0)).unwrap();
        assert!((iou(found, [0.1, 0.2, 0.5, 0.6]) - 1.0).abs() < 1e-12);
        assert_eq!(in_unit("[[100,200,500,600]]", Unit::Thousandths), Some([0.1, 0.2, 0.5, 0.6]));
        assert_eq!(
            in_unit("dog (100,200),(500,600)", Unit::Thousandths),
            Some([0.1, 0.2, 0.5, 0.6])
        );
    }

    #[test]
    fn two_dogs_are_read_as_a_coordinate() {
        let found = by_magnitude("The 2 dogs: (100,200),(500,600)", 1.0, 1.0);
        assert!(overlap([0.1, 0.2, 0.5, 0.6], found) < THRESHOLD);
    }
}
