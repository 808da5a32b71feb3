//! Prompts against those the public toolkits build.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_score::{Fields, Profile, PromptError, Segment, Track, raw, segments};
use serde_json::{Value, json};

/// The vectors of a file in `golden`.
fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_vector_is_met() {
    let vectors = vectors(include_str!("golden/prompts.jsonl"));
    assert_eq!(vectors.len(), 19);
    for vector in vectors {
        let scorer = vector["scorer"].as_str().unwrap();
        let out = raw::apply(scorer, "prompt", &vector["in"]).unwrap();
        assert_eq!(out, vector["out"], "{}", vector["id"]);
    }
}

/// What the default prompt and the three custom ones make of a row.
fn by_style(dataset: &str, row: &Value) -> [Value; 4] {
    let names = ["default", "qwen2vl_custom", "qwen3vl_custom", "internvl"];
    names.map(|name| {
        let input = json!({"dataset": dataset, "row": row});
        let out = raw::apply(&format!("vlmevalkit.{name}"), "prompt", &input).unwrap();
        out["segments"].as_array().unwrap().last().unwrap()["text"].clone()
    })
}

#[test]
fn every_dataset_of_the_toolkit_is_known_by_its_name() {
    let short = [
        "Is it?\nAnswer the question using a single word or phrase.",
        "Is it?\nPlease try to answer the question with short words or phrases if possible.",
        "Is it?\nPlease answer concisely with short words or phrases when possible.",
        "<image>\nIs it?\nAnswer the question using a single word or phrase.",
    ];
    let row = json!({"question": "Is it?"});
    for name in ["TextVQA_VAL", "ChartQA_TEST", "DocVQA_VAL", "GQA_TestDev_Balanced"] {
        assert_eq!(by_style(name, &row), short.map(|text| json!(text)), "{name}");
    }
    let yes_no = "Is it? Please answer yes or no.";
    let cases = [
        ("OCRBench", ["Is it?", short[1], short[2], short[3]]),
        ("POPE", ["Is it?", yes_no, yes_no, "<image>\nIs it?"]),
        (
            "MME",
            [
                "Is it?",
                "Is it?",
                yes_no,
                "<image>\nIs it? Answer the question using a single word or phrase.",
            ],
        ),
        (
            "HallusionBench",
            [
                "Is it?",
                yes_no,
                yes_no,
                "<image>\nIs it? Please answer yes or no. Answer the question using a single word or phrase.",
            ],
        ),
        ("RefCOCO", ["Is it?", "Is it?", "Is it?", "<image>\nIs it?"]),
    ];
    for (name, expected) in cases {
        assert_eq!(by_style(name, &row), expected.map(|text| json!(text)), "{name}");
    }
    for name in ["AI2D_TEST", "ScienceQA_TEST", "MMStar", "SEEDBench_IMG", "MMBench_DEV_CN"] {
        let row = json!({"question": "哪个？", "A": "x", "C": 3, "hint": null});
        let expected = [
            "Question: 哪个？\nOptions:\nA. x\nC. 3\nPlease select the correct answer from the options above. \n",
            "Question: 哪个？\nOptions:\nA. x\nC. 3\n请直接回答选项字母。",
            "Question: 哪个？\nOptions:\nA. x\nC. 3\nAnswer with the option letter only.",
            "<image>\n哪个？\nA. x\nC. 3\n请直接回答选项字母。",
        ];
        assert_eq!(by_style(name, &row), expected.map(|text| json!(text)), "{name}");
        let bare = ["Question: Is it?\n", "Question: Is it?", "Question: Is it?"];
        let row = json!({"question": "Is it?", "A": null});
        let found = by_style(name, &row);
        assert_eq!(found[..3], bare.map(|text| json!(text)), "{name}");
        assert_eq!(found[3], json!("<image>\nIs it?\nAnswer the question directly."));
    }
    assert!(
        raw::apply("vlmevalkit.default", "prompt", &json!({"dataset": "X", "row": {}})).is_err()
    );
}

#[test]
fn mmmu_has_its_images_where_the_toolkit_puts_them() {
    let row = json!({"question": "See <image 1><image 2>?", "A": "x", "B": "y"});
    let input = json!({"dataset": "MMMU_DEV_VAL", "row": row});
    let text = "Question: See <image 1><image 2>?\nOptions:\nA. x\nB. y\nPlease select the correct answer from the options above.";
    for name in ["vlmevalkit.qwen2vl_custom", "vlmevalkit.qwen3vl_custom"] {
        let expected = json!({"segments": [{"image": "IMG1"}, {"image": "IMG2"}, {"text": text}]});
        assert_eq!(raw::apply(name, "prompt", &input).unwrap(), expected, "{name}");
    }
    let out = raw::apply("vlmevalkit.internvl", "prompt", &input).unwrap();
    let text = "Image-1: <image>\nImage-2: <image>\nSee <image 1><image 2>?\nA. x\nB. y\nAnswer with the option's letter from the given choices directly.";
    assert_eq!(out, json!({"segments": [{"text": text}]}));
}

