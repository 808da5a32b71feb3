//! JSON front end of the aggregates: lets scores computed elsewhere be compared with ours by name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Acc, Suite};
use crate::Track;
use crate::raw::{Entry, RawError, fault};
use crate::text::round;

/// The aggregates that can be called by name, for the table in [`crate::raw`].
pub(crate) const RAW: &[Entry] = &[Entry { scorer: "paper.acc", kind: "set", rule: acc }];

/// Acc of a model's tracks, and Rel to the unpruned model's if `vanilla_tracks` is given. If a
/// track is missing, both are null and the missing tracks are listed.
fn acc(input: &Value) -> Result<Value, RawError> {
    let values = tracks(input, "tracks")?;
    let suite = suite(&values);
    let acc = suite.acc(&values);
    let mut out = json!({ "acc": acc.value, "rel_pct": null });
    if input.get("vanilla_tracks").is_some_and(|given| !given.is_null()) {
        let unpruned = suite.acc(&tracks(input, "vanilla_tracks")?);
        out["rel_pct"] = json!(acc.relative_to(&unpruned));
    }
    // Rounded as the paper prints them: the video tables have one more digit.
    let digits = if suite == Suite::Video { 2 } else { 1 };
    for (name, digits) in [("acc", digits), ("rel_pct", 1)] {
        out[format!("printed_{name}")] =
            json!(out[name].as_f64().map(|value| round(value, digits)));
    }
    if !acc.missing.is_empty() {
        out["missing"] = json!(acc.missing);
    }
    Ok(out)
}

/// The suite with the smallest share of missing tracks; the first one in case of a tie.
fn suite(values: &BTreeMap<Track, f64>) -> Suite {
    let [first, others @ ..] = Suite::ALL;
    let missing = |suite: Suite| Acc::over(suite.tracks(), values).missing.len();
    let share = |suite: Suite| (missing(suite) * 100) / suite.tracks().len();
    others.into_iter().fold(first, |best, next| if share(next) < share(best) { next } else { best })
}

/// Reads an object of track names and values; an unknown track name is an error.
fn tracks(input: &Value, field: &str) -> Result<BTreeMap<Track, f64>, RawError> {
    let named = numbers(input, field)?.into_iter().map(|(name, value)| {
        let track = name.parse().map_err(|_| RawError::Field {
            field: field.to_owned(),
            found: name,
            accepted: "names of tracks",
        })?;
        Ok((track, value))
    });
    named.collect()
}

/// Reads an object of names and numbers; a name whose value is null counts as absent.
fn numbers(input: &Value, field: &str) -> Result<BTreeMap<String, f64>, RawError> {
    let unfit = |found: Option<&Value>| fault(field, found, "numbers by name");
    let given: &Map<String, Value> =
        input.get(field).and_then(Value::as_object).ok_or_else(|| unfit(input.get(field)))?;
    let present = given.iter().filter(|(_, value)| !value.is_null());
    let read = present.map(|(name, value)| {
        value.as_f64().map(|number| (name.clone(), number)).ok_or_else(|| unfit(Some(value)))
    });
    read.collect()
}
