//! Damaged files: every row that can be read is read, the others are named, and nothing panics.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::data;
use mico_data::{Damaged, Layout, Sample, Visual, open, open_as, predictions};
use mico_score::Track;
use proptest::prelude::*;

/// An image cell long enough to be one.
fn cell() -> String {
    "QUJD".repeat(20)
}

fn table(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("POPE.tsv");
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// The ids read, and the messages of the damaged rows.
fn read(root: &Path, track: Track) -> (Vec<String>, Vec<String>) {
    let rows: Vec<Result<Sample, Damaged>> =
        open(root, track).unwrap().samples().unwrap().collect();
    let ids = rows.iter().filter_map(|row| Some(row.as_ref().ok()?.id.clone())).collect();
    (ids, rows.into_iter().filter_map(|row| Some(row.err()?.to_string())).collect())
}

#[test]
fn a_damaged_row_is_named_and_the_next_one_comes() {
    let good = cell();
    // What row 2 is, and what is said of it.
    let cases: &[(&str, &str)] = &[
        ("2", "row 2: 1 cells, the header has 4"),
        ("2\ta\tb\tc\td", "row 2: 5 cells, the header has 4"),
        (
            "2\t****************************************************************+\tq\tYes",
            "row 2 (index 2): image: not base64",
        ),
        ("2\t2\tq\tYes", "row 2 (index 2): its image is a reference to itself"),
        (
            "2\t4\tq\tYes",
            "its image is that of row 4, which refers on to row 1: one step is accepted",
        ),
        ("2\t-9\tq\tYes", "its image is that of row -9, and there is no such row"),
        ("2\t99999999999999999999999\tq\tYes", "and there is no such row"),
        ("2\t5\tq\tYes", "its image is that of row 5, which has none"),
        ("2\t[\tq\tYes", "image list: character 2"),
        ("2\t[]\tq\tYes", "image list: it is empty"),
        ("2\t[['a']]\tq\tYes", "a list inside the list"),
        (
            "2\t['a', ****************************************************************]\tq\tYes",
            "image list",
        ),
        ("1\tIMAGE\tq\tYes", "row 2 (index 1): another row has the same index"),
        ("\tIMAGE\tq\tYes", "row 2: column 'index' is empty"),
        ("2\tIMAGE\tNone\tYes", "row 2 (index 2): column 'question' is empty"),
        ("2\tIMAGE\tq\tNaN", "row 2 (index 2): column 'answer' is empty"),
    ];
    for (row, message) in cases {
        let row = row.replace("IMAGE", &good);
        let text = format!(
            "index\timage\tquestion\tanswer\n1\t{good}\tq\tYes\n{row}\n3\t{good}\tq\tNo\n4\t1\tq\tNo\n5\t\tq\tNo\n"
        );
        let (folder, _) = table(text.as_bytes());
        let (ids, damaged) = read(folder.path(), Track::Pope);
        assert_eq!(ids, ["1", "3", "4"], "{row:.60}");
        assert_eq!(damaged.len(), 1, "{row:.60}");
        assert!(damaged[0].contains(message), "{row:.60}: {}", damaged[0]);
        assert!(damaged[0].contains("POPE.tsv: row 2"), "{}", damaged[0]);
        assert!(!damaged[0].contains('\n'));
    }
}

#[test]
fn deep_lists_and_bytes_that_are_no_text() {
    let good = cell();
    let deep = "[".repeat(200_000);
    let mut content =
        format!("index\timage\tquestion\tanswer\n1\t{deep}\tq\tYes\n2\t{good}\t").into_bytes();
    content.extend(b"\xff\xfe\tYes\n");
    content.extend(format!("3\t{good}\tq\tYes\n").into_bytes());
    content.extend(b"\xff\tx\tq\tYes\n");
    let (folder, _) = table(&content);
    let (ids, damaged) = read(folder.path(), Track::Pope);
    assert_eq!(ids, ["3"]);
    assert!(damaged[0].contains("a list 32 lists deep"), "{}", damaged[0]);
    assert!(damaged[1].contains("column 'question' is not UTF-8 text"), "{}", damaged[1]);
    assert!(damaged[2].contains("column 'index' is not UTF-8 text"), "{}", damaged[2]);
}

#[test]
fn the_same_picture_is_one_cluster_however_often_it_stands_there() {
    let good = cell();
    let text = format!(
        "index\timage\tquestion\tanswer\n1\t{good}\tq\tYes\n2\t1\tq\tNo\n3\t{good}\tq\tNo\n"
    );
    let (folder, _) = table(text.as_bytes());
    let samples = open(folder.path(), Track::Pope).unwrap().samples().unwrap();
    let clusters: Vec<String> = samples.map(|sample| sample.unwrap().cluster).collect();
    assert!(clusters.len() == 3 && clusters.iter().all(|c| *c == clusters[0]), "{clusters:?}");
}

#[test]
fn two_rows_that_point_at_each_other_end() {
    let text = "index\timage\tquestion\tanswer\n1\t2\tq\tYes\n2\t1\tq\tYes\n";
    let (folder, _) = table(text.as_bytes());
    let (ids, damaged) = read(folder.path(), Track::Pope);
    assert!(ids.is_empty());
    assert_eq!(damaged.len(), 2);
}

#[test]
fn a_table_that_is_none_is_refused_in_one_line() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"index\timage\tquestion\n", "no column 'answer', found: index, image, question"),
        (b"index\tquestion\tanswer\n", "no column 'image'"),
        (b"index\tImage\timage\tquestion\tanswer\n", "two columns are named 'image'"),
        (b"\xff\xfe\x00", "the header is not UTF-8 text"),
        (b"PAR1\0\0\0\0", "no column 'index'"),
    ];
    for (content, message) in cases {
        let (folder, _) = table(content);
        let error = open(folder.path(), Track::Pope).unwrap().samples().unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("POPE.tsv"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let (folder, _) = table(b"index\timage\tquestion\tanswer\n");
    assert_eq!(read(folder.path(), Track::Pope), (Vec::new(), Vec::new()));
}

#[test]
fn a_codec_that_is_not_supported_is_said_in_one_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/unsupported");
    let (ids, damaged) = read(&root, Track::DocVqa);
    assert!(ids.is_empty(), "{ids:?}");
    assert!(damaged.len() == 1 && damaged[0].to_lowercase().contains("brotli"), "{damaged:?}");
}

