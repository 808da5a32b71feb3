//! Tower and projector against transformers, in every tensor layout.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_model::{LoadOptions, Progress, VisionTaps};
use support::Case;

const CASES: [&str; 8] = [
    "llava15",
    "llava15-tf5",
    "llava15-memory",
    "llava15-original",
    "llava15-tied",
    "next-llama",
    "next-mistral",
    "next-original",
];

#[test]
fn features_class_rows_and_embeddings_agree() {
    for name in CASES {
        let case = Case::load(name);
        for image in case.images() {
            let pixels = case.tensor(&format!("{image}.pixel_values"));
            let seen =
                case.model.encode_images(pixels, VisionTaps { cls_attention: true }).unwrap();
            case.check(&format!("{image}.stage1.features"), &seen.features, 1e-5);
            let rows = seen.cls_attention.unwrap();
            case.check(&format!("{image}.stage1.reliability"), &rows, 1e-5);
            case.check(&format!("{image}.visual_embeds"), &case.visual_embeds(&image), 1e-5);
        }
    }
}

#[test]
fn a_batch_of_views_equals_its_views() {
    let case = Case::load("next-mistral");
    let pixels = case.tensor("strip.pixel_values");
    let taps = VisionTaps { cls_attention: true };
    let batch = case.model.encode_images(pixels, taps).unwrap();
    for view in 0..pixels.dim(0).unwrap() {
        let one = case.model.encode_images(&pixels.narrow(0, view, 1).unwrap(), taps).unwrap();
        let features = batch.features.narrow(0, view, 1).unwrap();
        assert!(support::largest(&(features - one.features).unwrap()) < 1e-5);
        let rows = batch.cls_attention.as_ref().unwrap().narrow(0, view, 1).unwrap();
        assert!(support::largest(&(rows - one.cls_attention.unwrap()).unwrap()) < 1e-7);
    }
}

#[test]
fn pixels_of_the_wrong_size_are_refused() {
    let case = Case::load("llava15");
    let pixels = case.tensor("portrait.pixel_values").narrow(3, 0, 27).unwrap();
    let error = case.model.encode_images(&pixels, VisionTaps::default()).unwrap_err();
    assert!(error.to_string().contains("[1, 3, 28, 27]"), "{error}");
    let error = case.model.project(case.tensor("portrait.visual_embeds")).unwrap_err();
    assert!(error.to_string().contains("must be 20"), "{error}");
}

#[test]
fn progress_ends_at_its_total() {
    for name in CASES {
        let seen = std::cell::RefCell::new(Vec::new());
        let notify = |progress| seen.borrow_mut().push(progress);
        let options = LoadOptions { progress: Some(&notify), ..LoadOptions::default() };
        Case::load_with(name, &options);
        let last: Progress = *seen.borrow().last().unwrap();
        assert_eq!(last.tensors_done, last.tensors_total, "{name}");
        assert_eq!(last.bytes_done, last.bytes_total, "{name}");
    }
}
