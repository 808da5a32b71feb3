//! No answer a model can give, and no input a file can hold, may bring a rule down.

use mico_score::raw::{apply, scorers};
use mico_score::{Fields, Judge, Profile, Rules, Track};
use serde_json::{Value, json};

/// Pieces that meet the rules' special cases, and pieces that meet nobody's.
const PIECES: &[&str] = &[
    "A",
    "b",
    "Z",
    ".",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    " ",
    "\n",
    "\t",
    "\u{0}",
    "\u{1c}",
    "\u{85}",
    "\u{3000}",
    "'",
    "\"",
    "\\",
    "%",
    "-",
    "+",
    "_",
    "=",
    "*",
    "e",
    "E",
    "1",
    "23",
    "1,000",
    ".5",
    "1e9",
    "-2.5",
    "１２",
    "٣",
    "yes",
    "No",
    "not",
    "answer is ",
    "The answer is ",
    "option ",
    "so ",
    "is ",
    "cat",
    "dog",
    "狗",
    "答案是",
    "选",
    "\u{301}",
    "\u{200d}",
    "👩\u{200d}👧",
    "İ",
    "ß",
    "Σ",
    "ſ",
    "ı",
    "\u{feff}",
    "\u{fffd}",
    "\u{10ffff}",
    "[1,2,3,4]",
    "(1,2),(3,4)",
    "[[5 6 7 8]]",
    "nan",
    "inf",
    "None",
    "Failed to obtain answer via API",
    "</think>",
    "<image>",
    "<box>",
];

/// A small generator, so that every run sees the same texts.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn text(&mut self) -> String {
        let length = self.roll(14);
        let mut text = String::new();
        for _ in 0..length {
            if self.roll(4) == 0 {
                text.extend(char::from_u32(self.roll(0x11_0000) as u32));
            } else {
                text.push_str(PIECES[self.roll(PIECES.len())]);
            }
        }
        text
    }
}

/// Fields that satisfy every rule on items, with the text as prediction.
fn item(prediction: &str, gold: &str) -> Value {
    json!({
        "prediction": prediction, "choices": {"A": "cat", "B": gold, "C": "dog"}, "answer": "B", "answers": [gold, "B"],
        "category": "Regular Text Recognition", "gt_norm_xyxy": [0.1, 0.2, 0.5, 0.6], "gt_xywh": [[0, 0, 10, 10]],
        "model_input_wh": [1120, 840], "dataset": "gqa", "record": {"filtered_resps": [prediction], "doc": {"answer": gold}},
    })
}

fn fields(gold: &str) -> Fields {
    let value = json!({
        "choices": {"A": "cat", "B": gold, "C": "dog"}, "answer": "B", "answers": [gold, "B"], "correct_choice": 1,
        "category": "Handwritten Mathematical Expression Recognition", "question_type": "open", "candidates": [gold, "B"],
        "box": [0.1, 0.2, 0.5, 0.6], "boxes": [[0, 0, 10, 10]], "width": 640, "height": 480, "model_input": [1120, 840],
    });
    value.as_object().cloned().unwrap_or_default()
}

fn in_range(score: Option<&Value>) -> bool {
    score.and_then(Value::as_f64).is_none_or(|score| (0.0..=1.0).contains(&score))
}

#[test]
fn every_rule_answers_every_text() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        let (prediction, gold) = (dice.text(), dice.text());
        let input = item(&prediction, &gold);
        for (scorer, _) in scorers().filter(|(_, kind)| *kind == "item") {
            let out =
                apply(scorer, "item", &input).unwrap_or_else(|error| panic!("{scorer}: {error}"));
            assert!(in_range(out.get("score")), "{scorer} {prediction:?}: {out}");
        }
    }
}

#[test]
fn every_judge_answers_every_text() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for round in 0..60 {
        let (prediction, gold) = (dice.text(), dice.text());
        let fields = fields(&gold);
        let mut rules = Rules::default();
        if round % 2 == 1 {
            let old = [
                ("extract", "before"),
                ("video", "legacy"),
                ("vqa", "before-2025-05"),
                ("predictions", "file"),
                ("boxes", "resized-pixels"),
            ];
            old.into_iter().for_each(|(name, value)| rules.set(name, value).unwrap());
        }
        for track in Track::ALL.into_iter().filter(|track| *track != Track::VtcBench) {
            for profile in Profile::ALL {
                let grade = Judge { track, profile, rules }.grade(&fields, &prediction).unwrap();
                assert!((0.0..=1.0).contains(&grade.score), "{track} {prediction:?}");
            }
        }
    }
}

#[test]
fn long_texts_end() {
    let long = ["A ", ".", "[1,", "狗", "1", "so ", "answer is ", "(", "\u{301}"]
        .map(|piece| piece.repeat(4000));
    for prediction in long {
        let input = item(&prediction, "gold");
        for (scorer, _) in scorers().filter(|(_, kind)| *kind == "item") {
            assert!(apply(scorer, "item", &input).is_ok(), "{scorer}");
        }
    }
}

/// Whatever a line holds, the outcome is an answer or an error.
#[test]
fn inputs_of_any_shape_are_answered_or_refused() {
    let shapes = [
        json!(null),
        json!(3),
        json!("text"),
        json!([]),
        json!({}),
        json!({"items": [null, 3, {}]}),
        json!({"rows": {}}),
        json!({"rows": [[]], "items": []}),
        json!({"prediction": {}, "answer": []}),
        json!({"prediction": "A", "choices": {"AB": 1}}),
        json!({"prediction": "A", "choices": vec!["x"; 40], "answer": 99}),
        json!({"x": [], "y": []}),
        json!({"x": [1], "y": ["a"]}),
        json!({"scores": [1], "correct": []}),
        json!({"nonzero_counts": [-1e308, 1e308], "classes": 1e300}),
        json!({"gt_xywh": [[1, 2, 3]], "pred_xyxy": null}),
        json!({"model_input_wh": [0, 0], "gt_norm_xyxy": [0, 0, 0, 0], "prediction": "[0,0,0,0]"}),
        json!({"predictions": ["a"], "labels": []}),
        json!({"task_pct": {}}),
        json!({"reference_full": 1}),
    ];
    for (scorer, kind) in scorers() {
        for shape in &shapes {
            let _ = apply(scorer, kind, shape);
            let _ = apply(&format!("{scorer}.file"), kind, shape);
        }
    }
}
