//! Documents made of runs that were never asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use mico_engine::Setting;
use serde_json::json;

use super::*;
use crate::item::DamagedRow;
use crate::manifest::{RefusedSetting, SourceEntry};
use crate::record::{Record, RunKey, StageSeconds};
use crate::scorer::Scorer;
use crate::scoring::{Scoring, TrackSpec};
use crate::shard::Shard;

const ODD: &str = "<script>alert(\"x\")</script> 'q' \u{7}\u{202e}";

fn run(settings: Vec<Condition>, tracks: &[&str]) -> Manifest {
    let track = |name: &&str| TrackSpec {
        name: (*name).to_owned(),
        scoring: Scoring::Scenes { scorer: Scorer::Exact },
    };
    Manifest {
        title: ODD.into(),
        version: "0.1".into(),
        model: format!("model {ODD}"),
        fingerprint: "abc".into(),
        argv: vec!["mico".into(), ODD.into()],
        asked: vec![SourceEntry {
            source: format!("source {ODD}"),
            tracks: tracks.iter().map(track).collect(),
            run: RunKey::new("run"),
            dropped: 3,
            items: Vec::new(),
        }],
        settings,
        refused: vec![RefusedSetting { setting: ODD.into(), budget: Some(1), reason: ODD.into() }],
        limit: None,
        shard: Shard::default(),
        finished: false,
        damaged: vec![DamagedRow { track: "t".into(), reason: ODD.into() }],
    }
}

/// Settings answer right as often as their number says.
fn answered(manifest: &Manifest, items: usize) -> Journal {
    let journal = Journal::in_memory();
    for (number, setting) in manifest.settings.iter().enumerate() {
        for spec in &manifest.asked[0].tracks {
            for position in 0..items {
                let right = (position + number) % 3 != 0;
                let key = format!("{number} {} {position}", spec.name);
                let fields = json!({"answer": "yes", "question": ODD, "choices": {"yes": ODD}});
                let record = Record {
                    key: serde_json::from_value(json!(key)).unwrap(),
                    run: manifest.asked[0].run.clone(),
                    track: spec.name.clone(),
                    item: format!("{position} {ODD}"),
                    position,
                    cluster: position.to_string(),
                    setting: setting.key(),
                    prompt: format!("<image>{ODD}"),
                    answer: if right { "yes".into() } else { ODD.repeat(200) },
                    finish: "end".into(),
                    failure: None,
                    fields: Arc::new(serde_json::from_value(fields).unwrap()),
                    visual: [576, 128, 46],
                    layer_average: 64.0 + number as f64,
                    seconds: StageSeconds {
                        pruning: 0.1,
                        prefill: 0.2,
                        decode: 0.3 + number as f64,
                    },
                };
                journal.append(record).unwrap();
            }
        }
    }
    journal
}

fn html(manifest: &Manifest, items: usize, most: usize) -> Report {
    let journal = answered(manifest, items);
    // The first item of each track has pictures.
    let picture = |key: &RecordKey| key.to_string().ends_with(" 0").then(|| vec![1, 2, 3]);
    let results = RunResults { manifest, journal: &journal, picture: &picture };
    report(&[results], most).unwrap()
}

fn methods() -> Vec<Condition> {
    let base = Setting::default();
    let mut settings = vec![Condition::unpruned(&base), Condition::blank(&base)];
    for tokens in [64, 32] {
        for method in ["mico", "random"] {
            let label = format!("{method} {ODD}");
            settings.push(Condition { label, ..Condition::pruned(method, tokens).unwrap() });
        }
    }
    settings
}

#[test]
fn texts_of_a_run_are_only_texts() {
    let made = html(&run(methods(), &["a", ODD]), 4, 200);
    let text = &made.html;
    assert!(!text.contains("<script") && !text.contains('\u{7}') && !text.contains('\u{202e}'));
    assert!(text.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &#39;q&#39;"));
    assert!(text.contains("more characters]"), "long answers are cut");
    assert!(!text.contains("http:") && !text.contains("https:"));
    assert!(!text.contains("NaN"));
    // An attribute that a quote could have ended early would leave an odd number of them.
    for tag in text.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
}

#[test]
fn everything_has_its_place() {
    let made = html(&run(methods(), &["a", "b"]), 4, 200);
    let text = &made.html;
    let anchors = ["table", "compared", "budgets", "pareto", "counts", "items"];
    for anchor in anchors {
        assert!(text.contains(&format!("id=\"c1-{anchor}\"")), "{anchor}");
    }
    for absent in ["c1-layers", "c1-pools", "c1-parts"] {
        assert!(!text.contains(absent), "{absent}");
    }
    assert!(text.contains("was not finished") && text.contains("1 damaged row"));
    assert!(text.contains("3 rows were left out"));
    assert!(text.contains("576 → 128 → 46"));
    // Six settings, two tracks.
    assert_eq!(made.pictures, 12);
    assert_eq!(text.matches("<img ").count(), 12);
    assert_eq!(text.matches("src=\"data:image/jpeg;base64,AQID\"").count(), 12);
    assert_eq!(made.items, 8);
    let ids: Vec<&str> =
        text.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    ids.iter().for_each(|id| *counts.entry(id).or_default() += 1);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    for link in text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&link), "{link}");
    }
}

#[test]
fn pictures_come_first_and_items_are_bounded() {
    let made = html(&run(methods(), &["a", "b", "c"]), 9, 4);
    assert_eq!((made.items, made.pictures), (4, 18));
    assert_eq!(made.html.matches("<section class=\"item").count(), 4);
    let none = html(&run(methods(), &["a"]), 3, 0);
    assert!(none.items == 0 && !none.html.contains("c1-items"));
}

#[test]
fn blocks_and_pools_become_curves() {
    let base = Setting::default();
    let of = |text: &str| Condition::of(text.parse().unwrap(), &base);
    let mut settings = vec![Condition::unpruned(&base), of("mico-s1 T=32")];
    for layer in 1..4 {
        settings.push(of(&format!("mico T=32 K={layer}")));
        settings.push(of(&format!("mico T=32 K={layer} n=3")));
    }
    let text = html(&run(settings, &["a"]), 4, 10).html;
    assert!(text.contains("id=\"c1-layers\"") && text.contains("id=\"c1-pools\""));
    assert!(text.contains("refinement after block K") && text.contains("Stage 1 alone, T=32"));
    assert!(!text.contains("id=\"c1-budgets\""), "one budget is no curve");
}

#[test]
fn a_run_without_an_answer_is_told_too() {
    let made = html(&run(methods(), &["a"]), 0, 10);
    assert!(made.html.contains("was not finished") && made.items == 0);
    let manifest = Manifest { asked: Vec::new(), settings: Vec::new(), ..run(Vec::new(), &[]) };
    let journal = Journal::in_memory();
    let results = || RunResults { manifest: &manifest, journal: &journal, picture: &|_| None };
    let made = report(&[results(), results()], 10).unwrap();
    assert!(made.html.contains("2 evaluations") && made.html.contains("id=\"c2\""));
    assert!(report(&[], 10).unwrap().html.contains("</html>"));
}
