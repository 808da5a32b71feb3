use serde_json::{Value, json};

use super::*;

fn fields(value: &Value) -> Fields {
    value.as_object().unwrap().clone()
}

fn animals() -> Fields {
    fields(&json!({"question": "What?", "choices": {"A": "cat", "B": "dog"}, "answer": "B"}))
}

/// Fields that satisfy every track.
fn everything() -> Fields {
    fields(&json!({
        "question": "q", "choices": {"A": "cat", "B": "dog"}, "options": ["A. cat", "B. dog"], "answer": "B",
        "answers": ["B"], "category": "Regular Text Recognition", "question_type": "multiple-choice",
        "candidates": ["a", "B"], "correct_choice": 1, "box": [0.1, 0.2, 0.5, 0.6], "boxes": [],
        "width": 640, "height": 480, "model_input": [1120, 840],
    }))
}

#[test]
fn every_track_and_profile_has_a_rule_of_the_raw_interface() {
    let known: Vec<&str> = crate::raw::scorers().map(|(scorer, _)| scorer).collect();
    for track in Track::ALL {
        for profile in Profile::ALL {
            let judge = Judge::new(track, profile);
            if track == Track::VtcBench {
                assert_eq!(judge.grade(&everything(), "B"), Err(JudgeError::NoRule(track)));
                continue;
            }
            let name = judge.rule_name();
            assert!(known.contains(&name.as_str()), "{track} {profile:?}: {name}");
            assert!(judge.grade(&everything(), "B").is_ok(), "{track} {profile:?}");
        }
    }
}

