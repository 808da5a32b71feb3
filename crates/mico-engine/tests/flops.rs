//! The paper's FLOP tables, from model shapes and plans alone.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_engine::families::{FamilySpec, LLAVA_VIDEO};
use mico_engine::flops::{Gflops, Head};
use mico_engine::pruner::Pruning;
use mico_engine::{Counted, Estimate, Switches, TextTokens};
use mico_model::Preset;
use mico_select::Settings;
use mico_select::methods::pruner_by_name;
use mico_select::schedule::Budget;
use mico_vision::Size;

/// Model parts agree with the paper within this, selectors within that.
const MODEL: f64 = 0.01;
const SELECTOR: f64 = 0.03;

fn pruning(method: &str, tokens: usize) -> Pruning {
    match method {
        "none" => Pruning::off(),
        _ => Pruning::new(
            pruner_by_name(method, Settings::default()).unwrap(),
            Budget::Tokens(tokens),
        ),
    }
}

fn next(preset: &str) -> Estimate {
    let config = Preset::find(preset).unwrap().config();
    let family = FamilySpec::find(config.family).unwrap();
    Estimate::new(family, config, Size::new(672, 672), 1, Switches::default()).unwrap()
}

fn video() -> Estimate {
    let config = Preset::find("llava-video-7b").unwrap().config();
    Estimate::new(&LLAVA_VIDEO, config, Size::new(384, 384), 64, Switches::default()).unwrap()
}

/// The paper's prompts have 69.4 text tokens on average, 35 of them before the image.
fn mean(model: &Estimate, method: &str, tokens: usize, of: fn(&Gflops) -> f64) -> f64 {
    let count = |total| {
        let text = TextTokens { total, before: 35 };
        of(&model.prefill(&pruning(method, tokens), text, Head::All).unwrap().gflops)
    };
    0.6 * count(69) + 0.4 * count(70)
}

fn video_prefill(model: &Estimate, method: &str, tokens: usize) -> Counted {
    let text = TextTokens { total: 105, before: 15 };
    model.prefill(&pruning(method, tokens), text, Head::All).unwrap()
}

fn assert_close(found: f64, paper: f64, tolerance: f64, what: &str) {
    let error = (found / paper - 1.0).abs();
    assert!(error <= tolerance, "{what}: {found:.3}, the paper has {paper}");
}

