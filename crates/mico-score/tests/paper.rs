//! The paper's printed aggregates from its printed columns.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::collections::{BTreeMap, BTreeSet};

use mico_score::{Acc, Suite, Track, raw};
use serde::Deserialize;
use serde_json::Value;

/// What printed columns leave open: they and the aggregate are rounded each for itself.
const ACC_TOLERANCE: f64 = 0.07;
const REL_TOLERANCE: f64 = 0.10;

/// A table of the paper, read by `fixtures/paper_tables.py`.
#[derive(Deserialize)]
struct Table {
    table: String,
    rows: Vec<Row>,
}

/// One of its rows.
#[derive(Deserialize)]
struct Row {
    model: String,
    budget: Option<u32>,
    method: String,
    tracks: BTreeMap<Track, f64>,
    acc: f64,
    rel: Option<f64>,
}

impl Row {
    /// The mean over its columns, which must be all of a suite's or, for the component table, seven.
    fn computed(&self) -> Acc {
        let given: BTreeSet<_> = self.tracks.keys().collect();
        let full = |suite: &Suite| given == suite.tracks().iter().collect::<BTreeSet<_>>();
        match Suite::ALL.iter().find(|suite| full(suite)) {
            Some(suite) => suite.acc(&self.tracks),
            None => Acc::over(&self.tracks.keys().copied().collect::<Vec<_>>(), &self.tracks),
        }
    }

    fn name(&self) -> String {
        format!("{} {:?} {}", self.model, self.budget, self.method)
    }
}

fn tables() -> Vec<Table> {
    serde_json::from_str(include_str!("paper_tables.json")).unwrap()
}

#[test]
fn every_row_of_the_main_sweep_and_video_tables_is_there() {
    let counts: BTreeMap<_, _> =
        tables().into_iter().map(|table| (table.table, table.rows.len())).collect();
    // The text at hand leaves out the long table of the complete LLaVA results, of which only the part for
    // LLaVA-NeXT-13B is repeated in the main text.
    let expected = [
        ("tab:pruning_comparison_next13b_main", 21),
        ("tab:appendix_qwen_intern_full", 88),
        ("tab:layer_sweeps_l15", 108),
        ("tab:layer_sweeps_next", 108),
        ("tab:llava_video", 15),
        ("tab:ablation_stages", 13),
        ("tab:ablation_proxy_substitutions", 6),
        ("tab:ablation_text_rater", 6),
        ("tab:ablation_hyperparams", 10),
        ("tab:ablation_s1_intern", 10),
    ];
    assert_eq!(counts, expected.map(|(name, rows)| (name.to_owned(), rows)).into());
    assert_eq!(expected[..5].iter().map(|(_, rows)| rows).sum::<usize>(), 340);
}

#[test]
fn printed_columns_give_the_printed_acc_and_rel() {
    let tables = tables();
    let all = || tables.iter().flat_map(|table| &table.rows);
    let (mut accs, mut rels) = (0, 0);
    for row in all() {
        let acc = row.computed();
        let value = acc.value.unwrap();
        assert!((value - row.acc).abs() <= ACC_TOLERANCE, "{}: {value} {}", row.name(), row.acc);
        accs += 1;
        let Some(printed) = row.rel else { continue };
        let same = |other: &&Row| {
            other.method == "Vanilla"
                && other.model == row.model
                && other.tracks.keys().eq(row.tracks.keys())
        };
        let unpruned = all().find(same).unwrap().computed();
        let rel = acc.relative_to(&unpruned).unwrap();
        assert!((rel - printed).abs() <= REL_TOLERANCE, "{}: {rel} {printed}", row.name());
        rels += 1;
    }
    assert_eq!((accs, rels), (385, 352));
}

#[test]
fn the_component_table_averages_seven_tracks() {
    let tables = tables();
    let components = tables.iter().find(|table| table.table == "tab:ablation_stages").unwrap();
    assert!(components.rows.iter().all(|row| row.tracks.len() == 7));
    let short = &components.rows[0].tracks;
    let acc = Suite::VlmEvalKit.acc(short);
    assert_eq!((acc.value, acc.missing), (None, vec![Track::MmbenchCn]));
}

#[test]
fn every_vector_is_met() {
    let lines: Vec<_> = include_str!("golden/aggregate.jsonl").lines().collect();
    assert_eq!(lines.len(), 5);
    for line in lines {
        let vector: Value = serde_json::from_str(line).unwrap();
        let out = raw::apply(vector["scorer"].as_str().unwrap(), "set", &vector["in"]).unwrap();
        for field in ["acc", "rel_pct"] {
            let (found, expected) =
                (out[field].as_f64().unwrap(), vector["out"][field].as_f64().unwrap());
            assert!(
                (found - expected).abs() < 1e-6,
                "{}: {field} {found} {expected}",
                vector["id"]
            );
        }
    }
}

#[test]
fn aggregates_on_json_name_what_is_missing_and_refuse_what_is_not_theirs() {
    let video =
        serde_json::json!({"videomme": 60, "mvbench": 50, "longvideobench": 40, "mlvu": null});
    let out = raw::apply("paper.acc", "set", &serde_json::json!({"tracks": video})).unwrap();
    assert_eq!(
        out,
        serde_json::json!({
            "acc": null, "rel_pct": null, "printed_acc": null, "printed_rel_pct": null, "missing": ["mlvu"]
        })
    );
    let tasks = serde_json::json!({"task_pct": {"a": 80.0, "b": 50.0, "c": 35.0}});
    let out = raw::apply("paper.mvbench_mean", "set", &tasks).unwrap();
    assert_eq!(out, serde_json::json!({"mean_pct": 55.0}));
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"tracks": {"unheard": 1.0}}),
        serde_json::json!({"tracks": {"gqa": "high"}}),
        serde_json::json!([]),
    ] {
        assert!(raw::apply("paper.acc", "set", &bad).is_err(), "{bad}");
    }
}
