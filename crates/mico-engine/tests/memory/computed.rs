//! Memory that is computed before it is taken, against what is allocated.

use std::path::Path;

use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, ErrorKind, GenerationOptions, ImageInput, MemoryCheck, Prompt, Request,
    RequestMemory, RequestTokens,
};
use mico_model::config::{
    InternVision, LlavaVision, QwenTowerKind, QwenVision, VideoVision, VitConfig,
};
use mico_model::{
    LoadOptions, Model, ModelConfig, ModelFiles, ModelMemory, Precision, Preset, QuantKind,
    SyntheticOptions,
};
use mico_select::schedule::Budget;
use mico_vision::layout::VisualLayout;

use super::{ALLOCATED, ALONE, MIB, made, picture};

/// A published model's shape at about an eighth of its width and a few blocks: wide enough that buffers of a fixed size
/// do not decide what is measured.
fn small(preset: &str) -> ModelConfig {
    let mut config = Preset::find(preset).unwrap().config();
    let decoder = &mut config.decoder;
    decoder.hidden_size = 512;
    decoder.intermediate_size = 1280;
    decoder.blocks = 4;
    decoder.heads = 8;
    decoder.kv_heads = decoder.kv_heads.min(4);
    decoder.vocab_size = 4000;
    decoder.max_positions = 1 << 16;
    if let Some(linear) = &mut decoder.linear_attention {
        linear.mixers.truncate(4);
        (linear.key_heads, linear.value_heads) = (4, 8);
    }
    config.image_token_id = 3999;
    config.eos_token_ids.clear();
    let narrow = |tower: &mut VitConfig| {
        (tower.hidden_size, tower.intermediate_size, tower.blocks, tower.heads) = (256, 1024, 2, 4);
    };
    let vision = &mut config.vision;
    if let Some(vision) = vision.get_mut::<QwenVision>() {
        (vision.hidden_size, vision.intermediate_size, vision.heads) = (256, 768, 4);
        (vision.blocks, vision.output) = (3, 512);
        match &mut vision.kind {
            QwenTowerKind::Windowed { full, .. } => *full = vec![2],
            QwenTowerKind::Positioned { deepstack, .. } if !deepstack.is_empty() => {
                *deepstack = vec![0, 1];
            }
            QwenTowerKind::Positioned { .. } => {}
        }
    } else if let Some(vision) = vision.get_mut::<LlavaVision>() {
        narrow(&mut vision.tower);
    } else if let Some(vision) = vision.get_mut::<InternVision>() {
        narrow(&mut vision.tower);
    } else {
        narrow(&mut vision.get_mut::<VideoVision>().unwrap().tower);
    }
    config
}

/// Whether two numbers of bytes differ by less than a share of the second, and a little.
fn close(found: u64, real: u64, percent: u64) -> bool {
    found.abs_diff(real) <= real * percent / 100 + (1 << 18)
}

/// What a build leaves allocated, and the most there was of it.
fn allocated<T>(build: impl FnOnce() -> T) -> (T, u64, u64) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let built = build();
    let (held, peak) = (ALLOCATED.current_usage() - before, ALLOCATED.peak_usage() - before);
    (built, held as u64, peak as u64)
}

fn check_model(name: &str, computed: ModelMemory, (held, peak): (u64, u64)) {
    let ModelMemory { weights, loading, .. } = computed;
    println!("{name}: weights {weights} of {held}, loading {loading} of {peak}");
    assert!(close(weights, held, 3), "{name}: {weights} bytes computed, {held} are held");
    assert!(close(loading, peak, 5), "{name}: {loading} bytes computed, {peak} at most");
}

#[test]
fn weights_take_what_is_computed_in_every_format_and_family() {
    let _alone = ALONE.lock();
    let formats = [
        (Precision::F32, None),
        (Precision::F16, None),
        (Precision::Bf16, None),
        (Precision::F16, Some(QuantKind::Q4K)),
        (Precision::F32, Some(QuantKind::Q6K)),
        (Precision::F16, Some(QuantKind::Q8_0)),
    ];
    let others = ["qwen2.5-vl-7b", "qwen3-vl-8b", "qwen3.5-9b", "internvl3-8b", "llava-video-7b"];
    let others = others.map(|preset| (preset, (Precision::F16, Some(QuantKind::Q4K))));
    let first = formats.map(|format| ("llava-1.5-7b", format));
    for (preset, (precision, quantize)) in first.into_iter().chain(others) {
        let options = SyntheticOptions { precision, quantize, ..SyntheticOptions::default() };
        let computed = Model::memory_to_make(&small(preset), &options).unwrap();
        let (_model, held, peak) = allocated(|| Model::synthetic(small(preset), &options).unwrap());
        check_model(&format!("{preset} {precision:?} {quantize:?}"), computed, (held, peak));
    }
}

