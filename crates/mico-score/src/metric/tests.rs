//! Values of small tracks, most of them made by the public scorers.

use serde_json::{Value, json};

use super::{Marked, Metric, Prepared};
use crate::{Fields, Grade, Profile, Track};

/// Indices with scores, and the four numbers they give.
type Figures<'a> = (&'a [(&'a str, f64)], [f64; 4]);
/// An item: its fields, its score and what was read.
type Case = (Value, f64, Option<&'static str>);

fn prepared(track: Track, profile: Profile, cases: &[Case]) -> Prepared {
    let owned: Vec<(Fields, Grade)> = cases
        .iter()
        .map(|(fields, score, reading)| {
            let grade = Grade { score: *score, reading: reading.map(str::to_owned) };
            (fields.as_object().cloned().unwrap_or_default(), grade)
        })
        .collect();
    let marked: Vec<_> = owned.iter().map(|(fields, grade)| Marked { fields, grade }).collect();
    Metric::of(track, profile).prepare(&marked)
}

fn part(prepared: &Prepared, name: &str) -> Option<f64> {
    prepared.parts().into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{found:?} {expected}");
}

#[test]
fn pope_of_llava_is_the_mean_f1_of_its_categories() {
    let item = |category: &str, answer: &str, reading| {
        let right = f64::from(u8::from(answer == reading));
        (json!({"category": category, "answer": answer}), right, Some(reading))
    };
    let mut cases = vec![
        item("random", "yes", "yes"),
        item("random", "yes", "no"),
        item("random", "no", "no"),
        item("random", "no", "yes"),
        item("random", "no", "no"),
        item("random", "yes", "yes"),
    ];
    let found = prepared(Track::Pope, Profile::Llava, &cases);
    close(found.plain(), 200.0 / 3.0);
    close(part(&found, "random accuracy"), 200.0 / 3.0);
    close(part(&found, "random yes ratio"), 50.0);
    cases.push(item("popular", "yes", "yes"));
    cases.push(item("adversarial", "yes", "no"));
    let found = prepared(Track::Pope, Profile::Llava, &cases);
    close(found.plain(), (200.0 / 3.0 + 100.0 + 0.0) / 3.0);
    assert_eq!((found.name(), found.unit()), ("mean F1 of the categories", "%"));
}

#[test]
fn pope_elsewhere_counts_an_item_in_each_of_its_categories() {
    let cases = [
        (json!({"answer": "Yes", "category": "adversarial,popular,random"}), 1.0, Some("Yes")),
        (json!({"answer": "No", "category": "adversarial"}), 0.0, Some("Yes")),
        (json!({"answer": "No", "category": "popular"}), 1.0, Some("No")),
        (json!({"answer": "No", "category": "random"}), 0.0, Some("Unknown")),
        (json!({"answer": "Yes", "category": "adversarial,popular,random"}), 0.0, Some("No")),
    ];
    let found = prepared(Track::Pope, Profile::VlmEvalKit, &cases);
    close(found.plain(), 44.444_444_444_444_44);
    close(part(&found, "F1"), 60.0);
    close(part(&found, "precision"), 75.0);
    close(part(&found, "recall"), 50.0);
    close(part(&found, "adversarial accuracy"), 100.0 / 3.0);
    // The second item drawn twice and the third left out.
    close(found.value(&[1, 2, 0, 1, 1]), 100.0 * 3.0 / 9.0);
}

#[test]
fn mme_adds_questions_and_pictures_of_every_subtask() {
    let mut cases: Vec<Case> = Vec::new();
    let mut pair = |category: &str, image: &str, first: f64, second: f64| {
        for score in [first, second] {
            cases.push((json!({"category": category, "image": image}), score, None));
        }
    };
    let right = ["existence", "position", "color", "posters", "celebrity", "scene", "landmark"];
    right.iter().for_each(|category| pair(category, "0", 1.0, 1.0));
    pair("artwork", "0", 1.0, 1.0);
    pair("count", "0", 1.0, 0.0);
    pair("count", "1", 1.0, 1.0);
    pair("OCR", "0", 0.0, 0.0);
    let cognition = ["commonsense_reasoning", "numerical_calculation", "text_translation"];
    cognition.iter().for_each(|category| pair(category, "0", 1.0, 1.0));
    pair("code_reasoning", "0", 1.0, 0.0);
    pair("code_reasoning", "1", 1.0, 1.0);
    let llava = prepared(Track::Mme, Profile::Llava, &cases);
    close(llava.plain(), 1725.0);
    let toolkit = prepared(Track::Mme, Profile::VlmEvalKit, &cases);
    close(toolkit.plain(), 2450.0);
    for (name, value) in [("cognition", 725.0), ("count", 125.0), ("OCR", 0.0), ("total", 2450.0)] {
        close(part(&llava, name), value);
    }
    assert_eq!(toolkit.unit(), "points");
    // Pictures are paired by name, whatever the order.
    cases.reverse();
    cases.swap(0, 5);
    close(prepared(Track::Mme, Profile::VlmEvalKit, &cases).plain(), 2450.0);
    // Without its pictures a subtask has no score, and the sum none either.
    let mut weights = vec![1; cases.len()];
    weights[cases.len() - 2..].fill(0);
    assert_eq!(llava.value(&vec![0; cases.len()]), None);
    assert_eq!(prepared(Track::Mme, Profile::VlmEvalKit, &cases).value(&weights), None);
}

#[test]
fn hallusionbench_is_the_mean_of_three() {
    let item = |index: &str, score| (json!({"index": index}), score, None);
    let sets: [Figures; 3] = [
        (
            &[
                ("x_VD_illusion_0_0_0", 1.0),
                ("x_VD_illusion_0_0_1", 1.0),
                ("x_VD_illusion_0_1_0", 1.0),
                ("x_VD_illusion_0_1_1", 0.0),
            ],
            [75.0, 50.0, 50.0, 58.333_333_333_333_336],
        ),
        (
            &[("x_VS_chart_0_1_0", 1.0), ("x_VS_chart_0_2_0", 0.0), ("x_VS_table_0_1_0", 1.0)],
            [200.0 / 3.0, 200.0 / 3.0, 50.0, 61.111_111_111_111_11],
        ),
        (
            &[("x_VD_ocr_3_0_0", 0.0), ("x_VD_ocr_3_0_1", 1.0)],
            [50.0, 0.0, 50.0, 33.333_333_333_333_336],
        ),
    ];
    for (rows, [a, f, q, mean]) in sets {
        let cases: Vec<_> = rows.iter().map(|(index, score)| item(index, *score)).collect();
        let found = prepared(Track::HallusionBench, Profile::VlmEvalKit, &cases);
        close(found.plain(), mean);
        for (name, value) in [("aAcc", a), ("fAcc", f), ("qAcc", q)] {
            close(part(&found, name), value);
        }
    }
    // The category of the data wins over that in the index.
    let mut one = item("x_VS_chart_0_1_0", 1.0);
    one.0["l2_category"] = json!("VS_map");
    let found = prepared(
        Track::HallusionBench,
        Profile::VlmEvalKit,
        &[one, item("x_VS_chart_0_1_0", 0.0), item("odd", 1.0), item("a_b_c_d", 1.0)],
    );
    close(part(&found, "fAcc"), 75.0);
}

#[test]
fn mmbench_counts_questions_whose_rotations_are_all_right() {
    let item = |index: i64, score| (json!({"index": index, "category": "ocr"}), score, None);
    let mut cases = vec![
        item(1, 1.0),
        item(1_000_001, 1.0),
        item(2_000_001, 1.0),
        item(2, 1.0),
        item(1_000_002, 0.0),
        item(3, 1.0),
        item(1_000_003, 1.0),
    ];
    let found = prepared(Track::MmbenchEn, Profile::VlmEvalKit, &cases);
    close(found.plain(), 200.0 / 3.0);
    close(part(&found, "every row"), 600.0 / 7.0);
    close(part(&found, "category ocr"), 200.0 / 3.0);
    close(found.value(&[1, 1, 1, 3, 3, 1, 1]), 40.0);
    // A group without its first row does not count, right or wrong.
    cases.push(item(1_000_009, 0.0));
    close(prepared(Track::MmbenchCn, Profile::Llava, &cases).plain(), 200.0 / 3.0);
    // The data's own grouping wins over the arithmetic.
    cases.push((json!({"index": 77, "group": 3}), 0.0, None));
    close(prepared(Track::MmbenchEn, Profile::Llava, &cases).plain(), 100.0 / 3.0);
    // Other splits do not count.
    let split =
        |index: i64, split: &str, score| (json!({"index": index, "split": split}), score, None);
    let cases = [split(1, "dev", 1.0), split(2, "test", 0.0)];
    close(prepared(Track::MmbenchEn, Profile::Llava, &cases).plain(), 100.0);
}

#[test]
fn means_over_tasks_and_splits_weigh_each_alike() {
    let task = |task: &str, score| (json!({"task_type": task}), score, None);
    let mlvu = [
        task("anomaly_reco", 1.0),
        task("count", 0.0),
        task("ego", 1.0),
        task("needle", 1.0),
        task("order", 1.0),
        task("plotQA", 1.0),
        task("plotQA", 0.0),
        task("topic_reasoning", 1.0),
    ];
    let found = prepared(Track::Mlvu, Profile::Lmms, &mlvu);
    close(found.plain(), 78.571_428_571_428_57);
    close(part(&found, "plotQA"), 50.0);
    // A task without items counts as 0, one that is none of the seven not at all.
    let found = prepared(Track::Mlvu, Profile::Lmms, &[task("ego", 1.0), task("other", 0.0)]);
    close(found.plain(), 100.0 / 7.0);
    let found =
        prepared(Track::MvBench, Profile::Lmms, &[task("a", 1.0), task("b", 0.0), task("b", 1.0)]);
    close(found.plain(), 75.0);
    let split = |split: &str, score| (json!({"split": split}), score, None);
    let cases = [split("val", 1.0), split("testA", 0.0), split("testA", 0.0), split("testB", 1.0)];
    close(prepared(Track::RefCocoPlus, Profile::VlmEvalKit, &cases).plain(), 200.0 / 3.0);
}

#[test]
fn grec_reports_what_was_boxed() {
    let item =
        |boxes: Value, score, reading| (json!({"boxes": boxes, "split": "val"}), score, reading);
    let one = json!([[0, 0, 10, 10]]);
    let cases = [
        item(one.clone(), 1.0, Some("[[0,0,10,10]]")),
        item(json!([]), 1.0, None),
        item(json!([]), 0.0, Some("[[0,0,1,1]]")),
        item(one, 0.0, None),
        item(json!([[0, 0, 10, 10], [20, 20, 5, 5]]), 1.0, Some("[[0,0,10,10],[20,20,25,25]]")),
    ];
    let found = prepared(Track::GrefCoco, Profile::VlmEvalKit, &cases);
    close(found.plain(), 60.0);
    close(part(&found, "T_acc"), 200.0 / 3.0);
    close(part(&found, "N_acc"), 50.0);
    close(part(&found, "val"), 60.0);
}

#[test]
fn plain_means_leave_out_what_the_track_is_not_about() {
    let seed = |kind: &str, score| (json!({"data_type": kind, "question_type": "1"}), score, None);
    let cases = [seed("image", 1.0), seed("image", 0.0), seed("video", 1.0)];
    let found = prepared(Track::SeedBenchImg, Profile::Llava, &cases);
    close(found.plain(), 50.0);
    close(part(&found, "question_type 1"), 50.0);
    assert_eq!(found.items(), 3);
    let mmmu = |split: &str, score| (json!({"split": split}), score, None);
    let cases = [mmmu("validation", 1.0), mmmu("validation", 0.5), mmmu("dev", 0.0)];
    close(prepared(Track::Mmmu, Profile::VlmEvalKit, &cases).plain(), 75.0);
    close(prepared(Track::Mmmu, Profile::VlmEvalKit, &cases[2..]).plain(), 0.0);
    let ocr = |category: &str, score| (json!({"category": category}), score, None);
    let cases = [
        ocr("Regular Text Recognition", 1.0),
        ocr("Artistic Text Recognition", 0.0),
        ocr("Scene Text-centric VQA", 1.0),
    ];
    let found = prepared(Track::OcrBench, Profile::VlmEvalKit, &cases);
    close(part(&found, "Text Recognition"), 50.0);
    close(found.plain(), 200.0 / 3.0);
    let group = |value: Value, score| (json!({"duration_group": value}), score, None);
    let found = prepared(Track::LongVideoBench, Profile::Lmms, &[group(json!(15), 1.0)]);
    assert_eq!(found.parts(), [("duration_group 15".to_owned(), 100.0)]);
}

#[test]
fn nothing_has_no_value() {
    for track in Track::ALL {
        for profile in Profile::ALL {
            let found = prepared(track, profile, &[]);
            assert_eq!((found.plain(), found.parts()), (None, vec![]), "{track}");
            // Items without any field neither panic nor invent a value above the scale.
            let found = prepared(track, profile, &[(json!({}), 1.0, None)]);
            assert!(found.plain().is_none_or(|value| value <= 100.0), "{track}");
        }
    }
}