#[test]
fn a_missing_gold_is_named() {
    for track in Track::ALL {
        for profile in Profile::ALL {
            let error =
                Judge::new(track, profile).grade(&Fields::new(), "B").unwrap_err().to_string();
            assert!(track == Track::VtcBench || error.starts_with("field '"), "{track}: {error}");
        }
    }
    let judge = Judge::new(Track::MmStar, Profile::VlmEvalKit);
    let error = judge.grade(&fields(&json!({"choices": ["cat"], "answer": "A"})), "A").unwrap_err();
    let expected = "field 'choices': [\"cat\"], accepted: a map from capital letters to texts";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn profiles_differ_as_their_toolkits_do() {
    let score = |track, profile, prediction| {
        Judge::new(track, profile).grade(&animals(), prediction).unwrap().score
    };
    let cases = [
        (Track::SeedBenchImg, Profile::Llava, "B.", 0.0),
        (Track::SeedBenchImg, Profile::Lmms, "B.", 1.0),
        (Track::SeedBenchImg, Profile::InternVl, "dog", 1.0),
        (Track::Ai2d, Profile::Llava, "(B)", 1.0),
        (Track::Ai2d, Profile::Llava, "dog", 0.0),
        (Track::Ai2d, Profile::VlmEvalKit, "dog", 1.0),
        (Track::ScienceQaImg, Profile::Llava, "B", 1.0),
        (Track::ScienceQaImg, Profile::Llava, "b", 0.0),
        (Track::MmbenchEn, Profile::Llava, "Option B", 1.0),
    ];
    for (track, profile, prediction, expected) in cases {
        assert_eq!(score(track, profile, prediction), expected, "{track} {profile:?} {prediction}");
    }
}

#[test]
fn yes_and_no() {
    let grade = |track, profile, prediction| {
        Judge::new(track, profile).grade(&fields(&json!({"answer": "Yes"})), prediction).unwrap()
    };
    assert_eq!(grade(Track::Pope, Profile::Llava, "").score, 1.0);
    let unread = grade(Track::Pope, Profile::VlmEvalKit, "");
    assert_eq!((unread.score, unread.reading), (0.0, None));
    assert_eq!(grade(Track::Mme, Profile::Llava, "The answer is yes").score, 0.0);
    assert_eq!(grade(Track::Mme, Profile::VlmEvalKit, "The answer is yes").score, 1.0);
    assert_eq!(grade(Track::Pope, Profile::Lmms, "Yes.").score, 0.0);
}

#[test]
fn boxes_are_measured_as_told() {
    let item = fields(&json!({"box": [0.1, 0.2, 0.5, 0.6], "model_input": [1120, 840]}));
    let mut judge = Judge::new(Track::RefCoco, Profile::VlmEvalKit);
    assert_eq!(judge.rule_name(), "vlmevalkit.refcoco");
    let reply = "[{\"bbox_2d\": [112, 168, 560, 504]}]";
    assert_eq!(judge.grade(&item, reply).unwrap().score, 1.0);
    assert_eq!(judge.grade(&item, "[112, 168, 1060, 840]").unwrap().score, 0.0);
    judge.rules.set("boxes", "resized-pixels").unwrap();
    assert_eq!(judge.rule_name(), "paper.abs_resized");
    let grade = judge.grade(&item, reply).unwrap();
    assert_eq!(
        (grade.score, grade.reading.as_deref()),
        (1.0, Some("[0.1000, 0.2000, 0.5000, 0.6000]"))
    );
    assert!(judge.grade(&fields(&json!({"box": [0, 0, 1, 1]})), reply).is_err());
}

#[test]
fn sets_of_boxes() {
    let item = fields(
        &json!({"boxes": [[64, 48, 64, 48], [320, 240, 64, 48]], "width": 640, "height": 480}),
    );
    let judge = Judge::new(Track::GrefCoco, Profile::InternVl);
    assert_eq!(
        judge.grade(&item, "[[500, 500, 600, 600], [100, 100, 200, 200]]").unwrap().score,
        1.0
    );
    assert_eq!(judge.grade(&item, "[[500, 500, 600, 600]]").unwrap().score, 0.0);
    let none = fields(&json!({"boxes": [], "width": 640, "height": 480}));
    assert_eq!(judge.grade(&none, "There is no such object.").unwrap().score, 1.0);
    assert_eq!(judge.grade(&none, "[1, 2, 3, 4]").unwrap().score, 0.0);
}

#[test]
fn versions_change_the_rule_and_its_name() {
    let mut judge = Judge::new(Track::MmStar, Profile::VlmEvalKit);
    let long = "B is right: the animal on the sofa is clearly a dog or something like it.";
    assert_eq!(
        (judge.grade(&animals(), long).unwrap().score, judge.rule_name().as_str()),
        (0.0, "vlmevalkit.mcq")
    );
    judge.rules.set("extract", "before").unwrap();
    let name = judge.rule_name();
    assert_eq!(
        (judge.grade(&animals(), long).unwrap().score, name.as_str()),
        (1.0, "vlmevalkit.mcq.before_2025_08")
    );

    let mut judge = Judge::new(Track::MmStar, Profile::VlmEvalKit);
    judge.rules.set("predictions", "file").unwrap();
    let item = fields(&json!({"choices": {"A": "a", "B": "dog"}, "answer": "A"}));
    assert_eq!(
        (judge.grade(&item, "").unwrap().score, judge.rule_name().as_str()),
        (1.0, "vlmevalkit.mcq.file")
    );

    let mut judge = Judge::new(Track::VideoMme, Profile::Lmms);
    assert_eq!(judge.grade(&animals(), "Answer: B").unwrap().score, 1.0);
    judge.rules.set("video", "legacy").unwrap();
    assert_eq!(judge.grade(&animals(), "Answer: B").unwrap().reading.as_deref(), Some("A"));
}

#[test]
fn mmmu_has_open_questions() {
    let open = fields(&json!({"question_type": "open", "answers": ["24"]}));
    let score = |profile, prediction| {
        Judge::new(Track::Mmmu, profile).grade(&open, prediction).unwrap().score
    };
    assert_eq!(score(Profile::VlmEvalKit, "The total is 240"), 1.0);
    assert_eq!(score(Profile::VlmEvalKit, "The total is 42"), 0.0);
    assert_eq!(score(Profile::Llava, "The total is 240"), 0.0);
    assert_eq!(score(Profile::Llava, "x = 24.001"), 1.0);
}

#[test]
fn lmms_eval_trims_before_it_judges() {
    let item = fields(&json!({
        "question_type": "multiple-choice", "choices": {"A": "cat", "B": "dog"}, "answer": "B", "answers": ["big dog"],
    }));
    let score = |track, profile, prediction| {
        Judge::new(track, profile).grade(&item, prediction).unwrap().score
    };
    assert_eq!(score(Track::Mmmu, Profile::Lmms, "B\u{a0}"), 1.0);
    assert_eq!(score(Track::Mmmu, Profile::Llava, "B\u{a0}"), 0.0);
    assert_eq!(score(Track::ChartQa, Profile::Lmms, " Big dog\n"), 1.0);
}

#[test]
fn videos() {
    let item =
        fields(&json!({"candidates": ["Sat.", "Ran."], "answer": "Ran.", "correct_choice": 1}));
    let score = |track, prediction| {
        Judge::new(track, Profile::Lmms).grade(&item, prediction).unwrap().score
    };
    assert_eq!(score(Track::MvBench, "(B) Ran."), 1.0);
    assert_eq!(score(Track::LongVideoBench, "B. A book"), 1.0);
    assert_eq!(score(Track::LongVideoBench, ""), 0.0);
}
