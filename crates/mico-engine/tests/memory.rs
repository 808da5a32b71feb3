//! Memory of long inputs, measured: scoring never makes a pruned run larger than the unpruned one,
//! and no attention map of all tokens against all ever exists.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::ops::ControlFlow;
use std::sync::Mutex;

use mico_engine::families::FamilySpec;
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, GenerationOptions, ImageInput, ImageLimits, Outcome, Phase, Prompt, Request, Sink, Step,
};
use mico_model::config::{QwenTowerKind, QwenVision, VideoVision};
use mico_model::{Model, ModelConfig, Preset, SyntheticOptions};
use mico_select::schedule::Budget;
use mico_select::{Settings, methods};
use mico_vision::{RgbImage, Size};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Tests that measure must not run beside each other.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;
/// Scores of attention rows that exist at a time.
const TILE: usize = 16 * MIB;

/// Images as large as a test wants them.
const LARGE: ImageLimits =
    ImageLimits { min_pixels: None, max_pixels: Some(1 << 24), max_tiles: None };

/// A published model's shape at a width that a test can afford.
fn narrow(preset: &str) -> ModelConfig {
    let mut config = Preset::find(preset).unwrap().config();
    let decoder = &mut config.decoder;
    decoder.hidden_size = 64;
    decoder.intermediate_size = 128;
    decoder.blocks = 4;
    decoder.heads = 4;
    decoder.kv_heads = 2;
    decoder.head_dim = 16;
    decoder.vocab_size = 1000;
    decoder.max_positions = 1 << 16;
    if let mico_model::config::RopeAxes::Chunked(sections) = &mut decoder.rope.axes {
        *sections = [2, 3, 3];
    }
    config.image_token_id = 999;
    if let Some(vision) = config.vision.get_mut::<QwenVision>() {
        vision.hidden_size = 32;
        vision.intermediate_size = 48;
        vision.blocks = 3;
        vision.heads = 2;
        vision.output = 64;
        if let QwenTowerKind::Windowed { full, .. } = &mut vision.kind {
            *full = vec![2];
        }
    } else {
        let vision = config.vision.get_mut::<VideoVision>().expect("a Qwen or video model");
        vision.tower.hidden_size = 32;
        vision.tower.intermediate_size = 48;
        vision.tower.blocks = 2;
        vision.tower.heads = 2;
    }
    config
}

fn engine(preset: &str) -> Engine {
    let config = narrow(preset);
    let family = FamilySpec::find(config.family).unwrap();
    let preprocessing = family.default_preprocessing(&config).unwrap();
    let (model, _) = Model::synthetic(config, &SyntheticOptions::default()).unwrap();
    Engine::from_parts(family, model, None, preprocessing).unwrap()
}

fn picture(width: u32, height: u32, seed: u32) -> RgbImage {
    let mut state = seed | 1;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let size = Size::new(width, height);
    RgbImage::new(size, (0..size.area() * 3).map(|_| byte()).collect()).unwrap()
}

/// Counts the steps it is told of.
#[derive(Default)]
struct Steps {
    vision: usize,
    prefill: usize,
}

