//! Scores bounding-box answers (RefCOCO, RefCOCO+, RefCOCOg and gRefCOCO) under the chosen
//! coordinate unit.

use super::JudgeError;
use super::fields::{boxes, model_input, one_box, size};
use super::rule::Rule;
use super::settings::{Boxes, Rules};
use crate::rules::boxes::{Unit, Xyxy, every, lmms, ordered};
use crate::rules::{grec, refcoco};
use crate::{Fields, Grade};

pub(super) fn grade(
    rule: Rule,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    match rule {
        Rule::OneBox(unit) => one(unit, fields, prediction),
        Rule::Grec(unit) => many(unit, rules, fields, prediction),
        _ => Ok(Grade { score: 0.0, reading: None }),
    }
}

/// The unit that box numbers are read in; `None` where it is guessed from their magnitude.
fn unit_of(boxes: Boxes, fields: &Fields) -> Result<Option<Unit>, JudgeError> {
    Ok(match boxes {
        Boxes::Magnitude => None,
        Boxes::Thousandths => Some(Unit::Thousandths),
        Boxes::Fractions | Boxes::Profile => Some(Unit::Fractions),
        Boxes::ResizedPixels => {
            let [width, height] = model_input(fields)?;
            Some(Unit::Pixels(width, height))
        }
    })
}

fn one(boxes: Boxes, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
    let gold = one_box(fields)?;
    let (found, overlap) = if boxes == Boxes::Profile {
        let found = lmms(prediction);
        (found, refcoco::lmms_iou(gold, found.unwrap_or_default()))
    } else {
        let found = match unit_of(boxes, fields)? {
            Some(unit) => refcoco::in_unit(prediction, unit),
            None => by_magnitude(fields, prediction)?,
        };
        (found, refcoco::overlap(gold, found))
    };
    let score = f64::from(overlap >= refcoco::THRESHOLD);
    Ok(Grade { score, reading: found.map(|found| written(&[found])) })
}

/// Reads a box by VLMEvalKit's guess and converts it to fractions of the image. The image size
/// matters only for numbers above 1000; without it the toolkit assumes 1 by 1.
fn by_magnitude(fields: &Fields, prediction: &str) -> Result<Option<Xyxy>, JudgeError> {
    let known = fields.contains_key("width") && fields.contains_key("height");
    let (width, height) =
        if known { (size(fields, "width")?, size(fields, "height")?) } else { (1.0, 1.0) };
    let found = refcoco::by_magnitude(prediction, width, height);
    Ok(found.map(|found| Unit::Pixels(width, height).to_fractions(found)))
}

fn many(
    boxes_in: Boxes,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    let targets: Vec<Xyxy> = boxes(fields)?.into_iter().map(grec::from_xywh).collect();
    let (width, height) = (size(fields, "width")?, size(fields, "height")?);
    let unit = unit_of(boxes_in, fields)?;
    let in_pixels = |numbers: Xyxy| match unit {
        None => refcoco::scaled_by_magnitude(numbers, width, height),
        Some(unit) => {
            let [left, top, right, bottom] = ordered(unit.to_fractions(numbers));
            [left * width, top * height, right * width, bottom * height]
        }
    };
    let found: Vec<Xyxy> = every(prediction).into_iter().map(in_pixels).collect();
    let score = f64::from(grec::right(&targets, &found, rules.grec));
    Ok(Grade { score, reading: (!found.is_empty()).then(|| written(&found)) })
}

fn written(boxes: &[Xyxy]) -> String {
    let one =
        |numbers: &Xyxy| format!("[{}]", numbers.map(|number| format!("{number:.4}")).join(", "));
    boxes.iter().map(one).collect::<Vec<_>>().join(" ")
}