#[test]
fn a_folder_in_a_files_place() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "POPE.tsv",
        "gqa/llava_gqa_testdev_balanced.jsonl",
        "gqa/data/testdev_balanced_questions.json",
    ] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    for track in [Track::Pope, Track::Gqa] {
        let error = open(folder.path(), track).unwrap().samples().unwrap_err().to_string();
        assert!(error.contains("not a file") || error.contains("cannot be read"), "{error}");
    }
    assert!(open(&folder.path().join("nothing"), Track::Pope).is_err());
    assert!(open(Path::new(""), Track::Mme).is_err());
}

/// A copy of committed data that may be changed.
fn copy(name: &str) -> tempfile::TempDir {
    fn walk(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap().path();
            let target = to.join(entry.file_name().unwrap());
            if entry.is_dir() {
                walk(&entry, &target);
            } else {
                fs::copy(&entry, &target).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    walk(&data(name), &folder.path().join(Path::new(name).file_name().unwrap()));
    folder
}

#[test]
fn labels_and_questions_must_be_equally_many() {
    let folder = copy("llava/pope");
    let labels = folder.path().join("pope/coco/coco_pope_random.json");
    let mut text = fs::read_to_string(&labels).unwrap();
    let first = text.lines().next().unwrap().to_owned();
    text.push_str(&first);
    fs::write(&labels, &text).unwrap();
    let fail = || open(folder.path(), Track::Pope).unwrap().samples().unwrap_err().to_string();
    assert!(
        fail()
            .contains("category 'random' has 2 questions and 3 labels: equal counts are required"),
        "{}",
        fail()
    );
    fs::write(&labels, "{\"label\": 1}").unwrap();
    assert!(fail().contains("row 1: no 'label'"), "{}", fail());
    fs::remove_file(&labels).unwrap();
    assert!(fail().contains("category 'random' has 2 questions and 0 labels"), "{}", fail());
    fs::remove_dir_all(folder.path().join("pope/coco")).unwrap();
    let error = open(folder.path(), Track::Pope).unwrap_err().to_string();
    assert!(error.contains("looked for coco/coco_pope_<category>.json"), "{error}");
}

#[test]
fn labels_about_other_images_are_not_taken() {
    let folder = copy("llava/pope");
    let labels = folder.path().join("pope/coco/coco_pope_random.json");
    let text = fs::read_to_string(&labels).unwrap();
    let swapped: Vec<&str> = text.lines().rev().collect();
    fs::write(&labels, swapped.join("\n")).unwrap();
    let (ids, damaged) = read(folder.path(), Track::Pope);
    assert_eq!(ids.len(), 8);
    assert!(damaged[0].contains("label 1 of its category is about image"), "{}", damaged[0]);
}

#[test]
fn what_is_missing_beside_a_question_file_is_named() {
    let folder = copy("llava");
    let root = folder.path().join("llava");
    fs::remove_file(root.join("gqa/data/images/n1.png")).unwrap();
    fs::remove_file(root.join("MME/MME_Benchmark_release_version/color/0001.txt")).unwrap();
    fs::remove_file(root.join("textvqa/TextVQA_0.5.1_val.json")).unwrap();
    let (ids, damaged) = read(&root, Track::Gqa);
    // A picture that is not there fails when its question is asked, which then counts as wrong.
    assert_eq!((ids.len(), damaged.len()), (6, 0));
    let (ids, damaged) = read(&root, Track::Mme);
    assert_eq!((ids.len(), damaged.len()), (6, 2));
    assert!(damaged[0].contains("no gold for category 'color', file '0001.txt'"), "{}", damaged[0]);
    let error = open(&root, Track::TextVqa).unwrap_err().to_string();
    assert!(error.contains("looked for TextVQA_0.5.1_val.json"), "{error}");
    let questions = root.join("seed_bench/llava-seed-bench.jsonl");
    let text = fs::read_to_string(&questions).unwrap();
    fs::write(&questions, format!("not json\n[1]\n{{}}\n{text}")).unwrap();
    let (ids, damaged) = read(&root, Track::SeedBenchImg);
    assert_eq!((ids.len(), damaged.len()), (6, 3));
}

#[test]
fn a_missing_video_or_column_is_named() {
    let folder = copy("lmms/Video-MME");
    fs::remove_file(folder.path().join("Video-MME/data/clip1.mp4")).unwrap();
    let (ids, damaged) = read(folder.path(), Track::VideoMme);
    assert_eq!((ids.len(), damaged.len()), (6, 0));
    let videos = open(folder.path(), Track::VideoMme).unwrap().samples().unwrap();
    let gone = videos.filter_map(Result::ok).filter(|sample| match &sample.visuals[..] {
        [Visual::Video(path)] => !path.exists() && path.ends_with("clip1"),
        _ => false,
    });
    assert_eq!(gone.count(), 3);
    let folder = copy("lmms/POPE");
    fs::rename(folder.path().join("POPE"), folder.path().join("GQA")).unwrap();
    let error = open(folder.path(), Track::Gqa).unwrap_err().to_string();
    assert!(error.contains("testdev_balanced_images"), "{error}");
    fs::rename(folder.path().join("GQA"), folder.path().join("ai2d")).unwrap();
    let error = open(folder.path(), Track::Ai2d).unwrap().samples().unwrap_err().to_string();
    assert!(error.contains("no column 'options', found: image.bytes"), "{error}");
}

#[test]
fn a_parquet_file_that_is_none_is_refused() {
    let folder = copy("lmms/POPE");
    let file = folder.path().join("POPE/data/test-00000-of-00001.parquet");
    let whole = fs::read(&file).unwrap();
    for content in [&b""[..], b"PAR1", b"garbage garbage", &whole[..whole.len() / 2]] {
        fs::write(&file, content).unwrap();
        let error = open(folder.path(), Track::Pope).unwrap_err().to_string();
        assert!(error.contains("not a parquet file") && !error.contains('\n'), "{error}");
    }
    // A page whose header cannot be read costs its row group, not the file.
    let mut broken = whole.clone();
    broken[4..24].fill(0xff);
    fs::write(&file, broken).unwrap();
    let mut samples = open(folder.path(), Track::Pope).unwrap().samples().unwrap();
    let good = samples.by_ref().filter_map(Result::ok).count() as u64;
    assert_eq!((good, samples.damaged()), (2, 4));
}

/// A committed folder, one file of it, and the track it belongs to.
const FUZZED: &[(&str, &str, &str, Layout)] = &[
    ("vlmevalkit", "GQA_TestDev_Balanced.tsv", "gqa", Layout::VlmEvalKit),
    ("vlmevalkit", "MMMU_DEV_VAL.tsv", "mmmu", Layout::VlmEvalKit),
    ("vlmevalkit", "RefCOCO.tsv", "refcoco", Layout::VlmEvalKit),
    ("vlmevalkit", "MMBench_DEV_CN.tsv", "mmbench_cn", Layout::VlmEvalKit),
    ("localised", "MMStar_local.tsv", "mmstar", Layout::VlmEvalKit),
    ("llava/gqa", "llava_gqa_testdev_balanced.jsonl", "gqa", Layout::LlavaFolder),
    ("llava/gqa", "data/testdev_balanced_questions.json", "gqa", Layout::LlavaFolder),
    ("llava/scienceqa", "llava_test_CQM-A.json", "scienceqa_img", Layout::LlavaFolder),
    ("llava/scienceqa", "problems.json", "scienceqa_img", Layout::LlavaFolder),
    ("llava/textvqa", "TextVQA_0.5.1_val.json", "textvqa", Layout::LlavaFolder),
    ("llava/pope", "llava_pope_test.jsonl", "pope", Layout::LlavaFolder),
    ("llava/MME", "MME_Benchmark_release_version/color/0000.txt", "mme", Layout::LlavaFolder),
    ("llava/seed_bench", "SEED-Bench.json", "seedbench_img", Layout::LlavaFolder),
    ("lmms/GQA", "testdev_balanced_images/testdev-00000-of-00002.parquet", "gqa", Layout::Parquet),
    ("lmms/textvqa", "data/validation-00000-of-00002.parquet", "textvqa", Layout::Parquet),
    ("lmms/RefCOCO", "data/val-00000-of-00001.parquet", "refcoco", Layout::Parquet),
    ("lmms/ai2d", "data/test-00000-of-00001.parquet", "ai2d", Layout::Parquet),
    ("lmms/DocVQA", "DocVQA/validation-00000-of-00001.parquet", "docvqa", Layout::Parquet),
    ("lmms/ChartQA", "data/test-00000-of-00001.parquet", "chartqa", Layout::Parquet),
    ("lmms/Video-MME", "videomme/test-00000-of-00001.parquet", "videomme", Layout::Parquet),
    ("coco/grefcoco", "grefs(unc).json", "grefcoco", Layout::Coco),
    ("coco/grefcoco", "instances.json", "grefcoco", Layout::Coco),
];

#[derive(Debug, Clone)]
enum Change {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<prop::sample::Index>;
    let one = prop_oneof![
        4 => (at(), 1..=255u8).prop_map(|(at, bits)| Change::Flip(at, bits)),
        1 => at().prop_map(Change::Cut),
        2 => (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, new)| Change::Insert(at, new)),
        1 => (at(), 1..200usize).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => (at(), prop_oneof![Just("\""), Just("\t"), Just("\n"), Just("[[[["), Just("{\"")])
            .prop_map(|(at, text)| Change::Insert(at, text.into())),
    ];
    prop::collection::vec(one, 1..6)
}

fn apply(content: &mut Vec<u8>, change: Change) {
    if content.is_empty() {
        return;
    }
    match change {
        Change::Flip(at, bits) => {
            let at = at.index(content.len());
            content[at] ^= bits;
        }
        Change::Cut(at) => content.truncate(at.index(content.len())),
        Change::Insert(at, new) => {
            let at = at.index(content.len());
            content.splice(at..at, new);
        }
        Change::Remove(at, count) => {
            let at = at.index(content.len());
            content.drain(at..(at + count).min(content.len()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_a_file_makes_a_reader_panic(which in 0..FUZZED.len(), list in changes()) {
        let (folder, file, track, layout) = FUZZED[which];
        let mut content = fs::read(data(folder).join(file)).unwrap();
        for change in list {
            apply(&mut content, change);
        }
        // A table is one file; the others need what lies beside them.
        let copied = if layout == Layout::VlmEvalKit { tempfile::tempdir().unwrap() } else { copy(folder) };
        let inside = if layout == Layout::VlmEvalKit { "" } else { folder.rsplit('/').next().unwrap() };
        fs::write(copied.path().join(inside).join(file), content).unwrap();
        if let Ok(dataset) = open_as(copied.path(), track.parse().unwrap(), layout)
            && let Ok(samples) = dataset.samples()
        {
            // A file that claims more rows than it has must still come to an end.
            prop_assert!(samples.count() < 10_000);
        }
    }

    #[test]
    fn no_change_of_predictions_makes_a_reader_panic(which in 0..6usize, list in changes()) {
        let names = ["POPE.xlsx", "POPE.tsv", "POPE.csv", "POPE.json", "mme_answers.jsonl", "records.jsonl"];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(names[which]);
        let mut content = fs::read(data("predictions").join(names[which])).unwrap();
        for change in list {
            apply(&mut content, change);
        }
        fs::write(&path, content).unwrap();
        let _ = predictions(&path);
    }
}