impl Sink for Steps {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        assert!((1..=step.total).contains(&step.done));
        match step.phase {
            Phase::Vision => self.vision += 1,
            Phase::Prefill => self.prefill += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Runs a request and gives what it allocated at most on top of what there was.
fn measured(engine: &Engine, request: &Request) -> (Outcome, usize) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let mut steps = Steps::default();
    let outcome = engine.run(request, &mut steps).unwrap();
    let peak = ALLOCATED.peak_usage() - before;
    assert!(steps.vision > 1, "the tower's progress was not told");
    assert_eq!(steps.prefill, engine.model().decoder().blocks());
    (outcome, peak)
}

fn request(image: ImageInput) -> Request {
    let ids: Vec<u32> = (3..23).chain([999]).chain(30..60).collect();
    let mut request = Request::new(vec![image], Prompt::InputIds(ids));
    request.turn.generation = GenerationOptions::greedy(2);
    request
}

#[test]
fn pruning_4096_tokens_of_an_image_takes_no_more_memory_than_not_pruning() {
    let _alone = ALONE.lock();
    let engine = engine("qwen2.5-vl-7b");
    let mut request = request(ImageInput::Decoded(picture(64 * 28, 64 * 28, 1)));
    request.options.limits = LARGE;
    let (plain, unpruned) = measured(&engine, &request);
    assert_eq!(plain.usage.visual_tokens, 4096);
    for tokens in [512, 128] {
        request.options.pruning = Pruning::mico(Budget::Tokens(tokens));
        let (outcome, pruned) = measured(&engine, &request);
        assert_eq!(outcome.stage1.unwrap().kept.len(), 2 * tokens);
        println!("T={tokens}: {} MiB, unpruned {} MiB", pruned / MIB, unpruned / MIB);
        assert!(pruned <= unpruned, "T={tokens}: {pruned} bytes, unpruned {unpruned}");
    }
    // One map of the tower's last block would take 2 heads x 16384 x 16384 x 4 bytes = 2 GiB.
    assert!(unpruned < 512 * MIB, "{unpruned} bytes");
}

#[test]
fn stage_two_of_a_64_frame_video_stays_within_the_selectors_memory() {
    let _alone = ALONE.lock();
    let engine = engine("llava-video-7b");
    let frames = (0..64).map(|frame| picture(40, 30, frame)).collect();
    let mut request = request(ImageInput::Frames(frames));
    request.options.pruning = Pruning::mico(Budget::Tokens(64));
    let (outcome, peak) = measured(&engine, &request);
    let (usage, seconds) = (outcome.usage, outcome.seconds);
    assert_eq!(usage.visual_tokens, 64 * 169);
    assert_eq!(outcome.stage1.as_ref().unwrap().groups, [128; 64]);
    // L = 4 and K = 1: R = round((4 x 64 x 64 - 8192) / 3).
    assert_eq!(outcome.cuts.last().unwrap().kept.len(), 2731);
    assert!((usage.layer_average - 64.0).abs() < 0.01, "{}", usage.layer_average);
    assert!(seconds.stage2_select > 0.0);
    println!("{} MiB, Stage 2 {:.2} s", peak / MIB, seconds.stage2_select);
    let limit = mico_select::Options::default().memory;
    assert!(peak < limit + 512 * MIB, "{peak} bytes, the selector may take {limit}");
}

/// What a run took at most on top of what there was, while the tower ran and afterwards.
struct Peaks {
    tower: usize,
    rest: usize,
}

/// Reads the peak when the tower is done, and lets it begin anew.
struct Halves {
    before: usize,
    tower: usize,
}

impl Sink for Halves {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        if step.phase == Phase::Vision && step.done == step.total {
            self.tower = ALLOCATED.peak_usage() - self.before;
            ALLOCATED.reset_peak_usage();
        }
        ControlFlow::Continue(())
    }
}

fn peaks(engine: &Engine, request: &Request) -> (Outcome, Peaks) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let mut halves = Halves { before, tower: 0 };
    let outcome = engine.run(request, &mut halves).unwrap();
    let rest = ALLOCATED.peak_usage() - before;
    assert!(halves.tower > 0, "the tower's progress was not told");
    (outcome, Peaks { tower: halves.tower, rest })
}

/// No pruner allocates an attention map: what a run takes beyond the unpruned one is a tile of the
/// rows it declared and what its selector compares, or nothing.
#[test]
fn no_pruner_allocates_a_map_beyond_its_declared_rows() {
    let _alone = ALONE.lock();
    let engine = engine("qwen2.5-vl-7b");
    let mut request = request(ImageInput::Decoded(picture(40 * 28, 40 * 28, 1)));
    request.options.limits = LARGE;
    let (plain, unpruned) = peaks(&engine, &request);
    let tokens = plain.usage.visual_tokens;
    assert_eq!(tokens, 1600);
    // All tokens against all in one head; the tower sees four patches for each token.
    let one_head = 4 * tokens * tokens;
    let tower_map = 2 * 16 * one_head;
    for method in methods::pruners() {
        if matches!(method.name, "none" | "cdpruner") {
            continue;
        }
        let pruner = methods::pruner_by_name(method.name, Settings::default()).unwrap();
        // What cuts inside the decoder needs a budget that its first blocks leave room for.
        let budget = match method.name {
            "fastv" | "dart" | "sparsevlm" | "pyramiddrop" => 1000,
            _ => 100,
        };
        request.options.pruning = Pruning::new(pruner, Budget::Tokens(budget));
        let (outcome, pruned) = peaks(&engine, &request);
        assert!(outcome.usage.layer_average < 1010.0);
        let name = method.name;
        println!("{name}: tower {} MiB, rest {} MiB", pruned.tower / MIB, pruned.rest / MIB);
        // In the tower: means of attention are summed up in tiles, whatever the number of rows.
        let allowed = unpruned.tower + 2 * TILE + 2 * MIB;
        assert!(pruned.tower <= allowed && 2 * TILE < tower_map / 4, "{name}: {}", pruned.tower);
        // Afterwards: rules that compare tokens hold similarities, as many as one head's map has
        // numbers; those that read attention alone hold less than a quarter of that.
        let similarities = match name {
            "fastv" | "vscan" | "pyramiddrop" | "random" | "visionzip" => one_head / 4,
            "sparsevlm" => 2 * one_head,
            _ => one_head + one_head / 4,
        };
        let allowed = unpruned.rest + similarities;
        assert!(pruned.rest <= allowed, "{name}: {} bytes of {allowed}", pruned.rest);
    }
}
