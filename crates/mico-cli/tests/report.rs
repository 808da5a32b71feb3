//! `mico report`, as a user calls it.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;
use std::path::Path;

use common::{json, mico, refused};

/// Nothing is loaded from anywhere, and nothing runs.
fn is_self_contained(html: &str) {
    for outside in
        ["<script", "src=\"http", "href=\"http", "url(", "<link", "@import", "javascript:"]
    {
        assert!(!html.contains(outside), "{outside}");
    }
    let addresses = html.split("src=\"").skip(1);
    assert!(addresses.clone().all(|rest| rest.starts_with("data:image/jpeg;base64,")));
    for open in ["table", "section", "figure", "details", "ul", "dl", "svg", "tbody"] {
        let opened =
            html.matches(&format!("<{open}>")).count() + html.matches(&format!("<{open} ")).count();
        assert_eq!(opened, html.matches(&format!("</{open}>")).count(), "{open}");
    }
    // Every place that is linked to is there.
    for link in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(html.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

fn pictures(folder: &Path) -> usize {
    fs::read_dir(folder.join("pictures")).unwrap().count()
}

#[test]
fn a_run_becomes_a_document_with_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let eval = |more: &[&str]| {
        let base = ["eval", "--suite", "tiny", "--limit", "2", "--budgets", "64,32", "--out", &out];
        json(&mut mico(&[&base[..], more].concat()))
    };
    let plain = folder.path().join("plain").display().to_string();
    let asked = ["--methods", "mico,random", "--pictures", "1"];
    let first = eval(&asked);
    // The first item of each of nine tracks, unpruned and under two methods at two budgets.
    assert_eq!(pictures(folder.path()), 9 * 5);
    let without = json(&mut mico(&[
        "eval",
        "--suite",
        "tiny",
        "--limit",
        "2",
        "--budgets",
        "64,32",
        "--methods",
        "mico,random",
        "--pictures",
        "0",
        "--out",
        &plain,
    ]));
    assert!(!folder.path().join("plain/pictures").exists());
    let values = |document: &serde_json::Value| {
        let rows = document["rows"].as_array().unwrap().iter();
        rows.map(|row| (row["tracks"].clone(), row["acc"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&first), values(&without), "pictures change no answer");

    let said = json(&mut mico(&["report", &out]));
    let file = folder.path().join("report.html");
    assert_eq!(said["report"], file.display().to_string());
    assert_eq!(said["pictures"], 45);
    let html = fs::read_to_string(&file).unwrap();
    is_self_contained(&html);
    assert_eq!(html.matches("<img ").count(), 45);
    assert_eq!(html.matches("<img ").count(), html.matches(" alt=\"").count());
    assert_eq!(html.matches("class=\"item").count() as u64, said["items"].as_u64().unwrap());
    for part in ["Acc and Rel", "Against the budget", "Pareto front", "random", "T = 64", "576"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("no significant difference") || html.contains("is better"));

    // Fewer items, another file, several folders.
    let other = folder.path().join("two.html").display().to_string();
    let said = json(&mut mico(&["report", &out, &plain, "--items", "3", "--out", &other]));
    assert_eq!((said["chapters"].as_u64(), said["items"].as_u64()), (Some(2), Some(6)));
    let html = fs::read_to_string(&other).unwrap();
    is_self_contained(&html);
    assert_eq!(html.matches("class=\"chapter\"").count(), 2);
}

#[test]
fn a_sweep_of_layers_becomes_curves() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let sweep = folder.path().join("sweep.toml");
    fs::write(
        &sweep,
        "title = \"<Layers> & co\"\nsuite = \"tiny\"\nbudgets = [64, 32]\nlimit = 1\n\
         [[setting]]\nlabel = \"S1\"\nmethod = \"mico-s1\"\n\
         [[setting]]\nlabel = \"MiCo\"\nmethod = \"mico\"\nrefine_layers = [1, 2, 3]\n",
    )
    .unwrap();
    let sweep = sweep.display().to_string();
    json(&mut mico(&["eval", "--sweep", &sweep, "--pictures", "0", "--out", &out]));
    json(&mut mico(&["report", &out]));
    let html = fs::read_to_string(folder.path().join("report.html")).unwrap();
    is_self_contained(&html);
    assert!(html.contains("&lt;Layers&gt; &amp; co") && !html.contains("<Layers>"));
    for part in ["refinement after block K", "Stage 1 alone, T=32", "unpruned"] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let missing = folder.path().join("none").display().to_string();
    assert!(refused(&mut mico(&["report", &missing]), 1).contains("none"));
    assert!(refused(&mut mico(&["report", &out]), 1).contains("run.json"));
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(refused(&mut mico(&["report", &file.display().to_string()]), 1).contains("file"));
    fs::write(folder.path().join("run.json"), "{").unwrap();
    assert!(refused(&mut mico(&["report", &out]), 1).contains("run.json"));
    let manifest = r#"{"title":"","version":"0","model":"m","fingerprint":"f","argv":[],"asked":[],
        "settings":[],"limit":null,"shard":"1/1","finished":false}"#;
    fs::write(folder.path().join("run.json"), manifest).unwrap();
    assert!(refused(&mut mico(&["report", &out]), 1).contains("records.jsonl"));
    fs::write(folder.path().join("records.jsonl"), "{\"key\":3}\n").unwrap();
    let message = refused(&mut mico(&["report", &out]), 1);
    assert!(message.contains("records.jsonl line 1"), "{message}");
    fs::write(folder.path().join("records.jsonl"), "").unwrap();
    let nowhere = folder.path().join("no/such/report.html").display().to_string();
    let message = refused(&mut mico(&["report", &out, "--out", &nowhere]), 1);
    assert!(message.contains("--out"), "{message}");
    assert!(!folder.path().join("report.html").exists());
    refused(&mut mico(&["report"]), 2);
}
