//! The paper's schedule tables, row by row.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::Error;
use mico_select::schedule::{Budget, PRESETS, Policy, Preset, Schedule, preset};

fn find(name: &str) -> &'static Preset {
    preset(name).unwrap_or_else(|| panic!("{name}"))
}

fn image(name: &str, budget: usize, sizes: &[usize], pool: usize) -> Schedule {
    find(name).policy.image(budget, sizes, pool).unwrap()
}

/// (model, L, K, R at a budget of T as a fraction of T).
const TABLE: &[(&str, usize, usize, usize, usize)] = &[
    ("llava-1.5-7b", 32, 7, 18, 25),
    ("llava-next-7b", 32, 7, 18, 25),
    ("llava-next-mistral-7b", 32, 7, 18, 25),
    ("llava-1.5-13b", 40, 8, 3, 4),
    ("llava-next-13b", 40, 14, 6, 13),
    ("qwen2.5-vl-7b", 28, 2, 12, 13),
    ("internvl3-8b", 28, 4, 5, 6),
    ("qwen3-vl-8b", 36, 6, 4, 5),
    ("qwen3.5-9b", 32, 12, 2, 5),
    ("llava-video-7b", 28, 6, 8, 11),
    // The embedded model, which the paper does not have.
    ("tiny", 8, 2, 2, 3),
];

#[test]
fn schedule_table() {
    assert_eq!(TABLE.len(), PRESETS.len());
    for &(name, layers, refine, num, den) in TABLE {
        let policy = find(name).policy;
        assert_eq!((policy.layers, policy.refine_layer), (layers, refine), "{name}");
        for budget in [2usize, 5, 16, 25, 32, 64, 128, 160, 256, 320, 640] {
            let schedule = policy.image(budget, &[4096], 2).unwrap_or_else(|e| {
                panic!("{name} at {budget}: {e}");
            });
            assert_eq!(schedule.pooled(), 2 * budget);
            let exact = (budget * num) as f64 / den as f64;
            let rounded = exact.round_ties_even().max(1.0);
            assert_eq!(schedule.keep as f64, rounded, "{name} at {budget}");
        }
    }
}

#[test]
fn stated_counts() {
    let s = image("llava-1.5-7b", 64, &[576], 2);
    assert_eq!((s.visual_tokens, s.pooled(), s.keep), (576, 128, 46));
    let next = [576; 5];
    for (budget, pooled, keep, average) in
        [(160, 320, 115, 159.84), (320, 640, 230, 319.69), (640, 1280, 461, 640.16)]
    {
        let s = image("llava-next-7b", budget, &next, 2);
        assert_eq!((s.pooled(), s.keep), (pooled, keep));
        assert!((s.layer_average() - average).abs() < 0.005, "{}", s.layer_average());
    }
    for (budget, pooled, keep, average) in [(256, 512, 102, 255.75), (128, 256, 51, 127.875)] {
        let s = image("qwen3.5-9b", budget, &[1296], 2);
        assert_eq!((s.pooled(), s.keep, s.layer_average()), (pooled, keep, average));
    }
}

#[test]
fn stage_one_ablation_tables() {
    let qwen = [
        (256, [256, 512, 768, 1024, 1280], [256, 236, 217, 197, 177]),
        (128, [128, 256, 384, 512, 640], [128, 118, 108, 98, 89]),
    ];
    let intern = [
        (256, [256, 512, 768, 1024, 1280], [256, 213, 171, 128, 85]),
        (128, [128, 256, 384, 512, 640], [128, 107, 85, 64, 43]),
    ];
    for (name, rows) in [("qwen2.5-vl-7b", qwen), ("internvl3-8b", intern)] {
        for (budget, pools, keeps) in rows {
            for n in 1..=5 {
                let s = image(name, budget, &[1296], n);
                assert_eq!((s.pooled(), s.keep), (pools[n - 1], keeps[n - 1]), "{name} n={n}");
            }
        }
    }
}

#[test]
fn video_is_per_frame_and_refines_over_all_frames() {
    let sizes = vec![169; 64];
    for budget in [64, 32, 16] {
        let s = find("llava-video-7b").policy.video(budget, &sizes, 2).unwrap();
        assert_eq!(s.pool, vec![2 * budget; 64]);
        let exact = (64 * budget * 8) as f64 / 11.0;
        assert_eq!(s.keep as f64, exact.round_ties_even());
        assert!((s.layer_average() / 64.0 - budget as f64).abs() < 0.01);
    }
    // A frame shorter than its share caps it; R is computed from what is there.
    let s = find("llava-video-7b").policy.video(128, &[169, 169], 2).unwrap();
    assert_eq!(s.pool, [169, 169]);
    assert_eq!(s.keep, ((256.0 * 28.0 - 6.0 * 338.0) / 22.0f64).round_ties_even() as usize);
}

#[test]
fn groups_split_as_each_family_does() {
    // 2T = 256 over 3 tiles: LLaVA drops the one left over, InternVL gives it to the first tile.
    assert_eq!(image("llava-next-7b", 128, &[576; 3], 2).pool, [85; 3]);
    assert_eq!(image("internvl3-8b", 128, &[256; 3], 2).pool, [86, 85, 85]);
    // LLaVA recomputes R from the 255 survivors, InternVL does not.
    let realised = image("llava-next-7b", 128, &[576; 3], 2);
    assert_eq!(realised.keep, ((128.0 * 32.0 - 7.0 * 255.0) / 25.0f64).round_ties_even() as usize);
    // At least one per group, even when the pool is smaller than the number of groups.
    assert_eq!(image("internvl3-8b", 1, &[256; 7], 2).pool, [1; 7]);
}

#[test]
fn small_inputs_clip_or_refuse() {
    let s = image("llava-1.5-7b", 1000, &[576], 2);
    assert_eq!((s.pooled(), s.keep, s.layer_average()), (576, 576, 576.0));
    let policy = Policy { refine_layer: 20, ..find("llava-1.5-7b").policy };
    assert_eq!(policy.image(64, &[576], 2).unwrap().keep, 1, "a late cut clips to one token");
    let error = find("qwen3.5-9b").policy.image(256, &[100], 2).unwrap_err();
    assert!(matches!(&error, Error::Schedule { reason } if reason.contains("outside [1, 100]")));
}

#[test]
fn bad_requests_are_named() {
    let policy = find("llava-1.5-7b").policy;
    for (error, word) in [
        (policy.image(0, &[576], 2), "budget"),
        (policy.image(64, &[576], 0), "pool"),
        (policy.image(64, &[], 2), "groups"),
        (policy.image(64, &[576, 0], 2), "group"),
        (Policy { refine_layer: 0, ..policy }.image(64, &[576], 2), "refine-layer"),
        (Policy { refine_layer: 32, ..policy }.image(64, &[576], 2), "refine-layer"),
    ] {
        assert!(error.unwrap_err().to_string().contains(word));
    }
    for share in [0.0, -0.5, 1.5, f64::NAN] {
        assert!(Budget::Share(share).tokens(576).is_err());
    }
    assert_eq!(Budget::Share(1.0).tokens(576).unwrap(), 576);
    assert_eq!(Budget::Share(1e-9).tokens(576).unwrap(), 1);
    assert!(Budget::Tokens(0).tokens(576).is_err());
}
