//! A check of a sample against the scene it shows.

use mico_data::{Sample, Visual};
use serde_json::Value;

/// Shape, colour, left, top, side; the pictures of `fixtures/benchmark_scenes.py`.
type Object = (&'static str, &'static str, u32, u32, u32);
const SCENES: [[Object; 3]; 4] = [
    [
        ("square", "blue", 12, 20, 48),
        ("circle", "red", 96, 24, 44),
        ("triangle", "green", 60, 100, 52),
    ],
    [
        ("circle", "green", 16, 96, 52),
        ("square", "orange", 100, 100, 44),
        ("triangle", "purple", 64, 16, 48),
    ],
    [
        ("triangle", "red", 14, 14, 56),
        ("square", "white", 98, 20, 46),
        ("circle", "blue", 58, 98, 50),
    ],
    [
        ("square", "purple", 60, 60, 56),
        ("circle", "orange", 8, 8, 40),
        ("triangle", "white", 116, 112, 44),
    ],
];
const COLORS: [(&str, [u8; 3]); 6] = [
    ("red", [200, 30, 30]),
    ("blue", [45, 75, 215]),
    ("green", [40, 145, 70]),
    ("purple", [145, 60, 165]),
    ("orange", [250, 145, 15]),
    ("white", [240, 248, 255]),
];
const SIDE: u32 = 168;

/// The scene a picture shows, recognised by its pixels.
pub(crate) fn scene(visual: &Visual) -> [Object; 3] {
    let bytes = match visual {
        Visual::Encoded(bytes) => bytes.clone(),
        Visual::File(path) => std::fs::read(path).unwrap(),
        Visual::Video(path) => panic!("{} is a video", path.display()),
    };
    let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (SIDE, SIDE));
    let shows = |(_, color, left, top, side): &Object| {
        let pixel = picture.get_pixel(left + side / 2, top + side * 2 / 3).0;
        let wanted = COLORS.iter().find(|(name, _)| name == color).unwrap().1;
        pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 20)
    };
    *SCENES.iter().find(|scene| scene.iter().all(shows)).expect("a known scene")
}

/// The gold of a sample as plain text.
fn gold(sample: &Sample) -> String {
    let field = |name: &str| sample.fields.get(name);
    let answer = field("answer").and_then(Value::as_str);
    let chosen = field("choices").and_then(|choices| choices.get(answer?));
    let listed = field("answers").and_then(|answers| answers.get(0));
    let found = chosen.or(listed).and_then(Value::as_str).or(answer);
    found.unwrap().to_lowercase()
}

/// Whether question and gold fit the picture; tells if the question was one of those it can judge.
pub(crate) fn fits(sample: &Sample) -> bool {
    let objects = scene(&sample.visuals[0]);
    if let Some(expression) = sample.fields.get("expression").and_then(Value::as_str) {
        return box_fits(sample, &objects, expression);
    }
    let question = sample.fields["question"].as_str().unwrap();
    if sample.fields.get("question_type").and_then(Value::as_str) == Some("open") {
        return false;
    }
    if let Some((_, rest)) = question.split_once("What colour is the ") {
        let shape = rest.split(['?', ' ']).next().unwrap();
        let object = objects.iter().find(|o| o.0 == shape).unwrap();
        assert_eq!(gold(sample), object.1, "{}", sample.id);
        return true;
    }
    if let Some((_, rest)) = question.split_once("Is there a") {
        let mut words = rest.trim_start_matches('n').trim().split(['?', ' ']);
        let (color, shape) = (words.next().unwrap(), words.next().unwrap());
        let there = objects.iter().any(|o| (o.0, o.1) == (shape, color));
        assert_eq!(gold(sample), if there { "yes" } else { "no" }, "{}", sample.id);
        return true;
    }
    false
}

fn box_fits(sample: &Sample, objects: &[Object; 3], expression: &str) -> bool {
    let expression = expression.to_lowercase();
    let Some(object) = objects.iter().find(|o| expression == format!("the {} {}", o.1, o.0)) else {
        return false;
    };
    let numbers: Vec<f64> = match sample.fields.get("box") {
        Some(fractions) => {
            fractions.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
        }
        None => sample.fields["boxes"][0]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_f64().unwrap())
            .collect(),
    };
    let (_, _, left, top, side) = *object;
    let expected = if sample.fields.contains_key("box") {
        [left, top, left + side, top + side].map(|n| f64::from(n) / f64::from(SIDE))
    } else {
        [left, top, side, side].map(f64::from)
    };
    assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{}", sample.id);
    true
}