#[test]
fn tasks_of_lmms_eval_use_their_own_settings_when_none_are_given() {
    let letter = "Answer with the option's letter from the given choices directly.";
    let short = "Answer the question using a single word or phrase.";
    let cases = [
        ("gqa", json!({"question": "Is it?"}), format!("Is it?\n{short}")),
        ("pope", json!({"question": " Is it? "}), format!("Is it?\n{short}")),
        ("textvqa", json!({"question": "WHAT is It?"}), format!("What is it?\n{short}")),
        ("docvqa", json!({"question": "Is it?"}), format!("Is it?\n{short}")),
        ("mme", json!({"question": "Is it? Please answer yes or no."}), format!("Is it?\n{short}")),
        (
            "chartqa",
            json!({"question": "Is it?"}),
            "Is it?\nAnswer the question with a single word.".to_owned(),
        ),
        ("ocrbench", json!({"question": "Is it?"}), "Is it?".to_owned()),
        (
            "ai2d",
            json!({"question": "Which?", "options": ["x", "y"]}),
            format!("Which?\nA. x\nB. y\n{letter}"),
        ),
        (
            "sqa",
            json!({"question": "Which?", "hint": "H.", "choices": ["x", "y"]}),
            format!("Context: H.\nWhich?\nA. x\nB. y\n{letter}"),
        ),
        (
            "sqa",
            json!({"question": "Which?", "hint": "", "choices": ["x"]}),
            format!("Which?\nA. x\n{letter}"),
        ),
        (
            "mmstar",
            json!({"question": "Which?\nOptions: A: x, B: y"}),
            format!("Which?\nOptions: A: x, B: y\n{}", letter.trim_end_matches('.')),
        ),
        (
            "mmbench_en",
            json!({"question": "Which?", "hint": "H.", "A": "x", "B": "y", "C": "nan", "F": "z"}),
            format!("H. Which? There are several options:\nA. x\nB. y\n\n{letter}"),
        ),
        (
            "mmbench_en",
            json!({"question": "Which?", "hint": "nan", "A": "x"}),
            format!("Which? There are several options:\nA. x\n\n{letter}"),
        ),
        (
            "mmbench_cn",
            json!({"question": "Which?", "hint": "nan", "A": "x", "B": null}),
            "nan Which? There are several options:\nA. x\n\n请直接使用所提供的选项字母作为答案回答。"
                .to_owned(),
        ),
        (
            "mmmu",
            json!({"question": "Which <image 1>?", "options": "['x', 'y']", "question_type": "multiple-choice"}),
            format!("Which <image 1>?\nA. x\nB. y\n\n{letter}"),
        ),
        (
            "mmmu",
            json!({"question": "How many?", "options": "[]", "question_type": "open"}),
            format!("How many?\n\n{short}"),
        ),
        (
            "longvideobench",
            json!({"question": "Where?", "option0": "Here", "option1": "N/A", "option2": "There"}),
            format!("Where?\nA. Here\nB. There\n{letter}\n"),
        ),
    ];
    for (name, doc, expected) in cases {
        for input in [json!({"doc": doc, "kwargs": null}), json!({"doc": doc})] {
            let out = raw::apply(&format!("lmms.{name}"), "prompt", &input).unwrap();
            assert_eq!(out, json!({"text": expected}), "{name}");
        }
    }
    let doc = json!({"question": "Who?", "options": ["A. I"]});
    let input = json!({"doc": doc, "kwargs": {"pre_prompt": ""}});
    let out = raw::apply("lmms.videomme", "prompt", &input).unwrap();
    assert!(out["text"].as_str().unwrap().ends_with("option.\nWho?\nA. I\nThe best answer is:"));
}

/// Fields of an item.
fn fields(value: &Value) -> Fields {
    value.as_object().unwrap().clone()
}

/// The only text of a prompt of an item with one image.
fn said(track: Track, profile: Profile, item: &Value) -> String {
    let found = segments(track, profile, &fields(item), 1).unwrap();
    assert_eq!(found[0], Segment::Image(0), "{track}");
    match &found[1..] {
        [Segment::Text(text)] => text.clone(),
        other => panic!("{track}: {other:?}"),
    }
}