#[test]
fn a_checkpoint_takes_what_its_headers_say() {
    let _alone = ALONE.lock();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mico-tiny/model");
    let files = ModelFiles::from(folder.as_path());
    let kinds = [None, Some(QuantKind::Q4K), Some(QuantKind::Q8_0)];
    for (precision, quantize) in [Precision::Stored, Precision::F32]
        .into_iter()
        .flat_map(|precision| kinds.map(|kind| (precision, kind)))
    {
        let load = LoadOptions { precision, quantize, ..LoadOptions::default() };
        let config = ModelConfig::read(files, mico_model::ARCHITECTURES).unwrap();
        let computed = Model::memory_to_load(&config, files, &load).unwrap();
        let (_model, held, peak) = allocated(|| Model::load_as(config, files, &load).unwrap());
        check_model(&format!("tiny {precision:?} {quantize:?}"), computed, (held, peak));
    }
}

/// Tokens of an answer: more than caches have room for from the start.
const NEW: usize = 70;

/// An image and 50 words, with an answer of so many tokens.
fn request(engine: &Engine, budget: Option<usize>) -> Request {
    let size = if engine.model().config().vision.tokens_per_view().is_some() { 400 } else { 700 };
    let image = if engine.takes_video() {
        ImageInput::Frames((0..8).map(|frame| picture(60, 40, frame)).collect())
    } else {
        ImageInput::Decoded(picture(size, size, 1))
    };
    let ids: Vec<u32> = (3..23).chain([3999]).chain(30..60).collect();
    let mut request = Request::new(vec![image], Prompt::InputIds(ids));
    request.turn.generation = GenerationOptions::greedy(NEW);
    if let Some(tokens) = budget {
        request.options.pruning = Pruning::mico(Budget::Tokens(tokens));
    }
    request
}

/// What a request is computed to take, from the layout of its image alone.
fn computed(engine: &Engine, request: &Request) -> RequestMemory {
    let image = engine.encode_image(&request.turn.images[0], &request.options, &mut ()).unwrap();
    let layout: &VisualLayout = image.layout();
    let plan = engine.plan(&request.options, &[layout]).unwrap();
    let tokens = RequestTokens {
        images: &[layout],
        plan: &plan,
        text: 50,
        max_new: NEW,
        cached: &[],
        kv_format: request.options.switches.kv_cache,
    };
    engine.request_memory(&tokens)
}

#[test]
fn requests_take_no_more_than_is_computed_and_not_much_less() {
    let _alone = ALONE.lock();
    for preset in [
        "llava-1.5-7b",
        "llava-next-7b",
        "qwen2.5-vl-7b",
        "qwen3-vl-8b",
        "qwen3.5-9b",
        "internvl3-8b",
        "llava-video-7b",
    ] {
        let engine = made(small(preset), &SyntheticOptions::default());
        // The hybrid model's blocks leave no room to cut two of four.
        let budgets = if preset == "qwen3.5-9b" { &[None][..] } else { &[None, Some(32)] };
        for &budget in budgets {
            let request = request(&engine, budget);
            let bound = computed(&engine, &request);
            let (session, held, peak) = allocated(|| {
                let mut session = engine.session(request.options.clone());
                let outcome = session.ask(&engine, &request.turn, &mut ()).unwrap();
                assert_eq!(outcome.answer.ids.len(), NEW);
                session
            });
            println!(
                "{preset} {budget:?}: {} MiB of {}, caches {} of {}",
                peak / MIB as u64,
                bound.total() / MIB as u64,
                held,
                bound.kv_bytes
            );
            assert!(peak <= bound.total(), "{preset}: {peak} bytes, computed {bound:?}");
            assert!(
                bound.total() <= peak + peak / 2 + 48 * MIB as u64,
                "{preset}: {peak}, {bound:?}"
            );
            assert!(close(bound.kv_bytes, held, 1), "{preset}: {held} held, {bound:?}");
            drop(session);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    let _alone = ALONE.lock();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mico-tiny/model");
    let open = |memory| {
        let options = EngineOptions { memory, ..EngineOptions::default() };
        Engine::open(folder.as_path(), &options).map(|(engine, _)| engine)
    };
    let error = open(MemoryCheck::Limit(1 << 20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let message = error.to_string();
    assert!(message.contains("for weights") && message.contains("1 MiB are free"), "{message}");
    assert!(message.contains("--quantize q4k takes"), "{message}");
    assert!(open(MemoryCheck::Limit(1 << 30)).is_ok() && open(MemoryCheck::Off).is_ok());

    let engine = made(small("llava-1.5-7b"), &SyntheticOptions::default());
    let mut request = request(&engine, None);
    request.turn.generation = GenerationOptions::greedy(60_000);
    let engine = engine.with_memory_check(MemoryCheck::Limit(200 << 20));
    let (error, _, peak) = allocated(|| engine.run(&request, &mut ()).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let message = error.to_string();
    assert!(message.contains("for KV caches") && message.contains("fewer new tokens"), "{message}");
    assert!(peak < 32 << 20, "{peak} bytes were taken first");
    request.turn.generation = GenerationOptions::greedy(2);
    engine.with_memory_check(MemoryCheck::Limit(1 << 30)).run(&request, &mut ()).unwrap();
}
