//! Canonical fields of chosen samples, word for word.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use common::data;
use mico_data::open;
use serde_json::{Value, json};

const QUESTION: &str = "What colour is the square?";

/// Folder, track, place, cluster, fields.
type Exact = (&'static str, &'static str, usize, &'static str, Value);

fn tables() -> Vec<Exact> {
    vec![
        (
            "vlmevalkit",
            "gqa",
            0,
            "20002",
            json!({"question": "What colour is the triangle?", "answer": "red"}),
        ),
        (
            "vlmevalkit",
            "mmbench_en",
            5,
            "9",
            json!({"question": QUESTION, "choices": {"A": "blue", "B": "red", "C": "orange"}, "answer": "C",
                "category": "attribute_recognition", "split": "dev", "index": 2_000_009, "group": 9,
                "l2_category": "finegrained_perception (instance-level)"}),
        ),
        (
            "vlmevalkit",
            "mmbench_en",
            0,
            "7",
            json!({"question": QUESTION, "hint": "Look at the\tpicture.\nThen answer.", "index": 7, "group": 7,
                "choices": {"A": "red", "B": "blue", "C": "green", "D": "purple"}, "answer": "B",
                "category": "attribute_recognition", "split": "dev",
                "l2_category": "finegrained_perception (instance-level)"}),
        ),
        (
            "vlmevalkit",
            "ai2d",
            2,
            "2",
            json!({"question": "What colour is the circle?", "category": "shapes", "answer": "A",
                "choices": {"A": "blue", "B": "green", "C": "blue"}}),
        ),
        (
            "vlmevalkit",
            "mme",
            1,
            "code_reasoning/0002.png",
            json!({"question": "Is there a red triangle? Please answer yes or no.", "answer": "Yes",
                "category": "code_reasoning", "image": "code_reasoning/0002.png"}),
        ),
        (
            "vlmevalkit",
            "mmmu",
            3,
            "3",
            json!({"question": "Look at <image 1>. What colour is the square?", "question_type": "open",
                "answers": ["white", "White"], "category": "Art_Theory", "subject": "Art_Theory",
                "l2_category": "Art & Design", "split": "validation"}),
        ),
        (
            "vlmevalkit",
            "hallusionbench",
            4,
            "VD_illusion/1",
            json!({"question": "Is there a purple square?", "answer": "No", "category": "VD",
                "index": "HallusionBench_VD_illusion_1_0_1", "l2_category": "VD_illusion"}),
        ),
        (
            "vlmevalkit",
            "refcoco+",
            0,
            "3",
            json!({"question": "Please provide the bounding box coordinate of the region this sentence \
                describes: <ref>the purple square</ref>", "expression": "the purple square",
                "box": [0.3571, 0.3571, 0.6905, 0.6905], "split": "val", "width": 168, "height": 168}),
        ),
    ]
}

fn folders() -> Vec<Exact> {
    let short = format!("{QUESTION}\nAnswer the question using a single word or phrase.");
    vec![
        (
            "llava",
            "gqa",
            0,
            "n0.png",
            json!({"question": QUESTION, "prompt": short, "answer": "blue", "question_id": "200000"}),
        ),
        (
            "llava",
            "scienceqa_img",
            1,
            "1",
            json!({"question": QUESTION, "hint": "Colours are named\nin English.", "answer": "B",
                "choices": {"A": "red", "B": "orange", "C": "blue"}, "category": "natural science",
                "prompt": "Context: Colours are named\nin English.\nWhat colour is the square?\nA. red\n\
                    B. orange\nC. blue\nAnswer with the option's letter from the given choices directly."}),
        ),
        (
            "llava",
            "textvqa",
            3,
            "0000000000000000.jpg",
            json!({"question": "What colour is the circle?", "image_id": "0000000000000000",
                "question_id": "0000000000000000", "ocr_tokens": ["Shape", "A1"],
                "prompt": "What colour is the circle?\nReference OCR token: Shape, A1\n\
                    Answer the question using a single word or phrase.",
                "answers": ["red", "red", "red", "red", "red", "red", "red", "RED", "none", "a colour"]}),
        ),
        (
            "llava",
            "mme",
            5,
            "artwork/images/0002.png",
            json!({"question": "Is there a red circle?", "answer": "No", "category": "artwork",
                "image": "artwork/images/0002.png", "question_id": "artwork/images/0002.png",
                "prompt": "Is there a red circle?\nAnswer the question using a single word or phrase."}),
        ),
        (
            "llava",
            "seedbench_img",
            0,
            "SEED-Bench-image/0",
            json!({"question": QUESTION, "answer": "A", "data_type": "image", "question_id": "101669",
                "question_type": "Instance Attributes",
                "choices": {"A": "blue", "B": "red", "C": "green", "D": "purple"},
                "prompt": "What colour is the square?\nA. blue\nB. red\nC. green\nD. purple\n\
                    Answer with the option's letter from the given choices directly."}),
        ),
    ]
}

fn shards_and_coco() -> Vec<Exact> {
    vec![
        (
            "lmms",
            "mmmu",
            4,
            "06fa29155976b207",
            json!({"question": "Look at <image 1>. What colour is the circle?", "question_type": "open",
                "answers": ["3", "three"], "subject": "Art_Theory", "doc_id": 4}),
        ),
        (
            "lmms",
            "longvideobench",
            1,
            "clip.mp4",
            json!({"question": QUESTION, "options": ["red", "orange", "blue", "green"], "doc_id": 1,
                "correct_choice": 1, "duration_group": "60", "question_category": "S2E", "duration": "8.5"}),
        ),
        (
            "lmms",
            "mvbench",
            3,
            "clip.mp4",
            json!({"question": QUESTION, "candidates": ["blue", "red", "green", "purple"],
                "answer": "blue", "task_type": "moving_count", "doc_id": 0}),
        ),
        (
            "coco",
            "grefcoco",
            2,
            "11",
            json!({"split": "testA",
                "expression": "the green circle and the orange square", "width": 168, "height": 168,
                "boxes": [[16.0, 96.0, 52.0, 52.0], [100.0, 100.0, 44.0, 44.0]]}),
        ),
    ]
}

#[test]
fn fields_are_exactly_these() {
    let all = tables().into_iter().chain(folders()).chain(shards_and_coco());
    for (folder, name, place, cluster, fields) in all {
        let dataset = open(&data(folder), name.parse().unwrap()).unwrap();
        let sample = dataset.samples().unwrap().nth(place).unwrap().unwrap();
        assert_eq!(Value::Object(sample.fields), fields, "{folder} {name} {place}");
        // Pictures inside a table are known by their bytes.
        let hashed =
            sample.cluster.len() == 16 && sample.cluster.chars().all(|c| c.is_ascii_hexdigit());
        let inside = folder == "vlmevalkit" && hashed;
        assert!(sample.cluster == cluster || inside, "{folder} {name} {place}: {}", sample.cluster);
    }
}
