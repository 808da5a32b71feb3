//! `mico diagnose`, as a user calls it.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{json, mico, refused};
use image::{GrayImage, Luma, Rgb, RgbImage};

const SIDE: u32 = 112;
const SQUARE: u32 = 40;

/// Pictures with a red or blue square each, their label maps, objects and queries.
fn data(root: &Path, pictures: u32) {
    for folder in ["images/sub", "labels/sub"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let (mut objects, mut queries) = (String::new(), String::new());
    for number in 0..pictures {
        let red = number % 2 == 0;
        let (x, y) = (number * 11 % 70, number * 17 % 70);
        let mut picture = RgbImage::from_pixel(SIDE, SIDE, Rgb([120, 130, 125]));
        let mut labels = GrayImage::new(SIDE, SIDE);
        // A row of pixels without a label.
        (0..SIDE).for_each(|x| labels.put_pixel(x, 0, Luma([255])));
        for (dx, dy) in (0..SQUARE).flat_map(|dx| (0..SQUARE).map(move |dy| (dx, dy))) {
            let color = if red { [200, 30, 30] } else { [40, 70, 210] };
            picture.put_pixel(x + dx, y + dy, Rgb(color));
            labels.put_pixel(x + dx, y + dy, Luma([if red { 1 } else { 2 }]));
        }
        let name = if number % 3 == 0 { format!("sub/{number}") } else { number.to_string() };
        picture.save(root.join(format!("images/{name}.png"))).unwrap();
        labels.save(root.join(format!("labels/{name}.png"))).unwrap();
        let category = if red { "red square" } else { "blue square" };
        let mark = format!("\"image\":\"{name}.png\",\"box\":[{x},{y},{SQUARE},{SQUARE}]");
        writeln!(objects, "{{{mark},\"category\":\"{category}\"}}").unwrap();
        writeln!(queries, "{{{mark},\"question\":\"Where is the {category}?\"}}").unwrap();
    }
    fs::write(root.join("objects.jsonl"), objects).unwrap();
    fs::write(root.join("queries.jsonl"), queries).unwrap();
}

#[test]
fn a_folder_is_checked_in_every_way_it_has_data_for() {
    let root = tempfile::tempdir().unwrap();
    data(root.path(), 20);
    // What is wrong with single pictures is named, and the rest goes on.
    fs::write(root.path().join("images/1.png"), "no picture").unwrap();
    GrayImage::new(5, 5).save(root.path().join("labels/2.png")).unwrap();
    let more = "{\"image\":\"4.png\",\"box\":[500,0,9,9],\"question\":\"Where?\"}\n";
    let queries = fs::read_to_string(root.path().join("queries.jsonl")).unwrap();
    fs::write(root.path().join("queries.jsonl"), queries + more).unwrap();
    let (data, out) = (root.path().display().to_string(), root.path().join("out"));
    let out_text = out.display().to_string();
    let base = ["diagnose", "--data", &data, "--classes", "3", "--budget", "32"];
    let found = json(mico(&base).args(["--out", &out_text, "--threads", "2"]));

    let information = &found["information"];
    assert_eq!(information["classes"], 3);
    let halves = information["pictures"].as_array().unwrap();
    assert_eq!(halves.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 18);
    assert_eq!(information["positions"][0]["n"], 576);
    assert!(information["positions"][0]["rho"]["value"].is_f64());
    let damaged = information["damaged"].as_array().unwrap();
    let named: Vec<&str> = damaged.iter().map(|each| each["picture"].as_str().unwrap()).collect();
    assert!(named.len() == 2 && named.contains(&"1.png") && named.contains(&"2.png"), "{named:?}");
    assert!(information["damaged"].to_string().contains("label map of 5x5"));

    let reliability = &found["reliability"];
    assert_eq!((&reliability["categories"], &reliability["unseen"]), (&2.into(), &0.into()));
    assert_eq!(reliability["signal"], "attention of the class token");
    let linear = &reliability["probes"][0];
    assert_eq!(
        (linear["heads"].as_array().unwrap().len(), &linear["clean"]["value"]),
        (3, &1.0.into())
    );
    assert_eq!(linear["accuracy"].as_array().unwrap().len(), 8);
    assert_eq!(linear["concordance"].as_array().unwrap().len(), 4);

    let relevance = &found["relevance"];
    assert_eq!(relevance["queries"], 19);
    assert_eq!(relevance["deciles"].as_array().unwrap().len(), 10);
    assert_eq!(relevance["damaged"].as_array().unwrap().len(), 2);
    for file in ["json", "md", "svg", "png"] {
        assert!(out.join(format!("diagnose.{file}")).is_file(), "{file}");
    }
    let positions = fs::read_to_string(out.join("diagnose-positions.csv")).unwrap();
    assert_eq!(positions.lines().count(), 577);
    let svg = fs::read_to_string(out.join("diagnose.svg")).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"));

    // One thread finds what two do.
    let again = json(mico(&base).args(["--threads", "1"]));
    for check in ["information", "reliability", "relevance"] {
        assert_eq!(again[check], found[check], "{check}");
    }
    // Every pixel counted in place of the token's majority.
    let pixels = ["--checks", "information", "--label-count", "pixels", "--limit", "10"];
    let pixels = json(mico(&base).args(pixels));
    assert_eq!(pixels["information"]["label_count"], "pixels");
    assert!(pixels.get("relevance").is_none());
}

#[test]
fn scenes_are_the_example_that_needs_no_data() {
    let call = ["diagnose", "--suite", "tiny", "--limit", "12", "--seed", "3"];
    let found = json(&mut mico(&call));
    assert_eq!(found["information"]["classes"], 49);
    assert_eq!(found["information"]["pictures"], serde_json::json!([6, 6]));
    assert_eq!(found["reliability"]["splits"]["pictures"], serde_json::json!([10, 1, 1]));
    assert_eq!(found["relevance"]["pictures"], 12);
    assert!(found["relevance"]["rho"]["value"].as_f64().unwrap() > 0.0);
    let text = mico(&call).args(["--checks", "relevance"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("## Relevance") && !text.contains("## Information"), "{text}");
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.display().to_string();
    let misused: [(&[&str], &str); 9] = [
        (&[], "--suite"),
        (&["--suite", "huge"], "huge"),
        (&["--suite", "tiny", "--data", &empty], "--data"),
        (&["--suite", "tiny", "--checks", "colour"], "colour"),
        (&["--suite", "tiny", "--limit", "0"], "--limit"),
        (&["--suite", "tiny", "--budget", "0"], "budget"),
        (&["--data", &empty, "--void", "x"], "none"),
        (&["--data", &empty, "--classes", "1"], "--classes"),
        (&["--suite", "tiny", "--label-count", "half"], "half"),
    ];
    for (call, named) in misused {
        let message = refused(mico(&["diagnose"]).args(call), 2);
        assert!(message.contains(named), "{call:?}: {message}");
    }
    let missing = root.path().join("no/such").display().to_string();
    let failed: [(&[&str], &str); 4] = [
        (&["--data", &missing], "is no folder"),
        (&["--data", &empty], "objects.jsonl"),
        (&["--data", &empty, "--checks", "relevance"], "queries.jsonl"),
        (&["--suite", "tiny", "--limit", "2", "--checks", "reliability"], "at least 3"),
    ];
    for (call, named) in failed {
        let message = refused(mico(&["diagnose"]).args(call), 1);
        assert!(message.contains(named), "{call:?}: {message}");
    }
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let files: [(&str, &str, &str); 8] = [
        ("objects.jsonl", "", "0 pictures with objects"),
        ("objects.jsonl", "{\"image\":", "line 1"),
        ("queries.jsonl", "\n\n", "no picture with a query"),
        ("queries.jsonl", "{\"image\":\"a.png\",\"box\":[0,0,-1,2],\"question\":\"?\"}", "line 1"),
        (
            "queries.jsonl",
            "{\"image\":\"../a.png\",\"box\":[0,0,1,2],\"question\":\"?\"}",
            "images/",
        ),
        ("queries.jsonl", "{\"image\":\"a.png\",\"box\":[0,0,1,2],\"question\":\"?\"}", "a.png"),
        ("queries.jsonl", "\u{1}\u{7f}\u{ff}", "line 1"),
        ("labels/a.txt", "", "images"),
    ];
    for (name, content, named) in files {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        let data = root.path().display().to_string();
        let message = refused(&mut mico(&["diagnose", "--data", &data]), 1);
        assert!(message.contains(named), "{name} {content:?}: {message}");
    }
    // Labels beyond the classes leave no picture.
    let root = tempfile::tempdir().unwrap();
    data(root.path(), 4);
    let data = root.path().display().to_string();
    let call = ["diagnose", "--data", &data, "--checks", "information", "--void", "none"];
    let message = refused(&mut mico(&call), 1);
    assert!(message.contains("label 255, accepted: 0 to 181"), "{message}");
}