type Column = (&'static str, f64, fn(&Gflops) -> f64, [f64; 3]);

#[test]
fn components_of_next_7b() {
    let columns: [Column; 8] = [
        ("vision", MODEL, |g| g.vision_encoder, [1836.289; 3]),
        ("projector", MODEL, |g| g.projector, [120.879; 3]),
        ("decoder", MODEL, |g| g.decoder, [3002.246, 5136.922, 9520.805]),
        ("head", MODEL, |g| g.output_head, [48.350, 78.496, 139.052]),
        ("stage 1", SELECTOR, |g| g.stage1, [3.729, 4.047, 4.684]),
        ("relevance", SELECTOR, |g| g.stage2_relevance, [0.113, 0.206, 0.391]),
        ("stage 2", SELECTOR, |g| g.stage2_select, [0.881, 3.651, 15.713]),
        ("total", MODEL, |g| g.total, [5012.486, 7180.490, 11637.813]),
    ];
    let model = next("llava-next-7b");
    for (name, tolerance, of, paper) in columns {
        for (tokens, paper) in [160, 320, 640].into_iter().zip(paper) {
            let found = mean(&model, "mico", tokens, of);
            assert_close(found, paper, tolerance, &format!("{name} at T={tokens}"));
        }
    }
    let text = TextTokens { total: 69, before: 35 };
    for (tokens, kept, average) in
        [(160, (320, 115), 159.84), (320, (640, 230), 319.69), (640, (1280, 461), 640.16)]
    {
        let counted = model.prefill(&pruning("mico", tokens), text, Head::All).unwrap();
        assert_eq!((counted.stage1_kept.unwrap(), counted.stage2_kept.unwrap()), kept);
        assert!((counted.layer_average - average).abs() < 0.005, "{}", counted.layer_average);
        assert_eq!(counted.visual_tokens, 2880);
    }
}

/// Rows of the comparison table: teraFLOPs at T = 640, 320 and 160, to one decimal.
#[test]
fn totals_of_every_method_on_next() {
    let rows: [(&str, &[f64], &[f64]); 9] = [
        ("mico", &[11.6, 7.2, 5.0], &[20.8, 12.2, 8.0]),
        ("fastv", &[11.8, 7.4], &[20.9, 12.5]),
        ("sparsevlm", &[11.8, 7.4], &[21.0, 12.3]),
        ("divprune", &[11.7, 7.3, 5.1], &[20.8, 12.3, 8.1]),
        ("visionzip", &[11.7, 7.3, 5.1], &[20.8, 12.2, 8.0]),
        ("vispruner", &[11.7, 7.3, 5.1], &[20.8, 12.3, 8.1]),
        ("holov", &[11.7, 7.3, 5.1], &[20.8, 12.2, 8.0]),
        ("mmtok", &[11.7, 7.3, 5.1], &[20.8, 12.3, 8.1]),
        ("none", &[45.6], &[85.1]),
    ];
    let (small, large) = (next("llava-next-7b"), next("llava-next-13b"));
    for (method, paper_7b, paper_13b) in rows {
        for (model, paper) in [(&small, paper_7b), (&large, paper_13b)] {
            for (tokens, &paper) in [640, 320, 160].into_iter().zip(paper) {
                let found = mean(model, method, tokens, |g| g.total) / 1000.0;
                // Rounding of the printed figure, and 1.5 %: prompts of other lengths were counted
                // for the methods that see everything in their first blocks.
                let error = (found - paper).abs();
                let what = format!("{method} T={tokens}: {found:.3}, the paper has {paper}");
                assert!(error <= 0.05 + 0.015 * paper, "{what}");
            }
        }
    }
    // What the paper leaves out, because no counts meet the budget.
    for method in ["fastv", "sparsevlm"] {
        let text = TextTokens { total: 69, before: 35 };
        let error = small.prefill(&pruning(method, 160), text, Head::All).unwrap_err();
        assert!(error.to_string().contains("cannot meet a layer average of 160"), "{error}");
    }
}

#[test]
fn components_of_video() {
    let model = video();
    let columns: [Column; 6] = [
        ("vision", MODEL, |g| g.vision_encoder, [41_228.062; 3]),
        ("projector", MODEL, |g| g.projector, [1585.032; 3]),
        ("pooling", MODEL, |g| g.visual_pooling, [0.155; 3]),
        ("decoder", MODEL, |g| g.decoder, [15_444.005, 30_518.109, 63_934.284]),
        ("head", MODEL, |g| g.output_head, [929.368, 1738.100, 3357.739]),
        ("total", MODEL, |g| g.total, [59_295.726, 75_330.891, 110_852.455]),
    ];
    for (index, (tokens, pruning)) in
        [(16, 109.104), (32, 261.432), (64, 747.183)].into_iter().enumerate()
    {
        let counted = video_prefill(&model, "mico", tokens);
        for (name, tolerance, of, paper) in &columns {
            let what = format!("{name} at T={tokens}");
            assert_close(of(&counted.gflops), paper[index], *tolerance, &what);
        }
        let g = counted.gflops;
        let selectors = g.stage1 + g.stage2_relevance + g.stage2_select;
        assert_close(selectors, pruning, SELECTOR, &format!("pruning at T={tokens}"));
        assert!((counted.layer_average - tokens as f64).abs() < 0.01);
    }
}

/// The paper's totals on native inputs, which are up to a percent shorter or longer.
#[test]
fn totals_of_every_method_on_video() {
    let model = video();
    // SparseVLM's figures there, 76.338 and 61.750, are those of two blocks that see everything; the
    // authors' code has three, which at T = 16 exceed the budget alone.
    let rows: [(&str, &[f64]); 7] = [
        ("none", &[243.833]),
        ("fastv", &[75.951, 60.937]),
        ("divprune", &[74.738, 59.002]),
        ("vispruner", &[74.732, 58.997]),
        ("mmtok", &[74.734, 58.998]),
        ("apet", &[74.734, 58.994]),
        ("mico", &[74.834, 58.913]),
    ];
    for (method, paper) in rows {
        for (tokens, &paper) in [32, 16].into_iter().zip(paper) {
            let found = video_prefill(&model, method, tokens).gflops.total / 1000.0;
            assert_close(found, paper, 0.02, &format!("{method} at T={tokens}"));
        }
    }
}

#[test]
fn the_head_of_the_last_position_is_one_row_of_the_whole() {
    let model = next("llava-next-mistral-7b");
    let count = |head| {
        let text = TextTokens { total: 69, before: 35 };
        model.prefill(&Pruning::off(), text, head).unwrap().gflops
    };
    let (last, all) = (count(Head::Last), count(Head::All));
    assert!((last.output_head * 2949.0 - all.output_head).abs() < 1e-6);
    assert_eq!(last.decoder, all.decoder);
}
