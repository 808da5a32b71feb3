//! Predictions made elsewhere, from the committed files.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;

use common::data;
use mico_data::{Error, Form, open, predictions};
use mico_score::Track;

const REPLIES: [&str; 6] = ["Yes", "No.", "None", "", "He said \"yes\"\nand left", "是的\tyes"];

#[test]
fn every_form_gives_the_same_replies() {
    for (name, form) in [
        ("POPE.xlsx", Form::Table),
        ("POPE.tsv", Form::Table),
        ("POPE.csv", Form::Table),
        ("POPE.json", Form::Table),
        ("POPE.jsonl", Form::Table),
        ("20260101_samples_pope.jsonl", Form::SampleLog),
        ("records.jsonl", Form::Records),
    ] {
        let found = predictions(&data("predictions").join(name)).unwrap();
        assert_eq!(found.form, form, "{name}");
        let rows: Vec<(&str, &str)> =
            found.rows().iter().map(|row| (row.id.as_str(), row.text.as_str())).collect();
        let ids = ["0", "1", "2", "3", "4", "5"];
        assert_eq!(rows, ids.into_iter().zip(REPLIES).collect::<Vec<_>>(), "{name}");
        let category = found.rows()[0].fields.get("category");
        assert!(
            form != Form::Table || category.and_then(|c| c.as_str()) == Some("random"),
            "{name}"
        );
    }
}

#[test]
fn tables_are_joined_by_index() {
    let found = predictions(&data("predictions/POPE.xlsx")).unwrap();
    let samples = open(&data("vlmevalkit"), Track::Pope).unwrap().samples().unwrap();
    let joined: Vec<String> =
        samples.map(|sample| found.find(&sample.unwrap()).unwrap().text.clone()).collect();
    assert_eq!(joined, REPLIES);
}

#[test]
fn answers_with_repeated_ids_are_joined_by_prompt() {
    let found = predictions(&data("predictions/mme_answers.jsonl")).unwrap();
    assert_eq!(found.form, Form::LlavaAnswers);
    // The file holds the answers in another order than the questions.
    assert_eq!(found.rows()[0].text, "No");
    let samples = open(&data("llava"), Track::Mme).unwrap().samples().unwrap();
    let joined: Vec<String> =
        samples.map(|sample| found.find(&sample.unwrap()).unwrap().text.clone()).collect();
    assert_eq!(joined, ["Yes", "No", "Yes", "No", "Yes", "No", "Yes", "No"]);
}

#[test]
fn logs_are_joined_by_number_if_the_question_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("pope.jsonl");
    let lines = [
        r#"{"doc_id": 0, "doc": {"question": "Is there a blue square?"}, "filtered_resps": ["a"], "target": "yes"}"#,
        r#"{"doc_id": 1, "doc": {"question": "Is there a dog?"}, "filtered_resps": ["b"], "target": "no"}"#,
        r#"{"doc_id": 2, "doc": {}, "resps": [["c"]], "target": "yes"}"#,
    ];
    fs::write(&log, lines.join("\n")).unwrap();
    let found = predictions(&log).unwrap();
    let samples = open(&data("lmms"), Track::Pope).unwrap().samples().unwrap();
    let joined: Vec<Option<String>> =
        samples.map(|sample| found.find(&sample.unwrap()).map(|p| p.text.clone())).collect();
    let expected = [Some("a"), None, Some("c"), None, None, None].map(|t| t.map(str::to_owned));
    assert_eq!(joined, expected);
}

#[test]
fn logs_of_tables_are_joined_by_the_documents_own_id() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("pope.jsonl");
    let line = r#"{"doc_id": 9, "doc": {"index": 3}, "filtered_resps": "c", "target": "yes"}"#;
    fs::write(&log, line).unwrap();
    let found = predictions(&log).unwrap();
    let samples = open(&data("vlmevalkit"), Track::Pope).unwrap().samples().unwrap();
    let ids = samples.map(Result::unwrap).filter(|sample| found.find(sample).is_some());
    assert_eq!(ids.map(|sample| sample.id).collect::<Vec<_>>(), ["3"]);
}

#[test]
fn a_bad_file_is_named_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "a.jsonl",
            "{\"item\": \"1\", \"answer\": \"x\"}\n{\"item\": \"1\", \"answer\": \"y\"}",
            "two predictions for item '1'",
        ),
        ("b.jsonl", "{\"item\": \"1\", \"answer\": \"x\"}\n{\"item\"", "row 2: not a JSON object"),
        ("c.jsonl", "{\"a\": 1}", "rows have the fields a: accepted are index + prediction"),
        ("d.tsv", "index\tprediction\n1\ta\n1.0\tb\n", "two predictions for item '1'"),
        ("e.tsv", "index\tprediction\n1\n", "row 1: 1 cells, the header has 2"),
        ("f.json", "{}", "a list of objects is expected"),
        ("g.json", "[1]", "row 1: not an object"),
        ("h.txt", "", "file ending is txt: accepted are xlsx, tsv, csv, json, jsonl"),
        ("i.jsonl", "", "no predictions"),
        ("j.xlsx", "PK\u{3}\u{4}", "j.xlsx: "),
        ("k.jsonl", "{\"item\": {}, \"answer\": \"x\"}", "row 1: 'item' is missing or is no text"),
        (
            "l.jsonl",
            "{\"question_id\": 1, \"prompt\": \"p\", \"text\": \"x\"}\n{\"question_id\": 1, \"prompt\": \"p\", \"text\": \"y\"}",
            "two predictions for item '1'",
        ),
    ];
    for (name, content, message) in cases {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let error = predictions(&path).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains(name), "{name}: {error}");
        assert!(!error.contains('\n'), "{name}");
    }
    assert!(matches!(predictions(&folder.path().join("none.tsv")), Err(Error::Io { .. })));
    assert!(predictions(folder.path()).is_err());
}
