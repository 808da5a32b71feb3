//! JSON front end of the rules on video benchmarks: Video-MME, MVBench, LongVideoBench, MLVU.

use serde_json::{Value, json};

use super::input::{fault, letter, numbers, prediction, rows, text, texts};
use super::{Entry, RawError};
use crate::rules::{lvb, mlvu, mvbench, percent, videomme};
use crate::text::round;

pub(super) const RAW: &[Entry] = &[
    Entry::item("lmms.videomme", videomme_item),
    Entry::set("lmms.videomme", videomme_set),
    Entry::item("lmms.mvbench", mvbench_item),
    Entry::set("lmms.mvbench", mvbench_set),
    Entry::set("paper.mvbench_mean", mvbench_mean),
    Entry::item("lmms.lvb", |input| {
        let found = lvb::letter(&prediction(input)?);
        Ok(json!({ "parsed": found.map_or_else(|| "RANDOM".to_owned(), String::from) }))
    }),
    Entry::set("lmms.lvb", lvb_set),
    Entry::item("lmms.mlvu", mlvu_item),
    Entry::set("lmms.mlvu", mlvu_set),
];

fn videomme_item(input: &Value) -> Result<Value, RawError> {
    let (prediction, answer) = (prediction(input)?, letter(input)?.to_string());
    let (current, legacy) = (videomme::current(&prediction), videomme::legacy(&prediction));
    Ok(json!({
        "score_current": f64::from(videomme::right_current(&current, &answer)),
        "score_legacy": f64::from(legacy == answer),
        "current": current, "legacy": legacy,
    }))
}

fn videomme_set(input: &Value) -> Result<Value, RawError> {
    let rows = rows(input)?;
    let mut right = 0;
    for row in rows {
        let current = videomme::current(&prediction(row)?);
        right += usize::from(videomme::right_current(&current, &letter(row)?.to_string()));
    }
    Ok(json!({ "overall_pct": percent(right, rows.len()) }))
}

/// The gold letter: that of the first candidate equal to the answer, or given directly.
fn mvbench_gold(input: &Value) -> Result<Option<char>, RawError> {
    if input.get("candidates").is_some() {
        return Ok(mvbench::gold_letter(&texts(input, "candidates")?, &text(input, "answer")?));
    }
    letter(input).map(Some)
}

fn mvbench_item(input: &Value) -> Result<Value, RawError> {
    let prediction = prediction(input)?;
    let gold = mvbench_gold(input)?;
    let right = gold.is_some_and(|gold| mvbench::right(&prediction, gold));
    Ok(json!({ "gold_letter": gold, "score": f64::from(right) }))
}

fn mvbench_set(input: &Value) -> Result<Value, RawError> {
    let rows = rows(input)?;
    let (mut right, mut right_answered, mut answered) = (0, 0, 0);
    for row in rows {
        let prediction = prediction(row)?;
        let hit = mvbench_gold(row)?.is_some_and(|gold| mvbench::right(&prediction, gold));
        right += usize::from(hit);
        if !prediction.is_empty() {
            answered += 1;
            right_answered += usize::from(hit);
        }
    }
    Ok(json!({
        "lmms_task_pct": percent(right_answered, answered), "paper_task_pct": percent(right, rows.len()),
    }))
}

fn mvbench_mean(input: &Value) -> Result<Value, RawError> {
    let tasks = input.get("task_pct");
    let values: Vec<f64> = match tasks {
        Some(Value::Object(tasks)) => tasks.values().filter_map(Value::as_f64).collect(),
        _ => numbers(input, "task_pct")?,
    };
    let whole = tasks.and_then(Value::as_object).is_none_or(|tasks| tasks.len() == values.len());
    if values.is_empty() || !whole {
        return Err(fault("task_pct", tasks, "a number for at least one task"));
    }
    Ok(json!({ "mean_pct": values.iter().sum::<f64>() / values.len() as f64 }))
}

fn lvb_set(input: &Value) -> Result<Value, RawError> {
    let rows = rows(input)?;
    let mut right = 0;
    for row in rows {
        let parsed = match row.get("parsed") {
            None => lvb::letter(&prediction(row)?),
            Some(_) => text(row, "parsed")?.chars().next(),
        };
        right += usize::from(parsed == Some(letter(row)?));
    }
    Ok(json!({ "overall_fraction": round(percent(right, rows.len()) / 100.0, 5) }))
}

fn mlvu_item(input: &Value) -> Result<Value, RawError> {
    let (prediction, answer) = (prediction(input)?, letter(input)?.to_string());
    let (current, legacy) = (mlvu::current(&prediction), mlvu::legacy(&prediction));
    Ok(json!({
        "score_current": f64::from(current == answer), "score_legacy": f64::from(legacy == answer),
        "current": current, "legacy": legacy,
    }))
}

fn mlvu_set(input: &Value) -> Result<Value, RawError> {
    let mut judged = Vec::new();
    for row in rows(input)? {
        let right = mlvu::current(&prediction(row)?) == letter(row)?.to_string();
        judged.push((text(row, "task_type")?, right));
    }
    let value = mlvu::macro_percent(judged.iter().map(|(task, right)| (task.as_str(), *right)));
    Ok(json!({ "macro_pct": value }))
}
