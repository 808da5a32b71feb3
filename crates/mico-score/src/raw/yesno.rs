//! JSON front end of the yes/no parsers on single items.

use serde_json::{Value, json};

use super::input::{prediction, text};
use super::{Entry, RawError};
use crate::rules::vqa::Stop;
use crate::rules::yesno;
use crate::text::{lower, strip};

pub(super) const RAW: &[Entry] = &[
    Entry::item("llava.pope", |input| label(input, yesno::llava_pope)),
    Entry::item("vlmevalkit.yorn", |input| label(input, yorn)),
    Entry::item("vlmevalkit.yorn.before_2025_05", |input| {
        label(input, |text| yesno::yorn(text, Stop::BeforeNoDigit))
    }),
    Entry::item("vlmevalkit.pope", |input| label(input, yorn)),
    Entry::item("vlmevalkit.mme", |input| label(input, yorn)),
    Entry::item("vlmevalkit.hallusion", |input| label(input, yorn)),
    Entry::item("mme.official", |input| label(input, yesno::mme_official)),
    Entry::item("lmms.mme", |input| label(input, yesno::lmms_mme)),
    Entry::item("lmms.pope", |input| label(input, yesno::lmms_pope)),
];

pub(super) fn yorn(text: &str) -> &'static str {
    yesno::yorn(text, Stop::BetweenNoDigits)
}

/// The label that was read, and the score if the input has a gold answer.
fn label<T: AsRef<str>>(input: &Value, read: fn(&str) -> T) -> Result<Value, RawError> {
    let label = read(&prediction(input)?);
    if input.get("answer").is_none() {
        return Ok(json!({ "label": label.as_ref() }));
    }
    let gold = lower(strip(&text(input, "answer")?));
    Ok(json!({ "label": label.as_ref(), "score": f64::from(lower(label.as_ref()) == gold) }))
}
