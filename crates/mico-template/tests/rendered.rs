//! Renders as jinja2 renders: `fixtures/chat_templates.py` made the expected texts.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_template::{Functions, Limits, Template, TemplateError, TemplateErrorKind};
use serde_json::Value;

mod common;

fn render(source: &str, values: &Value) -> Result<String, TemplateError> {
    let now = |format: &str| format!("now({format})");
    let functions = Functions { strftime_now: Some(&now) };
    Template::compile(source, Limits::default())?.render(values, &functions)
}

/// What differs from the expected text (null: any error), if something does.
fn difference(source: &str, values: &Value, expected: &Value) -> Option<String> {
    let found = render(source, values);
    let same = match (&found, expected.as_str()) {
        (Ok(found), Some(expected)) => found == expected,
        (found, None) => found.is_err(),
        _ => false,
    };
    (!same).then(|| format!("{source:?}\n  expected {expected}\n  found    {found:?}\n"))
}

fn report(differences: &[String], cases: usize) {
    let count = differences.len();
    let shown = differences.iter().take(100).cloned().collect::<String>();
    assert!(differences.is_empty(), "{count} of {cases} differ:\n{shown}");
}

fn compare(data: &Value, key: &str, known: impl Fn(&TemplateError) -> bool) {
    let cases = data[key].as_array().unwrap();
    assert!(cases.len() >= 400);
    let differences: Vec<String> = cases
        .iter()
        .filter(|case| {
            let refused = render(case[0].as_str().unwrap(), &data["values"]);
            !refused.is_err_and(|error| known(&error))
        })
        .filter_map(|case| difference(case[0].as_str().unwrap(), &data["values"], &case[1]))
        .collect();
    report(&differences, cases.len());
}

#[test]
fn every_construct_renders_as_jinja2_renders_it() {
    compare(&common::rendered(), "cases", |_| false);
}

#[test]
fn random_templates_render_as_jinja2_renders_them() {
    compare(&common::rendered(), "random", |_| false);
}

#[test]
fn templates_of_published_kinds_render_as_jinja2_renders_them() {
    let data = common::rendered();
    let sources = common::templates();
    let cases = data["templates"].as_array().unwrap();
    assert!(cases.len() >= 100 && sources.len() * 8 == cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let name = case[0].as_str().unwrap();
        let conversation = &data["conversations"][case[1].as_str().unwrap()];
        let difference = difference(&sources[name], conversation, &case[2]);
        differences.extend(difference.map(|text| format!("{name} on {}: {text}", case[1])));
    }
    report(&differences, cases.len());
}

/// Compares a file that `fixtures/chat_templates.py --random N --out FILE` wrote.
#[test]
#[ignore = "needs a file that is not committed, named by MICO_TEMPLATE_CASES"]
fn many_random_templates() {
    let path = std::env::var("MICO_TEMPLATE_CASES").unwrap();
    let data = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    // Integers beyond 64 bits and what is left out on purpose are no differences.
    compare(&data, "cases", |error| {
        matches!(
            error.kind(),
            TemplateErrorKind::Unsupported { .. } | TemplateErrorKind::Limit { .. }
        )
    });
}
