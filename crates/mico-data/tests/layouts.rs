//! Every layout of every track, read from the committed data.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;
mod scenes;

use std::collections::BTreeSet;

use common::data;
use mico_data::{Layout, Sample, Samples, Visual, open, open_as};
use mico_score::Track;
use scenes::fits;
use serde_json::json;

/// Folder, layout, track, ids in order, how many of them the scene check must be able to judge, rows without
/// image, rows of other sets.
type Case = (&'static str, Layout, &'static str, &'static str, usize, u64, u64);

const TSV: Layout = Layout::VlmEvalKit;
const LLAVA: Layout = Layout::LlavaFolder;
const PARQUET: Layout = Layout::Parquet;

const CIRCULAR: &str = "7 1000007 2000007 3000007 1000009 2000009 9";
const SIX: &str = "0 1 2 3 4 5";

const CASES: &[Case] = &[
    ("vlmevalkit", TSV, "gqa", "20000 20001 20002 20003 20004 20005", 6, 0, 0),
    ("vlmevalkit", TSV, "scienceqa_img", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "textvqa", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "pope", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "mme", "0 4 1 2 5 3 7 6", 8, 0, 0),
    ("vlmevalkit", TSV, "mmbench_en", CIRCULAR, 7, 0, 0),
    ("vlmevalkit", TSV, "mmbench_cn", CIRCULAR, 7, 0, 0),
    ("vlmevalkit", TSV, "seedbench_img", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "ai2d", SIX, 5, 0, 0),
    ("vlmevalkit", TSV, "mmmu", SIX, 4, 0, 1),
    (
        "vlmevalkit",
        TSV,
        "hallusionbench",
        "HallusionBench_VD_illusion_0_0_0 HallusionBench_VD_illusion_0_0_1 \
         HallusionBench_VD_illusion_0_1_0 HallusionBench_VD_illusion_1_0_0 \
         HallusionBench_VD_illusion_1_0_1 HallusionBench_VD_illusion_1_1_1",
        6,
        2,
        0,
    ),
    ("vlmevalkit", TSV, "mmstar", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "refcoco", "0 1 2 6 7 8", 6, 0, 6),
    ("vlmevalkit", TSV, "refcoco+", "3 4 9 10", 4, 0, 8),
    ("vlmevalkit", TSV, "refcocog", "5 11", 2, 0, 10),
    ("vlmevalkit", TSV, "chartqa", SIX, 5, 0, 0),
    ("vlmevalkit", TSV, "docvqa", SIX, 6, 0, 0),
    ("vlmevalkit", TSV, "ocrbench", SIX, 6, 0, 0),
    ("localised", TSV, "mmstar", SIX, 6, 0, 0),
    ("localised", TSV, "mmbench_en", CIRCULAR, 7, 0, 0),
    ("llava", LLAVA, "gqa", "200000 200001 200002 200003 200004 200005", 6, 0, 0),
    ("llava", LLAVA, "scienceqa_img", "0 1 2 4 5 6", 6, 0, 2),
    (
        "llava",
        LLAVA,
        "textvqa",
        "0000000000000000 0000000000000001 0000000000000002 \
         0000000000000000#2 0000000000000001#2 0000000000000002#2",
        6,
        0,
        0,
    ),
    ("llava", LLAVA, "pope", "0 1 2 3 4 5 6 7 8 9", 10, 0, 0),
    (
        "llava",
        LLAVA,
        "mme",
        "color/0000.png color/0000.png#2 color/0001.png color/0001.png#2 artwork/images/0002.png \
         artwork/images/0002.png#2 artwork/images/0003.png artwork/images/0003.png#2",
        8,
        0,
        0,
    ),
    ("llava", LLAVA, "mmbench_en", CIRCULAR, 7, 0, 0),
    ("llava", LLAVA, "mmbench_cn", CIRCULAR, 7, 0, 0),
    ("llava", LLAVA, "seedbench_img", "101669 101670 101671 101672 101673 101675", 6, 0, 1),
    ("lmms", PARQUET, "gqa", "200000 200001 200002 200003 200004 200005", 6, 0, 0),
    ("lmms", PARQUET, "scienceqa_img", SIX, 6, 0, 0),
    ("lmms", PARQUET, "textvqa", "34600 34601 34602 34603 34604 34605", 6, 0, 0),
    (
        "lmms",
        PARQUET,
        "pope",
        "adversarial/1 adversarial/2 popular/1 popular/2 random/1 random/2",
        6,
        0,
        0,
    ),
    (
        "lmms",
        PARQUET,
        "mme",
        "color/0000.png color/0000.png#2 color/0001.png color/0001.png#2 color/0002.png color/0002.png#2",
        6,
        0,
        0,
    ),
    ("lmms", PARQUET, "mmbench_en", "7 8 9 1000007 1000008 1000009", 6, 0, 0),
    ("lmms", PARQUET, "mmbench_cn", "7 8 9 1000007 1000008 1000009", 6, 0, 0),
    ("lmms", PARQUET, "seedbench_img", "101669 101670 101671 101672 101673", 5, 0, 1),
    ("lmms", PARQUET, "ai2d", SIX, 6, 0, 0),
    (
        "lmms",
        PARQUET,
        "mmmu",
        "validation_Art_Theory_0 validation_Art_Theory_1 validation_Art_Theory_2 \
         validation_Art_Theory_3 validation_Art_Theory_4 validation_Art_Theory_5",
        5,
        0,
        0,
    ),
    // Its options are part of the question, so that the letter cannot be looked up.
    ("lmms", PARQUET, "mmstar", SIX, 0, 0, 0),
    (
        "lmms",
        PARQUET,
        "refcoco",
        "val/0_0 val/0_1 val/1_0 testA/0_0 testA/0_1 testA/1_0 testB/0_0 testB/0_1 testB/1_0",
        6,
        0,
        0,
    ),
    (
        "lmms",
        PARQUET,
        "refcoco+",
        "val/0_0 val/0_1 val/1_0 testA/0_0 testA/0_1 testA/1_0 testB/0_0 testB/0_1 testB/1_0",
        6,
        0,
        0,
    ),
    ("lmms", PARQUET, "refcocog", "val/0_0 val/0_1 val/1_0 test/0_0 test/0_1 test/1_0", 4, 0, 0),
    ("lmms", PARQUET, "chartqa", SIX, 6, 0, 0),
    ("lmms", PARQUET, "docvqa", "49153 49154 49155 49156 49157 49158", 6, 0, 0),
    ("lmms", PARQUET, "ocrbench", SIX, 6, 0, 0),
    ("coco", Layout::Coco, "grefcoco", "0_0 0_1 1_0 2_0 3_0 5_0", 3, 0, 1),
];

const VIDEOS: &[(&str, &str)] = &[
    ("videomme", "000-1 000-2 001-1 001-2 002-1 002-2"),
    (
        "mvbench",
        "action_sequence/0 action_sequence/1 action_sequence/2 \
         moving_count/0 moving_count/1 moving_count/2",
    ),
    ("longvideobench", "clip_0 clip_1 clip_2 clip_3 clip_4 clip_5"),
    ("mlvu", SIX),
];

fn track(name: &str) -> Track {
    name.parse().unwrap()
}

fn read(folder: &str, name: &str) -> (Vec<Sample>, Samples) {
    let mut samples = open(&data(folder), track(name)).unwrap().samples().unwrap();
    let read = samples.by_ref().map(Result::unwrap).collect();
    (read, samples)
}

#[test]
fn every_layout_gives_every_track() {
    for (folder, layout, name, ids, judged, dropped, outside) in CASES {
        let dataset = open(&data(folder), track(name)).unwrap();
        assert_eq!(dataset.layout, *layout, "{folder} {name}");
        let (samples, end) = read(folder, name);
        let found: Vec<&str> = samples.iter().map(|sample| sample.id.as_str()).collect();
        let expected: Vec<&str> = ids.split_whitespace().collect();
        assert_eq!(found, expected, "{folder} {name}");
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "{folder} {name}");
        // Each gold is compared with what its picture shows.
        let right = samples.iter().filter(|_| name != &"mmstar" || *judged > 0);
        let right = right.filter(|sample| fits(sample)).count();
        assert_eq!(right, *judged, "{folder} {name}");
        assert_eq!(
            (end.dropped(), end.outside(), end.damaged()),
            (*dropped, *outside, 0),
            "{name}"
        );
        assert!(samples.iter().all(|sample| !sample.cluster.is_empty()));
        assert!(samples.iter().all(|s| s.fields.values().all(|v| !v.is_null())), "{folder} {name}");
    }
}

