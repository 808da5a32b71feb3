//! Scores multiple-choice answers about images and videos: which option letter a reply names.

use super::JudgeError;
use super::fields::{answers, choices, letter, numbered_letter, text, texts};
use super::rule::Rule;
use super::settings::{Reader, Rules};
use crate::rules::mmmu::Parser;
use crate::rules::options::extract;
use crate::rules::{ai2d, lvb, mcq, mlvu, mmmu, mmmu_open, mmstar, mvbench, seed, sqa, videomme};
use crate::text::strip;
use crate::{Fields, Grade};

pub(super) fn grade(
    rule: Rule,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    match rule {
        Rule::Options => {
            let found = extract(prediction, &choices(fields)?, rules.extract);
            Ok(of_letter(found, letter(fields, "answer")?))
        }
        Rule::LlavaSqa => {
            let listed = choices(fields)?;
            let found = sqa::llava(prediction);
            let gold = letter(fields, "answer")?;
            let right =
                found.is_some_and(|found| listed.contains_key(&found)) && found == Some(gold);
            Ok(graded(right, found.map(String::from)))
        }
        Rule::LmmsSqa => {
            Ok(graded(sqa::lmms(prediction, letter(fields, "answer")?), whole(prediction)))
        }
        Rule::LlavaSeed => {
            let gold = letter(fields, "answer")?.to_string();
            Ok(graded(seed::llava(prediction, &gold), whole(prediction)))
        }
        Rule::LmmsSeed => {
            let gold = letter(fields, "answer")?.to_string();
            Ok(graded(seed::lmms(prediction, &gold), whole(&seed::lmms_reading(prediction))))
        }
        Rule::LmmsAi2d => {
            let right = ai2d::lmms(prediction, letter(fields, "answer")?);
            Ok(graded(right, whole(&ai2d::filtered(prediction))))
        }
        Rule::LmmsMmbench => {
            let letters: Vec<char> = choices(fields)?.into_keys().collect();
            Ok(of_letter(mcq::extract(prediction, &letters), letter(fields, "answer")?))
        }
        Rule::LmmsMmStar => mm_star(rules, fields, prediction),
        Rule::Mmmu(parser) => mmmu_item(parser, fields, prediction),
        Rule::VlmEvalKitMmmu => vlmevalkit_mmmu(rules, fields, prediction),
        _ => video(rule, rules, fields, prediction),
    }
}

fn video(
    rule: Rule,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    let current = rules.video == Reader::Current;
    match rule {
        Rule::VideoMme => {
            let gold = letter(fields, "answer")?.to_string();
            let read = if current { videomme::current } else { videomme::legacy };
            let found = read(prediction);
            Ok(graded(found == gold, whole(&found)))
        }
        Rule::Mlvu => {
            let gold = letter(fields, "answer")?.to_string();
            let read = if current { mlvu::current } else { mlvu::legacy };
            let found = read(prediction);
            Ok(graded(found == gold, whole(&found)))
        }
        Rule::MvBench => {
            let candidates = texts(fields, "candidates")?;
            let gold = mvbench::gold_letter(&candidates, text(fields, "answer")?);
            let right = gold.is_some_and(|gold| mvbench::right(prediction, gold));
            Ok(graded(right, whole(&mvbench::reading(prediction))))
        }
        _ => Ok(of_letter(lvb::letter(prediction), numbered_letter(fields, "correct_choice")?)),
    }
}

fn graded(right: bool, reading: Option<String>) -> Grade {
    Grade { score: f64::from(right), reading }
}

fn of_letter(found: Option<char>, gold: char) -> Grade {
    graded(found == Some(gold), found.map(String::from))
}

/// The trimmed text as the reading; `None` if it is blank.
fn whole(text: &str) -> Option<String> {
    Some(strip(text).to_owned()).filter(|text| !text.is_empty())
}

fn mm_star(rules: &Rules, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
    let gold = letter(fields, "answer")?;
    if rules.mmstar == Reader::Legacy {
        return Ok(graded(mmstar::official(prediction, &gold.to_string()), whole(prediction)));
    }
    Ok(of_letter(mcq::extract(prediction, &['A', 'B', 'C', 'D']), gold))
}

fn is_open(fields: &Fields) -> Result<bool, JudgeError> {
    Ok(text(fields, "question_type")? == "open")
}

/// Scores an MMMU answer. Where the public code picks a random option, the answer counts as wrong
/// here, so that scores are reproducible.
fn mmmu_item(parser: Parser, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
    if is_open(fields)? {
        let right = mmmu_open::right(prediction, &answers(fields)?);
        let meanings = mmmu_open::meanings(prediction);
        let reading = meanings.iter().map(mmmu_open::Meaning::text).collect::<Vec<_>>().join(" | ");
        return Ok(graded(right, whole(&reading)));
    }
    let options: Vec<String> = choices(fields)?.into_values().collect();
    Ok(of_letter(mmmu::letter(prediction, &options, parser), letter(fields, "answer")?))
}

/// VLMEvalKit turns an open question into one with two options, the gold answer and "Other Answers".
fn vlmevalkit_mmmu(rules: &Rules, fields: &Fields, prediction: &str) -> Result<Grade, JudgeError> {
    if !is_open(fields)? {
        let found = extract(prediction, &choices(fields)?, rules.extract);
        return Ok(of_letter(found, letter(fields, "answer")?));
    }
    // The toolkit searches for the whole cell, which for several golds is one list literal; here
    // any of the golds is accepted.
    let mut best = Grade { score: 0.0, reading: None };
    for gold in answers(fields)? {
        let (options, letter) = mmmu::closed(&gold);
        let grade = of_letter(extract(prediction, &options, rules.extract), letter);
        if grade.score > best.score || best.reading.is_none() {
            best = grade;
        }
    }
    Ok(best)
}
