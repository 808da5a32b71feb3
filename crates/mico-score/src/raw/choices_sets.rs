//! JSON front end of the rules on sets of multiple-choice items.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::choices::{llava_sqa, read};
use super::input::{answer, integer, letter, prediction, rows, text};
use super::{Entry, RawError, apply};
use crate::rules::options::Version;
use crate::rules::{mmbench, mmstar, percent, seed};
use crate::text::round;

pub(super) const RAW: &[Entry] = &[
    Entry::set("vlmevalkit.mmbench", mmbench_set),
    Entry::set("vlmevalkit.mmmu", mmmu_set),
    Entry::set("llava.sqa", sqa_set),
    Entry::set("llava.seed", seed_set),
    Entry::set("lmms.mmstar", mmstar_set),
];

fn mmbench_set(input: &Value) -> Result<Value, RawError> {
    let rows = rows(input)?;
    let mut judged = Vec::new();
    for row in rows {
        let row = &super::file::options_read_back(row);
        let index = integer(row, "index")?;
        let named = row.get("g_index").is_some_and(|group| !group.is_null());
        let group = if named { integer(row, "g_index")? } else { mmbench::group_of(index) };
        let right = read(row, Version::June2026)? == Some(letter(row)?);
        judged.push(mmbench::Row { index, group, right });
    }
    let groups = mmbench::circular(&judged);
    let right = groups.values().filter(|right| **right).count();
    let hits: BTreeMap<String, u8> =
        groups.iter().map(|(group, right)| (group.to_string(), u8::from(*right))).collect();
    Ok(json!({
        "circular_acc": percent(right, groups.len()) / 100.0, "hits": hits,
        "groups": groups.len(), "rows": rows.len(),
    }))
}

fn mmmu_set(input: &Value) -> Result<Value, RawError> {
    let mut hits = BTreeMap::new();
    let mut splits: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in rows(input)? {
        let row = &super::file::options_read_back(row);
        let out = apply("vlmevalkit.mmmu", "item", row)?;
        let right = out.get("score").and_then(Value::as_f64) == Some(1.0);
        hits.insert(text(row, "index")?, u8::from(right));
        let split =
            if row.get("split").is_some() { text(row, "split")? } else { "none".to_owned() };
        let (rights, all) = splits.entry(split).or_default();
        *rights += usize::from(right);
        *all += 1;
    }
    let share =
        |(split, (right, all)): (String, (usize, usize))| (split, percent(right, all) / 100.0);
    let splits: BTreeMap<String, f64> = splits.into_iter().map(share).collect();
    Ok(json!({ "hits": hits, "overall_by_split": splits }))
}

/// Rounded to two decimals as the published script prints. A question without an answer counts as wrong.
fn sqa_set(input: &Value) -> Result<Value, RawError> {
    let (mut right, mut right_image, mut images) = (0, 0, 0);
    let rows = rows(input)?;
    for row in rows {
        let score = llava_sqa(row)?.get("score").and_then(Value::as_f64);
        let hit = usize::from(score == Some(1.0));
        right += hit;
        if row.get("has_image") != Some(&Value::Bool(false)) {
            right_image += hit;
            images += 1;
        }
    }
    Ok(json!({
        "img_acc_pct": round(percent(right_image, images), 2),
        "acc_pct": round(percent(right, rows.len()), 2),
    }))
}

/// Rounded to two decimals as the published script prints.
fn seed_set(input: &Value) -> Result<Value, RawError> {
    let mut counts: BTreeMap<bool, (usize, usize)> = BTreeMap::new();
    for row in rows(input)? {
        let video = row.get("data_type").and_then(Value::as_str) == Some("video");
        let (right, all) = counts.entry(video).or_default();
        *right += usize::from(seed::llava(&prediction(row)?, &answer(row)?));
        *all += 1;
    }
    let of = |video: bool| counts.get(&video).copied().unwrap_or_default();
    let share = |(right, all): (usize, usize)| round(percent(right, all), 2);
    let total = (of(false).0 + of(true).0, of(false).1 + of(true).1);
    Ok(json!({ "total": share(total), "image": share(of(false)), "video": share(of(true)) }))
}

/// The mean over sub-categories, which lmms-eval calls "average", beside the plain accuracy.
fn mmstar_set(input: &Value) -> Result<Value, RawError> {
    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut total = (0, 0);
    for row in rows(input)? {
        let hit = usize::from(mmstar::lmms(&prediction(row)?, &letter(row)?.to_string()));
        let kind = if row.get("l2_category").is_some() {
            text(row, "l2_category")?
        } else {
            String::new()
        };
        let counts = kinds.entry(kind).or_default();
        *counts = (counts.0 + hit, counts.1 + 1);
        total = (total.0 + hit, total.1 + 1);
    }
    let sum: f64 = kinds.values().map(|(right, all)| percent(*right, *all) / 100.0).sum();
    let average = if kinds.is_empty() { 0.0 } else { sum / kinds.len() as f64 };
    Ok(json!({ "average": average, "accuracy_pct": percent(total.0, total.1) }))
}