#[test]
fn every_video_track_gives_its_clips() {
    for (name, ids) in VIDEOS {
        let (samples, _) = read("lmms", name);
        let found: Vec<&str> = samples.iter().map(|sample| sample.id.as_str()).collect();
        assert_eq!(found, ids.split_whitespace().collect::<Vec<_>>(), "{name}");
        for sample in &samples {
            let [Visual::Video(path)] = sample.visuals.as_slice() else { panic!("{name}") };
            assert!(path.is_file(), "{name}");
        }
    }
}

#[test]
fn all_tracks_but_one_are_covered() {
    let mut names: BTreeSet<&str> = CASES.iter().map(|case| case.2).collect();
    names.extend(VIDEOS.iter().map(|(name, _)| name));
    let missing: Vec<&str> =
        Track::ALL.map(Track::name).into_iter().filter(|n| !names.contains(n)).collect();
    assert_eq!(missing, ["vtcbench"]);
}

#[test]
fn several_images_come_in_order() {
    for (folder, name, place) in
        [("vlmevalkit", "mmmu", 1), ("lmms", "mmmu", 1), ("localised", "mmstar", 0)]
    {
        let (samples, _) = read(folder, name);
        let visuals = &samples[place].visuals;
        assert_eq!(visuals.len(), 2, "{folder}");
        assert_ne!(scenes::scene(&visuals[0]), scenes::scene(&visuals[1]));
    }
}

