//! Keys of encoded images: different wherever the bits may be, equal wherever an encoding can be shared;
//! and a shared encoding gives the bits of a fresh one.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::collections::BTreeMap;

use mico_engine::pruner::Pruning;
use mico_engine::{
    EncodedImage, Engine, EngineOptions, ErrorKind, ImageInput, ImageKey, ImageLimits, Observe,
    Outcome, Phase, Progress, Prompt, Request, Sequence,
};
use mico_select::Settings;
use mico_select::methods::pruner_by_name;
use mico_select::schedule::Budget;
use mico_vision::decode::AlphaMode;
use support::running::{assert_same, cache_bits, methods, requests, whole};
use support::{Case, folder, weights};

fn key(engine: &Engine, request: &Request) -> ImageKey {
    let prepared = engine.prepare(request, &mut ()).unwrap();
    let [key] = prepared.image_keys() else { panic!("{} images", prepared.image_keys().len()) };
    *key
}

/// Asserts that all keys differ, by what they are of.
fn assert_distinct(keys: &[(&str, ImageKey)]) {
    let mut seen = BTreeMap::new();
    for (what, key) in keys {
        assert_eq!(key.to_string().len(), 64);
        if let Some(other) = seen.insert(*key.as_bytes(), what) {
            panic!("{what} has the key of {other}");
        }
    }
}

fn with(request: &Request, change: impl FnOnce(&mut Request)) -> Request {
    let mut request = request.clone();
    change(&mut request);
    request
}

fn about(image: ImageInput) -> Request {
    Request::new(vec![image], Prompt::question("What is it?", 1))
}

fn method(name: &str, budget: usize) -> Pruning {
    Pruning::new(pruner_by_name(name, Settings::default()).unwrap(), Budget::Tokens(budget))
}

#[test]
fn whatever_decides_the_features_is_in_the_key() {
    let case = Case::load("llava15");
    let plain = about(case.image("portrait"));
    let decoded = case.engine.decode_image(0, &case.image("portrait")).unwrap();
    let mut changed = decoded.clone();
    changed.data_mut()[5] ^= 1;
    let ImageInput::Encoded(mut longer) = case.image("portrait") else { panic!("not a file") };
    // Decoders do not look behind the end of a file.
    longer.push(0);
    let opened = |options: &EngineOptions| Engine::open(&folder("llava15"), options).unwrap().0;
    let mut see_through = EngineOptions::default();
    see_through.decode.alpha = AlphaMode::Drop;
    let named = |name: &str| opened(&EngineOptions::default()).with_fingerprint(name);
    let switched = |text: &str| with(&plain, |r| r.options.switches = text.parse().unwrap());
    let pruned = |name| with(&plain, |request| request.options.pruning = method(name, 8));
    let engine = &case.engine;
    assert_distinct(&[
        ("a file", key(engine, &plain)),
        ("another file", key(engine, &about(case.image("landscape")))),
        ("the same pixels in other bytes", key(engine, &about(ImageInput::Encoded(longer)))),
        ("its pixels", key(engine, &about(ImageInput::Decoded(decoded)))),
        ("other pixels", key(engine, &about(ImageInput::Decoded(changed)))),
        ("another engine", key(&Case::load("llava15").engine, &plain)),
        ("transparency dropped", key(&opened(&see_through).with_fingerprint("a"), &plain)),
        ("named weights", key(&named("a"), &plain)),
        ("other weights", key(&named("b"), &plain)),
        ("padding", key(engine, &switched("llava15_pad=crop"))),
        ("resampling", key(engine, &switched("resize_backend=torch"))),
        ("reliability", key(engine, &pruned("mico"))),
        ("keys", key(engine, &pruned("visionzip"))),
        ("two blocks", key(engine, &pruned("vscan"))),
        ("tensors", key(engine, &with(&plain, |r| r.turn.observe = Observe::TENSORS))),
    ]);
}

#[test]
fn packing_limits_and_the_order_of_frames_are_in_the_key() {
    let next = Case::load("next-llama");
    let plain = about(next.image("wide"));
    let pruned = with(&plain, |request| request.options.pruning = method("random", 9));
    let unpadded = with(&pruned, |request| {
        request.options.switches = "next_packing=spatial_unpad".parse().unwrap();
    });
    let other_way =
        with(&pruned, |request| request.options.switches = "anyres_axis=hf".parse().unwrap());
    assert_distinct(&[
        ("unpruned", key(&next.engine, &plain)),
        ("pruned", key(&next.engine, &pruned)),
        ("unpadded", key(&next.engine, &unpadded)),
        ("axis", key(&next.engine, &other_way)),
    ]);
    // Both say the same of an unpruned run's packing.
    let said = with(&plain, |request| {
        request.options.switches = "next_packing=spatial_unpad".parse().unwrap();
    });
    assert_eq!(key(&next.engine, &said), key(&next.engine, &plain));
    let qwen = Case::load("qwen25");
    let plain = about(qwen.image("odd"));
    let limited = |pixels| {
        let limits = ImageLimits { max_pixels: Some(pixels), ..ImageLimits::default() };
        with(&plain, |request| request.options.limits = limits)
    };
    assert_distinct(&[
        ("its own limits", key(&qwen.engine, &plain)),
        ("few pixels", key(&qwen.engine, &limited(1_024))),
        ("more pixels", key(&qwen.engine, &limited(4_096))),
    ]);
    let video = Case::load("video");
    let request = video.request(&video.runs("unpruned").pop().unwrap());
    let pictures = request.turn.images.iter().enumerate();
    let frames: Vec<_> =
        pictures.map(|(index, image)| video.engine.decode_image(index, image).unwrap()).collect();
    assert!(frames.len() > 2 && frames[0] != frames[1]);
    let mut swapped = frames.clone();
    swapped.swap(0, 1);
    let about_frames = |frames: &[_]| about(ImageInput::Frames(frames.to_vec()));
    assert_distinct(&[
        ("frames", key(&video.engine, &about_frames(&frames))),
        ("another order", key(&video.engine, &about_frames(&swapped))),
        ("fewer", key(&video.engine, &about_frames(&frames[1..]))),
        ("files", key(&video.engine, &request)),
    ]);
}

