//! Tower and projector against transformers, in every tensor layout.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use mico_model::{LoadOptions, Pixels, Progress, VisionTaps};
use support::Case;

const CASES: &[&str] = &[
    "llava15",
    "llava15-tf5",
    "llava15-memory",
    "llava15-original",
    "llava15-tied",
    "next-llama",
    "next-mistral",
    "next-original",
    "qwen25",
    "qwen25-memory",
    "qwen25-tied",
    "qwen3",
    "qwen3-tied",
    "qwen35",
    "qwen35-tied",
    "internvl3",
    "internvl3-original",
    "internvl3-tied",
    "video",
    "video-onevision",
    "video-even",
];

#[test]
fn features_class_rows_and_embeddings_agree() {
    for &name in CASES {
        let case = Case::load(name);
        for image in case.images() {
            let seen = case.model.encode(case.pixels(&image), VisionTaps::ALL).unwrap();
            let views = case.tensor(&format!("{image}.stage1.reliability")).dims2().unwrap();
            let features = seen.features.unwrap().reshape((views.0, views.1, ())).unwrap();
            case.check(&format!("{image}.stage1.features"), &features, 1e-5);
            let rows = seen.reliability.unwrap().reshape(views).unwrap();
            case.check(&format!("{image}.stage1.reliability"), &rows, 1e-5);
            case.check(&format!("{image}.visual_embeds"), &case.visual_embeds(&image), 1e-5);
        }
    }
}

#[test]
fn a_batch_of_views_equals_its_views() {
    let case = Case::load("next-mistral");
    let pixels = case.tensor("strip.pixel_values");
    let batch = case.model.encode(case.views(pixels.clone()), VisionTaps::ALL).unwrap();
    let (batch_features, batch_rows) = (batch.features.unwrap(), batch.reliability.unwrap());
    let views = pixels.dim(0).unwrap();
    let patches = batch_rows.dim(0).unwrap() / views;
    for view in 0..views {
        let alone = case.views(pixels.narrow(0, view, 1).unwrap());
        let one = case.model.encode(alone, VisionTaps::ALL).unwrap();
        let features = batch_features.narrow(0, view * patches, patches).unwrap();
        assert!(support::largest(&(features - one.features.unwrap()).unwrap()) < 1e-5);
        let rows = batch_rows.narrow(0, view * patches, patches).unwrap();
        assert!(support::largest(&(rows - one.reliability.unwrap()).unwrap()) < 1e-7);
    }
}

#[test]
fn pixels_of_the_wrong_size_are_refused() {
    let case = Case::load("llava15");
    let refused =
        |pixels: Pixels| case.model.encode(pixels, VisionTaps::default()).unwrap_err().to_string();
    let mut pixels = case.pixels("portrait");
    pixels.values = pixels.values.narrow(3, 0, 27).unwrap();
    let error = refused(pixels);
    assert!(error.contains("[1, 3, 28, 27]"), "{error}");
    let mut pixels = case.pixels("portrait");
    pixels.grids[0].columns = 5;
    let error = refused(pixels);
    assert!(error.contains("4x5"), "{error}");
    let mut pixels = case.pixels("portrait");
    pixels.grids.push(pixels.grids[0]);
    let error = refused(pixels);
    assert!(error.contains("1 for 2 groups"), "{error}");
    let mut seen = case.model.encode(case.pixels("portrait"), VisionTaps::default()).unwrap();
    seen.states = vec![case.tensor("portrait.visual_embeds").clone()];
    let error = case.model.embed(&seen).unwrap_err();
    assert!(error.to_string().contains("must be 20"), "{error}");
}

#[test]
fn progress_ends_at_its_total() {
    for &name in CASES {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let notify = move |progress| {
            told.lock().unwrap().push(progress);
            ControlFlow::Continue(())
        };
        let options = LoadOptions { progress: Some(Arc::new(notify)), ..LoadOptions::default() };
        Case::load_with(name, &options);
        let last: Progress = *seen.lock().unwrap().last().unwrap();
        assert_eq!(last.tensors_done, last.tensors_total, "{name}");
        assert_eq!(last.bytes_done, last.bytes_total, "{name}");
    }
}
