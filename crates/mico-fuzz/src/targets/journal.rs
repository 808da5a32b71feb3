//! What measurements leave on disk and read again: manifests, records, journals of runs, summaries.

use std::path::Path;

use mico_bench::{Journal as Runs, Quality};
use mico_eval::html::{RunResults, report};
use mico_eval::{EvaluationResult, Journal, Manifest};

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "journal",
    about: "run.json and records.jsonl of evaluations, bench.jsonl of measurements, summary.json",
    run,
    tokens: &[
        "key",
        "run",
        "track",
        "item",
        "setting",
        "fields",
        "answer",
        "failure",
        "title",
        "version",
        "model",
        "fingerprint",
        "argv",
        "asked",
        "source",
        "tracks",
        "settings",
        "refused",
        "limit",
        "shard",
        "finished",
        "damaged",
        "items",
        "dropped",
        "scoring",
        "label",
        "pruning",
        "budget",
        "bench",
        "configuration",
        "about",
        "round",
        "session",
        "sample",
        "facts",
        "message",
        "rows",
        "rel",
        "value",
        "tokens",
        "1/2",
        "unpruned",
        "mico T=64",
        "blank",
        "\n",
        "{\"key\":\"",
    ],
    short_run: 500,
};

/// The most answers that are scored: intervals are drawn from two thousand resamples of them.
const SCORED: usize = 40;

fn run(data: &[u8], seen: &mut Seen) {
    with_folder(data, "records.jsonl", |folder| {
        evaluation(folder, seen);
        measurement(folder, seen);
    });
}

fn evaluation(folder: &Path, seen: &mut Seen) {
    let manifest = seen.result("manifest", Manifest::read(folder));
    let Some(journal) = seen.result("records", Journal::read(folder)) else { return };
    let records = journal.records();
    assert_eq!(records.len(), journal.len());
    let Some(manifest) = manifest.filter(|_| records.len() <= SCORED) else { return };
    assert_eq!(manifest.matches(&manifest), Ok(()));
    for partial in [false, true] {
        let merged = EvaluationResult::merged(&[folder.to_owned()], partial);
        let Some(merged) = seen.result("merged", merged) else { continue };
        let tables = merged.markdown();
        let steering = tables.chars().find(|c| c.is_control() && *c != '\n');
        assert!(!tables.is_empty() && steering.is_none(), "the tables hold {steering:?}");
        let document = serde_json::to_string(&merged.document());
        assert!(document.is_ok(), "{document:?}");
        seen.accepted(format_args!("{} rows", merged.summary.rows.len()));
    }
    let runs = [RunResults { manifest: &manifest, journal: &journal, picture: &|_| None }];
    if let Some(report) = seen.result("report", report(&runs, 3)) {
        assert!(report.html.ends_with("</html>\n") || report.html.ends_with("</html>"));
        assert!(!report.html.contains('\u{1b}'), "an escape in the report");
    }
}

fn measurement(folder: &Path, seen: &mut Seen) {
    let journal = folder.join("bench.jsonl");
    if journal.is_file() {
        let opened = Runs::open(&folder.join("bench.json"), true);
        let before = std::fs::read(&journal).unwrap_or_default();
        if seen.result("bench", opened).is_some() {
            // What was cut off is no whole line, and a second reading finds nothing to cut.
            assert!(
                seen.result("bench again", Runs::open(&folder.join("bench.json"), true)).is_some()
            );
            assert_eq!(std::fs::read(&journal).unwrap_or_default(), before);
        }
    }
    let summary = folder.join("summary.json");
    if summary.is_file() {
        let _ = seen.result("quality", Quality::read(&summary));
    }
}
