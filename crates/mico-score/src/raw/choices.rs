//! JSON front end of the rules on single multiple-choice items.

use serde_json::{Value, json};

use super::input::{answer, answers, choices, letter, prediction};
use super::texts::score;
use super::{Entry, RawError};
use crate::rules::mmmu::Parser;
use crate::rules::mmmu_open::Meaning;
use crate::rules::options::{Version, extract};
use crate::rules::{ai2d, mcq, mmmu, mmmu_open, mmstar, seed, sqa};
use crate::text::capital;

pub(super) const RAW: &[Entry] = &[
    Entry::item("vlmevalkit.extract", |input| {
        Ok(json!({ "extracted": read(input, Version::June2026)? }))
    }),
    Entry::item("vlmevalkit.extract.versions", versions),
    Entry::item("vlmevalkit.mcq", |input| mcq_item(input, Version::June2026)),
    Entry::item("vlmevalkit.mcq.before_2026_06", |input| mcq_item(input, Version::August2025)),
    Entry::item("vlmevalkit.mcq.before_2025_08", |input| mcq_item(input, Version::Before)),
    Entry::item("vlmevalkit.seed", |input| mcq_item(input, Version::June2026)),
    Entry::item("vlmevalkit.ai2d", |input| mcq_item(input, Version::June2026)),
    Entry::item("vlmevalkit.mmstar", |input| mcq_item(input, Version::June2026)),
    Entry::item("vlmevalkit.sqa", |input| mcq_item(input, Version::June2026)),
    Entry::item("llava.sqa", llava_sqa),
    Entry::item("lmms.sqa", |input| Ok(score(sqa::lmms(&prediction(input)?, letter(input)?)))),
    Entry::item("llava.seed", |input| Ok(score(seed::llava(&prediction(input)?, &answer(input)?)))),
    Entry::item("lmms.seed", |input| {
        let prediction = prediction(input)?;
        let right = seed::lmms(&prediction, &answer(input)?);
        Ok(json!({ "pred": seed::lmms_reading(&prediction), "score": f64::from(right) }))
    }),
    Entry::item("lmms.ai2d", |input| {
        let prediction = prediction(input)?;
        let right = ai2d::lmms(&prediction, letter(input)?);
        Ok(json!({ "filtered": ai2d::filtered(&prediction), "score": f64::from(right) }))
    }),
    Entry::item("mmmu.official", |input| mmmu_item(input, Parser::Official)),
    Entry::item("lmms.mmmu", |input| mmmu_item(input, Parser::Lmms)),
    Entry::item("mmmu.open", mmmu_open_item),
    Entry::item("vlmevalkit.mmmu", vlmevalkit_mmmu),
    Entry::item("mmstar.official", |input| {
        Ok(score(mmstar::official(&prediction(input)?, &letter(input)?.to_string())))
    }),
    Entry::item("lmms.mmstar", |input| {
        Ok(score(mmstar::lmms(&prediction(input)?, &letter(input)?.to_string())))
    }),
    Entry::item("lmms.mmbench", lmms_mcq),
    Entry::item("lmms.extract_mcq", lmms_mcq),
];

pub(super) fn read(input: &Value, version: Version) -> Result<Option<char>, RawError> {
    Ok(extract(&prediction(input)?, &choices(input)?, version))
}

fn versions(input: &Value) -> Result<Value, RawError> {
    Ok(json!({
        "before_2025_08": read(input, Version::Before)?,
        "from_2025_08": read(input, Version::August2025)?,
        "from_2026_06": read(input, Version::June2026)?,
    }))
}

fn mcq_item(input: &Value, version: Version) -> Result<Value, RawError> {
    let extracted = read(input, version)?;
    Ok(json!({ "extracted": extracted, "score": f64::from(extracted == Some(letter(input)?)) }))
}

pub(super) fn llava_sqa(input: &Value) -> Result<Value, RawError> {
    let found = sqa::llava(&prediction(input)?);
    let listed = choices(input)?;
    let right =
        found.is_some_and(|letter| listed.contains_key(&letter)) && found == Some(letter(input)?);
    let parsed = found.map_or_else(|| "FAILED".to_owned(), String::from);
    Ok(json!({ "parsed": parsed, "score": f64::from(right) }))
}

fn mmmu_item(input: &Value, parser: Parser) -> Result<Value, RawError> {
    if input.get("question_type").and_then(Value::as_str) == Some("open") {
        return mmmu_open_item(input);
    }
    let options: Vec<String> = choices(input)?.into_values().collect();
    let found = mmmu::letter(&prediction(input)?, &options, parser);
    Ok(json!({ "parsed": found.map_or_else(|| "RANDOM".to_owned(), String::from) }))
}

fn mmmu_open_item(input: &Value) -> Result<Value, RawError> {
    let prediction = prediction(input)?;
    let mut parsed: Vec<String> =
        mmmu_open::meanings(&prediction).iter().map(Meaning::text).collect();
    parsed.sort_unstable();
    let right = mmmu_open::right(&prediction, &answers(input)?);
    Ok(json!({ "parsed": parsed, "score": f64::from(right) }))
}

/// An open question is turned into one with two options, the gold answer and "Other Answers".
fn vlmevalkit_mmmu(input: &Value) -> Result<Value, RawError> {
    let mut listed = choices(input)?;
    let gold = if listed.contains_key(&'A') {
        letter(input)?
    } else {
        let (options, gold) = mmmu::closed(&answer(input)?);
        listed.extend(options);
        gold
    };
    let extracted = extract(&prediction(input)?, &listed, Version::June2026);
    Ok(json!({ "extracted": extracted, "score": f64::from(extracted == Some(gold)) }))
}

/// lmms-eval's parser since April 2026, over the listed options or A to D.
fn lmms_mcq(input: &Value) -> Result<Value, RawError> {
    let mut letters: Vec<char> = choices(input)?.into_keys().collect();
    if letters.is_empty() {
        letters = (0..4).filter_map(capital).collect();
    }
    let found = mcq::extract(&prediction(input)?, &letters);
    let extracted = found.map_or_else(String::new, String::from);
    if input.get("answer").is_none() {
        return Ok(json!({ "extracted": extracted }));
    }
    Ok(json!({ "extracted": extracted, "score": f64::from(found == Some(letter(input)?)) }))
}
