//! The paper's schedule tables, row by row.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_select::schedule::{Budget, OutOfRange, Policy, Schedule};
use mico_select::{Error, Remainder};

fn image(policy: Policy, budget: usize, sizes: &[usize], pool: usize) -> Schedule {
    policy.image(budget, sizes, pool).unwrap()
}

/// LLaVA-1.5-7B, LLaVA-NeXT-7B and LLaVA-NeXT-Mistral-7B.
const LLAVA: Policy = Policy::realized(32, 7);
const LLAVA_13B: Policy = Policy::realized(40, 8);
const NEXT_13B: Policy = Policy::realized(40, 14);
const QWEN25_VL: Policy = Policy::nominal(28, 2);
const INTERNVL3: Policy = Policy { remainder: Remainder::First, ..Policy::nominal(28, 4) };
const QWEN3_VL: Policy = Policy::realized(36, 6);
const QWEN35: Policy = Policy { out_of_range: OutOfRange::Refuse, ..Policy::realized(32, 12) };
const LLAVA_VIDEO: Policy = Policy::realized(28, 6);
/// The embedded model, which the paper does not have.
const TINY: Policy = Policy::realized(8, 2);

/// (policy, L, K, R at a budget of T as a fraction of T).
const TABLE: &[(Policy, usize, usize, usize, usize)] = &[
    (LLAVA, 32, 7, 18, 25),
    (LLAVA_13B, 40, 8, 3, 4),
    (NEXT_13B, 40, 14, 6, 13),
    (QWEN25_VL, 28, 2, 12, 13),
    (INTERNVL3, 28, 4, 5, 6),
    (QWEN3_VL, 36, 6, 4, 5),
    (QWEN35, 32, 12, 2, 5),
    (LLAVA_VIDEO, 28, 6, 8, 11),
    (TINY, 8, 2, 2, 3),
];

#[test]
fn schedule_table() {
    for &(policy, layers, refine, num, den) in TABLE {
        assert_eq!((policy.layers, policy.refine_layer), (layers, refine));
        for budget in [2usize, 5, 16, 25, 32, 64, 128, 160, 256, 320, 640] {
            let schedule = policy.image(budget, &[4096], 2).unwrap_or_else(|e| {
                panic!("{policy:?} at {budget}: {e}");
            });
            assert_eq!(schedule.pooled(), 2 * budget);
            let exact = (budget * num) as f64 / den as f64;
            let rounded = exact.round_ties_even().max(1.0);
            assert_eq!(schedule.keep as f64, rounded, "{policy:?} at {budget}");
        }
    }
}

#[test]
fn stated_counts() {
    let s = image(LLAVA, 64, &[576], 2);
    assert_eq!((s.visual_tokens, s.pooled(), s.keep), (576, 128, 46));
    let next = [576; 5];
    for (budget, pooled, keep, average) in
        [(160, 320, 115, 159.84), (320, 640, 230, 319.69), (640, 1280, 461, 640.16)]
    {
        let s = image(LLAVA, budget, &next, 2);
        assert_eq!((s.pooled(), s.keep), (pooled, keep));
        assert!((s.layer_average() - average).abs() < 0.005, "{}", s.layer_average());
    }
    for (budget, pooled, keep, average) in [(256, 512, 102, 255.75), (128, 256, 51, 127.875)] {
        let s = image(QWEN35, budget, &[1296], 2);
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
    for (policy, rows) in [(QWEN25_VL, qwen), (INTERNVL3, intern)] {
        for (budget, pools, keeps) in rows {
            for n in 1..=5 {
                let s = image(policy, budget, &[1296], n);
                assert_eq!((s.pooled(), s.keep), (pools[n - 1], keeps[n - 1]), "{policy:?} n={n}");
            }
        }
    }
}

#[test]
fn video_is_per_frame_and_refines_over_all_frames() {
    let sizes = vec![169; 64];
    for budget in [64, 32, 16] {
        let s = LLAVA_VIDEO.video(budget, &sizes, 2).unwrap();
        assert_eq!(s.pool, vec![2 * budget; 64]);
        let exact = (64 * budget * 8) as f64 / 11.0;
        assert_eq!(s.keep as f64, exact.round_ties_even());
        assert!((s.layer_average() / 64.0 - budget as f64).abs() < 0.01);
    }
    // A frame shorter than its share caps it; R is computed from what is there.
    let s = LLAVA_VIDEO.video(128, &[169, 169], 2).unwrap();
    assert_eq!(s.pool, [169, 169]);
    assert_eq!(s.keep, ((256.0 * 28.0 - 6.0 * 338.0) / 22.0f64).round_ties_even() as usize);
}

#[test]
fn groups_split_as_each_family_does() {
    // 2T = 256 over 3 tiles: LLaVA drops the one left over, InternVL gives it to the first tile.
    assert_eq!(image(LLAVA, 128, &[576; 3], 2).pool, [85; 3]);
    assert_eq!(image(INTERNVL3, 128, &[256; 3], 2).pool, [86, 85, 85]);
    // LLaVA recomputes R from the 255 survivors, InternVL does not.
    let realized = image(LLAVA, 128, &[576; 3], 2);
    assert_eq!(realized.keep, ((128.0 * 32.0 - 7.0 * 255.0) / 25.0f64).round_ties_even() as usize);
    // At least one per group, even when the pool is smaller than the number of groups.
    assert_eq!(image(INTERNVL3, 1, &[256; 7], 2).pool, [1; 7]);
}

#[test]
fn small_inputs_clip_or_refuse() {
    let s = image(LLAVA, 1000, &[576], 2);
    assert_eq!((s.pooled(), s.keep, s.layer_average()), (576, 576, 576.0));
    let policy = Policy { refine_layer: 20, ..LLAVA };
    assert_eq!(policy.image(64, &[576], 2).unwrap().keep, 1, "a late cut clips to one token");
    let error = QWEN35.image(256, &[100], 2).unwrap_err();
    assert!(matches!(&error, Error::Schedule { reason } if reason.contains("outside [1, 100]")));
}

#[test]
fn bad_requests_are_named() {
    let policy = LLAVA;
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
