//! The choice of frames against Python's `round` and numpy's `linspace`.

use mico_video::sample_indices;

use crate::fixture::{cases, fraction, number};

#[test]
fn indices_are_those_of_numpy() {
    let cases = cases("samplings");
    assert!(cases.len() > 50);
    for case in cases {
        let expected: Vec<usize> = serde_json::from_value(case["indices"].clone()).unwrap();
        let found = sample_indices(
            number(&case, "total"),
            fraction(&case, "rate"),
            fraction(&case, "fps"),
            number(&case, "max_frames"),
        );
        assert_eq!(found, expected, "{case}");
    }
}
