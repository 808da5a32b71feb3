//! Scores short free-text answers (GQA, TextVQA, ChartQA, DocVQA, OCRBench) and yes/no answers.

use super::JudgeError;
use super::fields::{answers, text};
use super::rule::{Rule, Stack, YesNo};
use super::settings::Rules;
use crate::rules::vqa::Normalizer;
use crate::rules::{chartqa, docvqa, gqa, ocrbench, vqa, yesno};
use crate::text::{lower, strip};
use crate::{Fields, Grade};

pub(super) fn grade(
    rule: Rule,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    let reading = |text: &str| Some(strip(text).to_owned()).filter(|text| !text.is_empty());
    let score = match rule {
        Rule::Gqa(stack) => {
            let equal = match stack {
                Stack::Llava => gqa::llava,
                Stack::VlmEvalKit => gqa::vlmevalkit,
                Stack::Lmms => gqa::lmms,
            };
            f64::from(equal(prediction, text(fields, "answer")?))
        }
        Rule::Vqa(stack) => {
            let normalizer = if stack == Stack::VlmEvalKit {
                Normalizer::VlmEvalKit(rules.vqa)
            } else {
                Normalizer::Llava
            };
            let score = vqa::score(prediction, &answers(fields)?, normalizer);
            return Ok(Grade { score, reading: reading(&vqa::normalize(prediction, normalizer)) });
        }
        Rule::ChartQa(Stack::Lmms) => {
            let right = answers(fields)?.iter().any(|answer| chartqa::relaxed(prediction, answer));
            f64::from(right)
        }
        Rule::ChartQa(_) => f64::from(chartqa::vlmevalkit(prediction, &answers(fields)?)),
        Rule::DocVqa(Stack::Lmms) => docvqa::anls(strip(prediction), &answers(fields)?),
        Rule::DocVqa(_) => docvqa::anls(prediction, &answers(fields)?),
        Rule::OcrBench(stack) => {
            let version =
                if stack == Stack::Lmms { rules.ocrbench } else { ocrbench::Version::Plain };
            f64::from(ocrbench::right(
                prediction,
                &answers(fields)?,
                text(fields, "category")?,
                version,
            ))
        }
        Rule::YesNo(reader) => return yes_no(reader, rules, fields, prediction),
        _ => 0.0,
    };
    Ok(Grade { score, reading: reading(prediction) })
}

fn yes_no(
    reader: YesNo,
    rules: &Rules,
    fields: &Fields,
    prediction: &str,
) -> Result<Grade, JudgeError> {
    let label = match reader {
        YesNo::LlavaPope => yesno::llava_pope(prediction).to_owned(),
        YesNo::VlmEvalKit => lower(yesno::yorn(prediction, rules.vqa)),
        YesNo::MmeOfficial => {
            yesno::mme_official(&prediction.replace(['\t', '\n'], " ")).to_owned()
        }
        YesNo::LmmsMme => yesno::lmms_mme(prediction).to_owned(),
        YesNo::LmmsPope => yesno::lmms_pope(prediction),
    };
    let gold = lower(strip(text(fields, "answer")?));
    let known = label == "yes" || label == "no";
    Ok(Grade { score: f64::from(known && label == gold), reading: known.then_some(label) })
}
