//! Files of benchmarks and of predictions, in all layouts.

use std::path::Path;

use mico_data::{Layout, Sample, open_as, predictions};
use mico_eval::{Scoring, TrackSpec};
use mico_score::{Profile, Rules, Track};

use super::Target;
use crate::folder::{sections, with_folder};
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "tables",
    about: "benchmark files (TSV, LLaVA folders, parquet, COCO) and predictions (xlsx, TSV, CSV, JSON, JSON lines)",
    run,
    tokens: &[
        "index",
        "image",
        "question",
        "answer",
        "hint",
        "A",
        "B",
        "C",
        "D",
        "category",
        "l2-category",
        "split",
        "image_path",
        "prediction",
        "question_id",
        "prompt",
        "text",
        "doc_id",
        "doc",
        "filtered_resps",
        "resps",
        "target",
        "item",
        "setting",
        "options",
        "bbox",
        "ref_id",
        "annotations",
        "images",
        "questions",
        "problems",
        "multi-choice question",
        "Yes",
        "No",
        "\t",
        "\r\n",
        "\"\"",
        "\"",
        "[\"",
        "nan",
        "refcoco+_testA",
        "PAR1",
        "dev",
        "test",
        "iVBORw0KGgo=",
        "/9j/4AAQ",
        "None",
        "['a.jpg', 'b.jpg']",
        "[0.1, 0.2, 0.3, 0.4]",
    ],
    short_run: 900,
};

/// Rows that are read of one input; a small file has fewer.
const ROWS: usize = 200;

fn run(data: &[u8], seen: &mut Seen) {
    let names: Vec<String> = sections(data)
        .unwrap_or_default()
        .iter()
        .map(|section| String::from_utf8_lossy(section.path).into_owned())
        .collect();
    with_folder(data, "predictions.jsonl", |folder| {
        let mut samples = Vec::new();
        for (track, layout) in datasets(&names) {
            samples = dataset(folder, track, layout, seen);
        }
        for name in names.iter().chain([&"predictions.jsonl".to_owned()]) {
            if let Some(file) = name.strip_prefix("predictions") {
                answers(&folder.join(format!("predictions{file}")), &samples, seen);
            }
        }
    });
}

/// The datasets whose files are there, as the names of the files tell.
fn datasets(names: &[String]) -> Vec<(Track, Layout)> {
    let has = |part: &str| names.iter().any(|name| name.contains(part));
    let known = [
        ("POPE.tsv", Track::Pope, Layout::VlmEvalKit),
        ("MMBench_DEV_EN.tsv", Track::MmbenchEn, Layout::VlmEvalKit),
        ("MMMU_DEV_VAL.tsv", Track::Mmmu, Layout::VlmEvalKit),
        ("MMStar_local.tsv", Track::MmStar, Layout::VlmEvalKit),
        ("RefCOCO.tsv", Track::RefCoco, Layout::VlmEvalKit),
        ("TextVQA_VAL.tsv", Track::TextVqa, Layout::VlmEvalKit),
        ("gqa/", Track::Gqa, Layout::LlavaFolder),
        ("scienceqa/", Track::ScienceQaImg, Layout::LlavaFolder),
        ("textvqa/", Track::TextVqa, Layout::LlavaFolder),
        ("pope/", Track::Pope, Layout::LlavaFolder),
        ("MME/", Track::Mme, Layout::LlavaFolder),
        ("mmbench/", Track::MmbenchEn, Layout::LlavaFolder),
        ("seed_bench/", Track::SeedBenchImg, Layout::LlavaFolder),
        ("MVBench/", Track::MvBench, Layout::Parquet),
        ("MLVU_dev/", Track::Mlvu, Layout::Parquet),
        ("Video-MME/", Track::VideoMme, Layout::Parquet),
        ("LongVideoBench/", Track::LongVideoBench, Layout::Parquet),
        ("DocVQA/", Track::DocVqa, Layout::Parquet),
        ("ScienceQA/", Track::ScienceQaImg, Layout::Parquet),
        ("GQA/", Track::Gqa, Layout::Parquet),
        ("grefcoco/", Track::GrefCoco, Layout::Coco),
    ];
    known.into_iter().filter(|(part, ..)| has(part)).map(|(_, t, l)| (t, l)).collect()
}

/// The samples of a dataset; those that are damaged have told why.
fn dataset(root: &Path, track: Track, layout: Layout, seen: &mut Seen) -> Vec<Sample> {
    let Some(dataset) = seen.result("dataset", open_as(root, track, layout)) else {
        return Vec::new();
    };
    let _ = seen.result("fingerprint", dataset.fingerprint());
    let Some(mut rows) = seen.result("samples", dataset.samples()) else { return Vec::new() };
    let (mut samples, mut damaged) = (Vec::new(), 0);
    for row in rows.by_ref().take(ROWS) {
        match row {
            Ok(sample) => samples.push(sample),
            Err(error) => {
                damaged += error.lost;
                seen.refused(&error);
            }
        }
    }
    assert_eq!(rows.damaged(), damaged, "damaged rows of {track}");
    let mut ids: Vec<&str> = samples.iter().map(|sample| sample.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "two samples of one id");
    seen.accepted(format_args!("{track} {layout}: {} samples", samples.len().min(3)));
    grade(track, &samples, seen);
    samples
}

/// Whatever the fields are, an answer gets a score between nothing and all, or an error.
fn grade(track: Track, samples: &[Sample], seen: &mut Seen) {
    for profile in Profile::ALL {
        let scoring = Scoring::Benchmark { track, profile, rules: Rules::default() };
        let spec = TrackSpec { name: track.name().to_owned(), scoring };
        for sample in samples.iter().take(8) {
            for answer in ["yes", "A. because", "12.5%", "[0.1, 0.2, 0.3, 0.4]", ""] {
                let graded = spec.grade(&sample.id, &sample.fields, answer);
                if let Some(grade) = seen.result("grade", graded) {
                    assert!(grade.score.is_finite(), "{track} {:?}: {grade:?}", sample.id);
                }
            }
        }
    }
}

fn answers(file: &Path, samples: &[Sample], seen: &mut Seen) {
    let Some(read) = seen.result("predictions", predictions(file)) else { return };
    let found = samples.iter().filter(|sample| read.find(sample).is_some()).count();
    assert!(found <= samples.len());
    let rows = read.rows().len().min(3);
    seen.accepted(format_args!("{:?}: {rows} rows, {} found", read.form, found.min(2)));
}