#[test]
fn items_in_canonical_fields_are_asked_as_their_raw_rows_are() {
    let choices = json!({"question": "Which?", "hint": "H.", "choices": {"A": "x", "B": "y"}});
    let letter = "Answer with the option's letter from the given choices directly.";
    let short = "Answer the question using a single word or phrase.";
    let q = json!({"question": "Is it?", "answer": "yes"});
    let cases = [
        (Track::MmbenchEn, Profile::Llava, &choices, format!("H.\nWhich?\nA. x\nB. y\n{letter}")),
        (
            Track::MmbenchCn,
            Profile::Llava,
            &choices,
            "H.\nWhich?\nA. x\nB. y\n请直接回答选项字母。".to_owned(),
        ),
        (
            Track::ScienceQaImg,
            Profile::Llava,
            &choices,
            format!("Context: H.\nWhich?\nA. x\nB. y\n{letter}"),
        ),
        (Track::Ai2d, Profile::Llava, &choices, format!("Which?\nA. x\nB. y\n{letter}")),
        (Track::SeedBenchImg, Profile::Lmms, &choices, format!("Which?\nA. x\nB. y\n{letter}")),
        (Track::Mmmu, Profile::Llava, &choices, format!("Which?\n(A) x\n(B) y\n\n{letter}")),
        (Track::Mmmu, Profile::Llava, &q, format!("Is it?\n{short}")),
        (Track::Gqa, Profile::Llava, &q, format!("Is it?\n{short}")),
        (Track::TextVqa, Profile::Llava, &q, format!("Is it?\nReference OCR token: \n{short}")),
        (Track::Pope, Profile::VlmEvalKit, &q, "Is it?".to_owned()),
        (Track::Pope, Profile::Lmms, &q, format!("Is it?\n{short}")),
        (Track::Mme, Profile::InternVl, &q, format!("Is it? {short}")),
        (
            Track::DocVqa,
            Profile::Qwen2VlCustom,
            &q,
            "Is it?\nPlease try to answer the question with short words or phrases if possible."
                .to_owned(),
        ),
    ];
    for (track, profile, item, expected) in cases {
        assert_eq!(said(track, profile, item), expected, "{track} {}", profile.name());
    }
    let tokens = json!({"question": "What?", "ocr_tokens": ["a", "b"]});
    assert_eq!(
        said(Track::TextVqa, Profile::Llava, &tokens),
        format!("What?\nReference OCR token: a, b\n{short}")
    );
    assert_eq!(said(Track::TextVqa, Profile::Lmms, &tokens), format!("What?\n{short}"));
}

#[test]
fn a_ready_prompt_is_used_as_it_stands_by_llava_only() {
    let item = json!({"question": "Is it?", "prompt": "Is it?\nBe brief."});
    assert_eq!(said(Track::Gqa, Profile::Llava, &item), "Is it?\nBe brief.");
    let other = said(Track::Gqa, Profile::VlmEvalKit, &item);
    assert_eq!(other, "Is it?\nAnswer the question using a single word or phrase.");
}

#[test]
fn boxes_are_asked_for_in_the_words_of_the_family() {
    let item = json!({"expression": "the dog"});
    let region =
        "Please provide the bounding box coordinate of the region this sentence describes:";
    let qwen = "Locate every object that matches the description \"the dog\" in the image. Report bbox coordinates in JSON format.";
    for track in [Track::RefCoco, Track::RefCocoPlus, Track::RefCocoG, Track::GrefCoco] {
        assert_eq!(said(track, Profile::VlmEvalKit, &item), qwen);
        let internvl = said(track, Profile::InternVl, &item);
        assert_eq!(internvl, format!("{region} <ref>the dog</ref>"));
        assert_eq!(said(track, Profile::Llava, &item), format!("{region} the dog"));
        assert!(said(track, Profile::Lmms, &item).ends_with(&format!("{region} the dog")));
        let table = json!({"expression": "the dog", "question": "Where is it?"});
        assert_eq!(said(track, Profile::VlmEvalKit, &table), "Where is it?");
    }
}

#[test]
fn videos_are_asked_about_in_one_way_by_all() {
    let item = json!({"question": "What next?", "candidates": ["Ran.", "Sat."]});
    for profile in Profile::ALL {
        let text = said(Track::MvBench, profile, &item);
        assert_eq!(
            text,
            "Question:What next?\nOption:\n(A) Ran.\n(B) Sat.\nOnly give the best option.\n"
        );
    }
}

#[test]
fn images_of_mmmu_stand_where_the_profile_wants_them() {
    let item = fields(&json!({
        "question": "<image 2> or <image 1>?", "question_type": "multiple-choice",
        "choices": {"A": "x", "B": "y"}, "answer": "A",
    }));
    let images = |profile| {
        let found = segments(Track::Mmmu, profile, &item, 2).unwrap();
        let show = |segment: &Segment| match segment {
            Segment::Text(_) => "t".to_owned(),
            Segment::Image(n) => n.to_string(),
        };
        found.iter().map(show).collect::<String>()
    };
    assert_eq!(images(Profile::VlmEvalKit), "t1t0t");
    assert_eq!(images(Profile::Llava), "0t");
    assert_eq!(images(Profile::Lmms), "01t");
    assert_eq!(images(Profile::InternVl), "t0t1t");
    let error = segments(Track::Mmmu, Profile::VlmEvalKit, &item, 1).unwrap_err();
    assert_eq!(error, PromptError::Image { number: 2, images: 1 });
}

#[test]
fn an_item_that_cannot_be_asked_is_an_error() {
    let none = Fields::new();
    for track in Track::ALL {
        for profile in Profile::ALL {
            assert!(segments(track, profile, &none, 1).is_err(), "{track}");
        }
    }
    let error = segments(Track::Gqa, Profile::Llava, &none, 1).unwrap_err();
    assert_eq!(error.to_string(), "an item of gqa has no field 'question' with a text");
}
