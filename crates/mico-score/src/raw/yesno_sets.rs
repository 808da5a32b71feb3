//! JSON front end of the yes/no metrics on sets: POPE, MME, HallusionBench.

use serde_json::{Value, json};

use super::input::{fault, prediction, rows, text, texts};
use super::yesno::yorn;
use super::{Entry, RawError};
use crate::rules::hallusion::{Place, accuracies};
use crate::rules::mme::{self, points};
use crate::rules::pope::Counts;
use crate::rules::{percent, yesno};
use crate::text::{lower, strip};

pub(super) const RAW: &[Entry] = &[
    Entry::set("llava.pope", llava_pope),
    Entry::set("vlmevalkit.pope", vlmevalkit_pope),
    Entry::set("lmms.pope", lmms_pope),
    Entry::set("mme.official", |input| mme_set(input, yesno::mme_official)),
    Entry::set("lmms.mme", |input| mme_set(input, yesno::lmms_mme)),
    Entry::set("vlmevalkit.mme", vlmevalkit_mme),
    Entry::set("vlmevalkit.hallusion", hallusion),
];

/// Predictions and gold labels, from two parallel lists or from rows.
fn pairs(input: &Value) -> Result<Vec<(String, String)>, RawError> {
    if input.get("predictions").is_none() {
        let gold =
            |row: &Value| text(row, if row.get("label").is_some() { "label" } else { "answer" });
        return rows(input)?.iter().map(|row| Ok((prediction(row)?, gold(row)?))).collect();
    }
    let (predictions, labels) = (texts(input, "predictions")?, texts(input, "labels")?);
    // The public scorer pairs by position, so one missing line would shift all later pairs.
    if predictions.len() != labels.len() {
        return Err(fault("labels", Some(&labels.len().into()), "as many labels as predictions"));
    }
    Ok(predictions.into_iter().zip(labels).collect())
}

fn llava_pope(input: &Value) -> Result<Value, RawError> {
    let mut counts = Counts::default();
    for (prediction, label) in pairs(input)? {
        counts.add(yesno::llava_pope(&prediction) == "yes", label != "no");
    }
    Ok(json!({
        "TP": counts.true_positive, "FP": counts.false_positive,
        "TN": counts.true_negative, "FN": counts.false_negative,
        "acc": counts.accuracy(), "precision": counts.precision(), "recall": counts.recall(),
        "f1": counts.f1(), "yes_ratio": counts.yes_ratio(),
    }))
}

fn vlmevalkit_pope(input: &Value) -> Result<Value, RawError> {
    let mut counts = Counts::default();
    let mut right = 0;
    let mut extracted = Vec::new();
    for row in rows(input)? {
        let label = yorn(&prediction(row)?);
        let gold = text(row, "answer")?;
        let category =
            if row.get("category").is_some() { text(row, "category")? } else { String::new() };
        for _ in category.split(',') {
            counts.add(label == "Yes", gold == "Yes");
            right += usize::from(label == gold);
        }
        extracted.push(label);
    }
    Ok(json!({
        "extracted": extracted, "exploded_rows": counts.total(),
        "overall_acc_pct": percent(right, counts.total()), "overall_f1_pct": 100.0 * counts.f1(),
        "precision_pct": 100.0 * counts.precision(), "recall_pct": 100.0 * counts.recall(),
    }))
}

/// As in lmms-eval, an answer that is neither yes nor no is left out of the recall's denominator.
fn lmms_pope(input: &Value) -> Result<Value, RawError> {
    let mut counts = Counts::default();
    let mut right = 0;
    let pairs = pairs(input)?;
    for (prediction, gold) in &pairs {
        let (label, gold) = (yesno::lmms_pope(prediction), lower(strip(gold)));
        right += usize::from(label == gold);
        if label == "yes" || label == "no" {
            counts.add(label == "yes", gold == "yes");
        }
    }
    Ok(json!({
        "acc": percent(right, pairs.len()) / 100.0, "precision": counts.precision(),
        "recall": counts.recall(), "f1": counts.f1(),
    }))
}

fn mme_rows(input: &Value, read: fn(&str) -> &'static str) -> Result<Vec<mme::Row>, RawError> {
    let row = |(at, row): (usize, &Value)| {
        let names = ["image", "image_path", "question_id"];
        let image = match names.iter().find(|name| row.get(name).is_some()) {
            Some(name) => text(row, name)?,
            // Without image names, two consecutive rows are about one image.
            None => (at / 2).to_string(),
        };
        let gold = lower(strip(&text(row, "answer")?)).replace('.', "");
        let right = lower(read(&prediction(row)?)) == gold;
        Ok(mme::Row { category: text(row, "category")?, image, right })
    };
    rows(input)?.iter().enumerate().map(row).collect()
}

fn mme_set(input: &Value, read: fn(&str) -> &'static str) -> Result<Value, RawError> {
    let points = points(&mme_rows(input, read)?);
    Ok(json!({
        "perception": points.perception, "cognition": points.cognition,
        "per_category": points.categories,
    }))
}

fn vlmevalkit_mme(input: &Value) -> Result<Value, RawError> {
    let points = points(&mme_rows(input, yorn)?);
    Ok(json!({
        "perception": points.perception, "cognition": points.cognition,
        "total": points.perception + points.cognition, "per_category": points.categories,
    }))
}

fn hallusion(input: &Value) -> Result<Value, RawError> {
    let mut judged = Vec::new();
    let mut extracted = Vec::new();
    for row in rows(input)? {
        let label = yorn(&prediction(row)?);
        let category =
            row.get("l2-category").or_else(|| row.get("l2_category")).and_then(Value::as_str);
        let place = Place::of(&text(row, "index")?, category);
        let place =
            place.ok_or_else(|| fault("index", row.get("index"), "six fields joined by '_'"))?;
        judged.push((place, label == text(row, "answer")?));
        extracted.push(label);
    }
    let found = accuracies(&judged);
    Ok(json!({
        "aAcc": found.all, "fAcc": found.figure, "qAcc": found.question, "mean": found.mean(),
        "extracted": extracted,
    }))
}
