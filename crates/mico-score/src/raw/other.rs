//! JSON front end of VTC-Bench's grouping and of the diagnostic statistics.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::input::{fault, number_or, numbers, text};
use super::{Entry, RawError};
use crate::rules::{diagnostics, vtc};

pub(super) const RAW: &[Entry] = &[
    Entry::item("vtc.correct", |input| {
        let record = input.get("record").ok_or_else(|| fault("record", None, "a logged record"))?;
        Ok(json!({ "correct": vtc::correct(&text(input, "dataset")?, record) }))
    }),
    Entry::set("vtc.groups", groups),
    Entry::set("spearman", |input| {
        Ok(json!({ "rho": diagnostics::spearman(&numbers(input, "x")?, &numbers(input, "y")?) }))
    }),
    Entry::set("jeffreys_entropy", entropy),
    Entry::set("concordance", |input| {
        let scores = numbers(input, "scores")?;
        let right: Vec<bool> =
            numbers(input, "correct")?.iter().map(|right| *right > 0.5).collect();
        if scores.len() != right.len() {
            return Err(fault(
                "correct",
                input.get("correct"),
                "as many values as there are scores",
            ));
        }
        Ok(json!({ "concordance": diagnostics::concordance(&scores, &right) }))
    }),
];

fn entropy(input: &Value) -> Result<Value, RawError> {
    let field = if input.get("counts").is_some() { "counts" } else { "nonzero_counts" };
    let classes = number_or(input, "classes", 182.0)?;
    if !(1.0..=1e9).contains(&classes) {
        return Err(fault("classes", input.get("classes"), "a number of classes from 1"));
    }
    let value = diagnostics::jeffreys_entropy(&numbers(input, field)?, classes as usize);
    Ok(json!({ "entropy_nats": value }))
}

/// Whether each id was answered correctly, given a score, a truth value or a logged record for each.
fn judged(input: &Value, field: &str) -> Result<BTreeMap<String, bool>, RawError> {
    let dataset = input.get("dataset").and_then(Value::as_str).unwrap_or_default();
    let accepted = "a map from ids to scores or records";
    let right = |value: &Value| match value {
        Value::Bool(right) => Some(*right),
        Value::Number(score) => score.as_f64().map(|score| score >= 0.5),
        Value::Object(_) => Some(vtc::correct(dataset, value)),
        _ => None,
    };
    let id = |record: &Value| {
        record.get("doc_id").map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned))
    };
    let value = input.get(field);
    let found = match value {
        Some(Value::Object(map)) => {
            map.iter().map(|(id, value)| Some((id.clone(), right(value)?))).collect()
        }
        Some(Value::Array(records)) => {
            records.iter().map(|record| id(record).zip(right(record))).collect()
        }
        _ => None,
    };
    found.ok_or_else(|| fault(field, value, accepted))
}

fn groups(input: &Value) -> Result<Value, RawError> {
    let groups =
        vtc::groups(&judged(input, "reference_full")?, &judged(input, "reference_downsampled")?);
    let target = judged(input, "target")?;
    let (hard, easy) = (&groups.hard, &groups.easy);
    Ok(json!({
        "acc_a_pct": vtc::group_percent(hard, &target), "acc_b_pct": vtc::group_percent(easy, &target),
        "group_a": hard, "group_b": easy,
    }))
}