#[test]
fn what_does_not_decide_the_features_is_not_in_the_key() {
    let case = Case::load("llava15");
    let pruned = with(&about(case.image("portrait")), |r| r.options.pruning = method("mico", 8));
    let same = |change: fn(&mut Request)| {
        assert_eq!(key(&case.engine, &with(&pruned, change)), key(&case.engine, &pruned));
    };
    same(|_| ());
    same(|request| request.turn.prompt = Prompt::question("Where is it?", 1));
    same(|request| request.options.pruning = method("mico", 4));
    same(|request| request.options.pruning.refine_layer = Some(2));
    same(|request| request.turn.generation.max_new_tokens = 3);
    same(|request| request.turn.observe = Observe::TRACE);
    same(|request| {
        request.options.switches = "position_mode=compact,relevance=visual_only".parse().unwrap();
    });
    // The same weights by name, opened twice; and an image in a later turn.
    let named = || Case::load("llava15").engine.with_fingerprint("llava");
    assert_eq!(key(&named(), &pruned), key(&named(), &pruned));
    let mut session = case.engine.session(pruned.options.clone());
    session.ask(&case.engine, &pruned.turn, &mut ()).unwrap();
    let prepared = session.prepare(&case.engine, &pruned.turn, &mut ()).unwrap();
    assert_eq!(prepared.image_keys(), [key(&case.engine, &pruned)]);
}

/// Runs a request and takes every image's encoding as soon as there is one.
fn watched(engine: &Engine, request: &Request) -> (Outcome, Vec<EncodedImage>) {
    let prepared = engine.prepare(request, &mut ()).unwrap();
    let keys = prepared.image_keys().to_vec();
    let mut sequence = engine.begin(prepared).unwrap();
    let mut images: Vec<EncodedImage> = Vec::new();
    loop {
        match sequence.advance(engine).unwrap() {
            Progress::Step(_) => images.extend(sequence.encoded(images.len())),
            Progress::Token(_) => assert!(sequence.encoded(0).is_none()),
            _ => break,
        }
        while let Some(image) = sequence.encoded(images.len()) {
            images.push(image);
        }
    }
    let found: Vec<ImageKey> = images.iter().map(EncodedImage::key).collect();
    assert_eq!(found, keys);
    (sequence.finish().unwrap().0, images)
}

/// Runs a request whose images are given; no block of the tower may run.
fn supplied(engine: &Engine, request: &Request, images: &[EncodedImage]) -> Sequence {
    let mut prepared = engine.prepare(request, &mut ()).unwrap();
    for (index, image) in images.iter().enumerate() {
        assert!(!prepared.is_encoded(index));
        prepared.supply(index, image.clone()).unwrap();
        assert!(prepared.is_encoded(index));
    }
    let mut sequence = engine.begin(prepared).unwrap();
    loop {
        match sequence.advance(engine).unwrap() {
            Progress::Step(step) => assert_ne!(step.phase, Phase::Vision),
            Progress::Finished => return sequence,
            _ => {}
        }
    }
}

#[test]
fn a_supplied_encoding_gives_the_bits_of_a_fresh_one() {
    for &name in weights() {
        let case = Case::load(name);
        let mut all = methods(&case, if name.starts_with("qwen35") { 20 } else { 8 });
        all.extend(requests(&case));
        for request in &all {
            let what = format!("{name}, {}", request.options.pruning.pruner.name());
            let (expected, _, session) = whole(&case.engine, request);
            let (outcome, images) = watched(&case.engine, request);
            assert_same(&outcome, &expected, &what);
            assert!(images.iter().all(|image| image.bytes() > 0), "{what}");
            let sequence = supplied(&case.engine, request, &images);
            let (outcome, again) = sequence.finish().unwrap();
            assert_same(&outcome, &expected, &what);
            assert_eq!(cache_bits(again.caches()), cache_bits(session.caches()), "{what}");
            assert_eq!((outcome.seconds.vision, outcome.seconds.decode > 0.0), (0.0, true));
        }
    }
}

#[test]
fn an_encoding_of_something_else_is_refused() {
    let case = Case::load("llava15");
    let request = |image: &str, pruning: Pruning| about(case.image(image)).with(pruning);
    let (_, images) = watched(&case.engine, &request("portrait", method("mico", 8)));
    let refuse = |request: &Request, index: usize| {
        let mut prepared = case.engine.prepare(request, &mut ()).unwrap();
        let error = prepared.supply(index, images[0].clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(!prepared.is_encoded(0));
    };
    refuse(&request("landscape", method("mico", 8)), 0);
    refuse(&request("portrait", Pruning::off()), 0);
    refuse(&request("portrait", method("visionzip", 8)), 0);
    refuse(&request("portrait", method("mico", 8)), 1);
    // As an input it serves whoever needs no more signals than it has, and nobody else.
    let given = |pruning| {
        let request = about(ImageInput::Features(images[0].clone())).with(pruning);
        case.engine.run(&request, &mut ())
    };
    let other = given(method("mico", 4)).unwrap();
    let expected = case.run(&request("portrait", method("mico", 4)));
    assert_eq!((other.answer, other.stage1), (expected.answer, expected.stage1));
    for needs_more in [Pruning::off(), method("visionzip", 8), method("divprune", 8)] {
        let error = given(needs_more).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("without signals that are needed"), "{error}");
    }
}