#[test]
fn a_target_of_no_box_is_an_empty_list() {
    let (samples, _) = read("coco", "grefcoco");
    assert_eq!(samples[3].fields["boxes"], json!([]));
}

#[test]
fn a_layout_can_be_forced_and_the_first_one_wins() {
    let both = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        let to = both.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(data(from), to).unwrap();
    };
    copy("vlmevalkit/POPE.tsv", "POPE.tsv");
    copy("lmms/POPE/data/test-00000-of-00001.parquet", "POPE/data/test-00000-of-00001.parquet");
    let first = open(both.path(), Track::Pope).unwrap();
    assert_eq!(first.layout, Layout::VlmEvalKit);
    let forced = open_as(both.path(), Track::Pope, Layout::Parquet).unwrap();
    assert_eq!((forced.layout, forced.rows), (Layout::Parquet, Some(6)));
    assert_ne!(first.fingerprint().unwrap(), forced.fingerprint().unwrap());
    let error = open_as(both.path(), Track::Pope, Layout::LlavaFolder).unwrap_err().to_string();
    assert!(error.contains("looked for pope/llava_pope_test.jsonl"), "{error}");
    let error = open_as(both.path(), Track::Ai2d, Layout::LlavaFolder).unwrap_err().to_string();
    assert_eq!(error, "ai2d is not published as llava: accepted for it: vlmevalkit, parquet");
    let error = open(both.path(), Track::Mme).unwrap_err().to_string();
    assert!(
        error.contains("looked for MME.tsv, MME_local.tsv, MME/llava_mme.jsonl, MME/**/*.parquet"),
        "{error}"
    );
}

#[test]
fn the_tracks_own_folder_is_accepted() {
    let gqa = open(&data("llava/gqa"), Track::Gqa).unwrap();
    assert_eq!(gqa.samples().unwrap().filter_map(Result::ok).count(), 6);
    let pope = open(&data("lmms/POPE"), Track::Pope).unwrap();
    assert_eq!(pope.samples().unwrap().filter_map(Result::ok).count(), 6);
}

#[test]
fn the_fingerprint_follows_the_content_not_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("POPE.tsv");
    std::fs::copy(data("vlmevalkit/POPE.tsv"), &file).unwrap();
    let here = open(folder.path(), Track::Pope).unwrap().fingerprint().unwrap();
    assert_eq!(here, open(&data("vlmevalkit"), Track::Pope).unwrap().fingerprint().unwrap());
    let mut content = std::fs::read(&file).unwrap();
    *content.last_mut().unwrap() = b' ';
    std::fs::write(&file, content).unwrap();
    assert_ne!(here, open(folder.path(), Track::Pope).unwrap().fingerprint().unwrap());
}

#[test]
fn skipped_rows_leave_the_rest_as_it_is() {
    for (folder, name) in [
        ("vlmevalkit", "gqa"),
        ("llava", "mme"),
        ("lmms", "refcoco"),
        ("lmms", "gqa"),
        ("coco", "grefcoco"),
    ] {
        let (all, _) = read(folder, name);
        let mut samples = open(&data(folder), track(name)).unwrap().samples().unwrap();
        assert_eq!(samples.nth(2).unwrap().unwrap(), all[2], "{folder} {name}");
        let last = &all[all.len() - 1];
        let found = samples.next_where(|id| id == last.id).unwrap().unwrap();
        assert_eq!(&found, last, "{folder} {name}");
    }
}
