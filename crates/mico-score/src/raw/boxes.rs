//! JSON front end of the rules on bounding boxes: RefCOCO and gRefCOCO.

use serde_json::{Value, json};

use super::input::{fault, four, fours, number_or, numbers, prediction, rows};
use super::{Entry, RawError};
use crate::rules::boxes::{self, Unit, Xyxy, ordered};
use crate::rules::grec::{self, Measure};
use crate::rules::refcoco;

pub(super) const RAW: &[Entry] = &[
    Entry::item("vlmevalkit.refcoco", vlmevalkit),
    Entry::item("lmms.refcoco_rec", lmms),
    Entry::item("paper.abs_resized", |input| {
        let size = numbers(input, "model_input_wh")?;
        let [width, height] = size[..] else {
            return Err(fault("model_input_wh", input.get("model_input_wh"), "width and height"));
        };
        in_unit(input, Unit::Pixels(width, height))
    }),
    Entry::item("paper.thousandths", |input| in_unit(input, Unit::Thousandths)),
    Entry::item("paper.fractions", |input| in_unit(input, Unit::Fractions)),
    Entry::item("grec.giou", |input| grec_item(input, Measure::Giou)),
    Entry::set("grec.giou", |input| grec_set(input, Measure::Giou)),
    Entry::item("grec.iou", |input| grec_item(input, Measure::Iou)),
    Entry::set("grec.iou", |input| grec_set(input, Measure::Iou)),
];

/// The gold box as fractions of the image, under any of its three field names.
fn gold(input: &Value) -> Result<Xyxy, RawError> {
    let names = ["gt_norm_xyxy", "answer", "box"];
    let field = names.into_iter().find(|name| input.get(name).is_some()).unwrap_or("gt_norm_xyxy");
    four(input, field)
}

fn vlmevalkit(input: &Value) -> Result<Value, RawError> {
    let size = |field| number_or(input, field, 1.0);
    let (width, height) = (size("width")?, size("height")?);
    let [left, top, right, bottom] = gold(input)?;
    let gold = [left * width, top * height, right * width, bottom * height];
    let found = refcoco::by_magnitude(&prediction(input)?, width, height);
    let iou = refcoco::overlap(gold, found);
    let shares = found.map(|found| Unit::Pixels(width, height).to_fractions(found));
    Ok(json!({ "pred_norm_xyxy": shares, "iou": iou, "hit": u8::from(iou >= refcoco::THRESHOLD) }))
}

fn lmms(input: &Value) -> Result<Value, RawError> {
    let found = boxes::lmms(&prediction(input)?).unwrap_or_default();
    let iou = refcoco::lmms_iou(gold(input)?, found);
    Ok(json!({ "pred": found, "iou": iou, "hit": u8::from(iou >= refcoco::THRESHOLD) }))
}

fn in_unit(input: &Value, unit: Unit) -> Result<Value, RawError> {
    let names = ["pred_xyxy_in_model_input_pixels", "pred_xyxy"];
    let found = match names.into_iter().find(|name| input.get(name).is_some()) {
        Some(name) if input[name].is_null() => None,
        Some(name) => Some(ordered(unit.to_fractions(four(input, name)?))),
        None => refcoco::in_unit(&prediction(input)?, unit),
    };
    let iou = refcoco::overlap(gold(input)?, found);
    Ok(json!({ "pred_norm_xyxy": found, "iou": iou, "hit": u8::from(iou >= refcoco::THRESHOLD) }))
}

/// The gold boxes and the predicted ones, given as lists or read from the reply's text.
fn sides(input: &Value) -> Result<(Vec<Xyxy>, Vec<Xyxy>), RawError> {
    let targets = fours(input, "gt_xywh")?.into_iter().map(grec::from_xywh).collect();
    let found = match input.get("pred_xyxy") {
        None => boxes::every(&prediction(input)?),
        Some(_) => fours(input, "pred_xyxy")?,
    };
    Ok((targets, found))
}

fn grec_item(input: &Value, measure: Measure) -> Result<Value, RawError> {
    let (targets, found) = sides(input)?;
    let right = |measure| u8::from(grec::right(&targets, &found, measure));
    Ok(match measure {
        Measure::Giou => {
            json!({ "correct": right(measure), "correct_if_plain_iou": right(Measure::Iou) })
        }
        Measure::Iou => json!({ "correct": right(measure) }),
    })
}

fn grec_set(input: &Value, measure: Measure) -> Result<Value, RawError> {
    let mut samples = Vec::new();
    for item in rows(input)? {
        let (targets, found) = sides(item)?;
        samples.push((
            !targets.is_empty(),
            !found.is_empty(),
            grec::right(&targets, &found, measure),
        ));
    }
    let summary = grec::summary(&samples);
    let each: Vec<u8> = samples.iter().map(|sample| u8::from(sample.2)).collect();
    Ok(json!({
        "pr_f1_pct": summary.right, "T_acc_pct": summary.targets, "N_acc_pct": summary.no_targets,
        "each": each,
    }))
}
