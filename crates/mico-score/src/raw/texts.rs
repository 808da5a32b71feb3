//! JSON front end of the rules on short answers: GQA, TextVQA, ChartQA, DocVQA, OCRBench.

use serde_json::{Value, json};

use super::input::{answer, answers, prediction, rows, text};
use super::{Entry, RawError};
use crate::rules::vqa::{Normalizer, Stop};
use crate::rules::{chartqa, docvqa, gqa, ocrbench, percent, vqa};
use crate::text::{round, strip};

pub(super) const RAW: &[Entry] = &[
    Entry::item("llava.gqa", |input| equal(input, gqa::llava)),
    Entry::set("llava.gqa", llava_gqa),
    Entry::item("lmms.gqa", |input| equal(input, gqa::lmms)),
    Entry::item("vlmevalkit.gqa", |input| equal(input, gqa::vlmevalkit)),
    Entry::item("llava.textvqa", |input| textvqa(input, Normalizer::Llava)),
    Entry::item("lmms.textvqa", |input| textvqa(input, Normalizer::Llava)),
    Entry::item("vlmevalkit.textvqa", |input| textvqa(input, Normalizer::CURRENT)),
    Entry::item("vlmevalkit.textvqa.before_2025_05", |input| {
        textvqa(input, Normalizer::VlmEvalKit(Stop::BeforeNoDigit))
    }),
    Entry::item("vlmevalkit.chartqa", |input| {
        Ok(score(chartqa::vlmevalkit(&prediction(input)?, &answers(input)?)))
    }),
    Entry::item("lmms.chartqa", |input| {
        let prediction = prediction(input)?;
        Ok(score(answers(input)?.iter().any(|answer| chartqa::relaxed(&prediction, answer))))
    }),
    Entry::item("vlmevalkit.docvqa", |input| {
        Ok(json!({ "score": docvqa::anls(&prediction(input)?, &answers(input)?) }))
    }),
    Entry::item("lmms.docvqa", |input| {
        Ok(json!({ "score": docvqa::anls(strip(&prediction(input)?), &answers(input)?) }))
    }),
    Entry::item("vlmevalkit.ocrbench", |input| ocr(input, ocrbench::Version::Plain)),
    Entry::set("vlmevalkit.ocrbench", |input| ocr_set(input, ocrbench::Version::Plain)),
    Entry::item("lmms.ocrbench", |input| ocr(input, ocrbench::Version::Folded)),
    Entry::set("lmms.ocrbench", |input| ocr_set(input, ocrbench::Version::Folded)),
    Entry::item("lmms.ocrbench.before_2026_07", |input| ocr(input, ocrbench::Version::Plain)),
    Entry::item("lmms.ocrbench.before_2026_04", |input| ocr(input, ocrbench::Version::Lowered)),
];

pub(super) fn score(right: bool) -> Value {
    json!({ "score": f64::from(right) })
}

fn equal(input: &Value, rule: fn(&str, &str) -> bool) -> Result<Value, RawError> {
    Ok(score(rule(&prediction(input)?, &answer(input)?)))
}

/// Rounded to two decimals as the published script prints.
fn llava_gqa(input: &Value) -> Result<Value, RawError> {
    let rows = rows(input)?;
    let mut right = 0;
    for row in rows {
        right += usize::from(gqa::llava(&prediction(row)?, &answer(row)?));
    }
    Ok(json!({ "accuracy_pct": round(percent(right, rows.len()), 2) }))
}

fn textvqa(input: &Value, normalizer: Normalizer) -> Result<Value, RawError> {
    let prediction = prediction(input)?;
    let score = vqa::score(&prediction, &answers(input)?, normalizer);
    Ok(json!({ "score": score, "normalized": vqa::normalize(&prediction, normalizer) }))
}

fn category(input: &Value) -> Result<String, RawError> {
    // lmms-eval recognises formula questions by their source dataset.
    if input.get("dataset").and_then(Value::as_str) == Some("HME100k") {
        return Ok(ocrbench::FORMULAS.to_owned());
    }
    text(input, if input.get("question_type").is_some() { "question_type" } else { "category" })
}

fn ocr(input: &Value, version: ocrbench::Version) -> Result<Value, RawError> {
    Ok(score(ocrbench::right(&prediction(input)?, &answers(input)?, &category(input)?, version)))
}

fn ocr_set(input: &Value, version: ocrbench::Version) -> Result<Value, RawError> {
    let mut recognition = 0;
    let mut others = [0; ocrbench::OTHERS.len()];
    for row in rows(input)? {
        let category = category(row)?;
        let right = ocrbench::right(&prediction(row)?, &answers(row)?, &category, version);
        if ocrbench::RECOGNITION.contains(&category.as_str()) {
            recognition += usize::from(right);
        } else if let Some(at) = ocrbench::OTHERS.iter().position(|other| *other == category) {
            others[at] += usize::from(right);
        }
    }
    let total = recognition + others.iter().sum::<usize>();
    let mut out = serde_json::Map::new();
    out.insert("Text Recognition".to_owned(), recognition.into());
    for (name, count) in ocrbench::OTHERS.iter().zip(others) {
        out.insert((*name).to_owned(), count.into());
    }
    out.insert("Final Score".to_owned(), total.into());
    out.insert("Final Score Norm".to_owned(), (total as f64 / 10.0).into());
    Ok(Value::Object(out))
}
