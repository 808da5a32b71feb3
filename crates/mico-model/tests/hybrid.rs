//! The hybrid decoder: blocks with a recurrent state beside blocks with attention.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::Tensor;
use mico_model::config::{LinearAttentionConfig, LlavaVision, MixerKind};
use mico_model::{
    Caches, Decoder, LoadReport, Model, ModelConfig, Preset, QuantKind, SyntheticOptions, Tap,
};
use support::{largest, select};

use MixerKind::{FullAttention, LinearAttention};

/// Six blocks of which the second and the fifth have attention; the last has not.
fn config() -> ModelConfig {
    let mut config = Preset::find("llava-1.5-7b").unwrap().config();
    let vision = config.vision.get_mut::<LlavaVision>().unwrap();
    vision.tower.hidden_size = 32;
    vision.tower.intermediate_size = 48;
    vision.tower.blocks = 2;
    vision.tower.heads = 2;
    vision.tower.image_size = 28;
    let decoder = &mut config.decoder;
    decoder.hidden_size = 256;
    decoder.intermediate_size = 256;
    decoder.blocks = 6;
    decoder.heads = 4;
    decoder.kv_heads = 2;
    decoder.head_dim = 32;
    decoder.vocab_size = 128;
    decoder.rope.partial = 0.25;
    decoder.qk_norm = true;
    decoder.output_gate = true;
    decoder.zero_centered_norms = true;
    decoder.linear_attention = Some(LinearAttentionConfig {
        mixers: vec![
            LinearAttention,
            FullAttention,
            LinearAttention,
            LinearAttention,
            FullAttention,
            LinearAttention,
        ],
        conv_kernel: 4,
        key_heads: 2,
        key_dim: 32,
        value_heads: 4,
        value_dim: 64,
    });
    config
}

fn model(config: ModelConfig, quantize: Option<QuantKind>) -> (Model, LoadReport) {
    let options = SyntheticOptions { seed: 11, quantize, ..SyntheticOptions::default() };
    Model::synthetic(config, &options).unwrap()
}

/// Runs `tokens` ids from `start` through all blocks.
fn run(decoder: &Decoder, start: u32, tokens: usize, caches: &mut Caches) -> Tensor {
    let ids: Vec<u32> = (start..start + tokens as u32).collect();
    let hidden = decoder.embed(&ids.iter().map(|id| id * 37 % 128).collect::<Vec<_>>()).unwrap();
    let positions = decoder.positions(&ids).unwrap();
    decoder.run(0..decoder.blocks(), &hidden, &positions, caches, &[]).unwrap().hidden
}

fn assert_close(found: &Tensor, expected: &Tensor, what: &str) {
    let difference = largest(&(found - expected).unwrap());
    assert!(difference <= 2e-5 * largest(expected), "{what}: {difference}");
}

#[test]
fn continuing_equals_one_long_run() {
    let (model, _) = model(config(), None);
    let decoder = model.decoder();
    let expected = run(decoder, 0, 150, &mut decoder.new_caches());
    for parts in [&[149, 1][..], &[1, 149], &[63, 1, 1, 85], &[65, 64, 21], &[130, 1, 1, 1, 17]] {
        let mut caches = decoder.new_caches();
        let mut start = 0;
        for &len in parts {
            let found = run(decoder, start as u32, len, &mut caches);
            let expected = expected.narrow(0, start, len).unwrap();
            assert_close(&found, &expected, &format!("{parts:?} at {start}"));
            start += len;
        }
        let lengths = [None, Some(150), None, None, Some(150), None];
        assert_eq!(caches.lengths(), lengths);
    }
}

#[test]
fn the_last_row_alone_agrees_whatever_the_last_block_is() {
    for last in [LinearAttention, FullAttention] {
        let mut config = config();
        config.decoder.linear_attention.as_mut().unwrap().mixers[5] = last;
        let (model, _) = model(config, None);
        let decoder = model.decoder();
        let ids: Vec<u32> = (0..70).collect();
        let (hidden, positions) = (decoder.embed(&ids).unwrap(), decoder.positions(&ids).unwrap());
        let (mut whole, mut short) = (decoder.new_caches(), decoder.new_caches());
        let all = 0..decoder.blocks();
        let expected = decoder.run(all, &hidden, &positions, &mut whole, &[]).unwrap().hidden;
        let found = decoder.run_to_last(0, &hidden, &positions, &mut short).unwrap();
        assert_close(&found, &expected.narrow(0, 69, 1).unwrap(), "last row");
        assert_eq!((whole.lengths(), whole.bytes()), (short.lengths(), short.bytes()));
        let (next, other) = (run(decoder, 70, 1, &mut whole), run(decoder, 70, 1, &mut short));
        assert_close(&next, &other, "what follows");
    }
}

#[test]
fn tokens_dropped_between_blocks_are_unknown_to_the_later_ones() {
    let (model, _) = model(config(), None);
    let decoder = model.decoder();
    let ids: Vec<u32> = (0..80).collect();
    let (hidden, positions) = (decoder.embed(&ids).unwrap(), decoder.positions(&ids).unwrap());
    let mut caches = decoder.new_caches();
    let first = decoder.run(0..2, &hidden, &positions, &mut caches, &[]).unwrap().hidden;
    let kept: Vec<u32> = (0..80).filter(|row| row % 3 != 1).collect();
    let (rows, places) = (select(&first, &kept), positions.select(&kept).unwrap());
    let pruned = decoder.run(2..6, &rows, &places, &mut caches, &[]).unwrap().hidden;
    assert_eq!(caches.lengths(), [None, Some(80), None, None, Some(kept.len()), None]);
    // The later blocks alone, which never saw the others.
    let mut fresh = decoder.new_caches();
    let alone = decoder.run(2..6, &rows, &places, &mut fresh, &[]).unwrap().hidden;
    assert_eq!(largest(&(pruned - alone).unwrap()), 0.0);
}

#[test]
fn a_mark_brings_states_back_to_the_bit() {
    let (model, _) = model(config(), None);
    let decoder = model.decoder();
    let mut caches = decoder.new_caches();
    let empty = caches.mark();
    run(decoder, 0, 70, &mut caches);
    let (mark, bytes) = (caches.mark(), caches.bytes());
    let copy = caches.try_clone().unwrap();
    let expected = run(decoder, 70, 5, &mut caches);
    run(decoder, 75, 1, &mut caches);
    caches.restore(mark).unwrap();
    assert_eq!(caches.lengths(), copy.lengths());
    assert_eq!(decoder.state_bytes(), 4 * 4 * (3 * (2 * 64 + 256) + 4 * 32 * 64));
    assert_eq!(bytes - decoder.state_bytes(), (70 + 64) * 2 * decoder.cache_bytes_per_token());
    assert_eq!(caches.bytes(), bytes);
    for mut caches in [caches.try_clone().unwrap(), caches, copy] {
        let again = run(decoder, 70, 5, &mut caches);
        assert_eq!(largest(&(&again - &expected).unwrap()), 0.0);
        caches.restore(empty.clone()).unwrap();
        assert!(caches.is_empty());
    }
}

#[test]
fn attention_is_observed_where_there_is_any() {
    let (model, _) = model(config(), None);
    let decoder = model.decoder();
    let found: Vec<bool> = (0..7).map(|block| decoder.has_attention(block)).collect();
    assert_eq!(found, [false, true, false, false, true, false, false]);
    let ids: Vec<u32> = (0..9).collect();
    let (hidden, positions) = (decoder.embed(&ids).unwrap(), decoder.positions(&ids).unwrap());
    let mut caches = decoder.new_caches();
    let tap = |block| [Tap { block, query_rows: vec![3, 8] }];
    let error = decoder.run(0..3, &hidden, &positions, &mut caches, &tap(2)).unwrap_err();
    assert_eq!(error.to_string(), "tap: block #3 has no attention to observe; blocks with: #2, #5");
    assert!(caches.is_empty(), "a refused call must not touch the caches");
    let seen = decoder.run(0..3, &hidden, &positions, &mut caches, &tap(1)).unwrap();
    assert_eq!(seen.taps[0].q.dims(), [4, 2, 32]);
    assert_eq!(seen.taps[0].k.dims(), [2, 9, 32]);
    assert_eq!(seen.taps[0].query_index, [3, 8]);
    // Caches that were made for another decoder.
    let error = decoder.run(0..3, &hidden, &positions, &mut Caches::new(6), &[]).unwrap_err();
    assert!(error.to_string().contains("block 0 keeps another kind"), "{error}");
}

#[test]
fn the_gates_of_a_head_stay_exact_when_the_matrices_are_quantized() {
    let (dense, _) = model(config(), None);
    let (small, report) = model(config(), Some(QuantKind::Q4K));
    // Rows of 128 numbers divide into no block of 256.
    let fallen = report.quantization.iter().map(|note| (note.tensor.as_str(), note.used));
    let expected: Vec<(String, &str)> =
        [1, 4].map(|block| (format!("layers.{block}.self_attn.o_proj.weight"), "q8_0")).into();
    assert!(fallen.eq(expected.iter().map(|(name, used)| (name.as_str(), *used))));
    assert!(small.decoder().bytes() < dense.decoder().bytes() / 3);
    let out = run(small.decoder(), 0, 70, &mut small.decoder().new_caches());
    assert!(largest(&out).is_finite());
}

#[test]
fn impossible_shapes_are_refused_by_name() {
    type Change = fn(&mut LinearAttentionConfig);
    let cases: [(Change, &str); 6] = [
        (|linear| linear.mixers.truncate(5), "layer_types` has 5 entries for 6 blocks"),
        (|linear| linear.key_heads = 3, "linear_num_value_heads` is 4, expected a multiple of"),
        (|linear| linear.key_heads = 0, "linear_num_key_heads` is 0"),
        (|linear| linear.conv_kernel = 0, "linear_conv_kernel_dim` is 0, accepted: 1 to 64"),
        (|linear| linear.key_dim = 1 << 17, "linear_key_head_dim` is 262144"),
        (|linear| linear.value_dim = usize::MAX, "linear_value_head_dim` is"),
    ];
    for (change, message) in cases {
        let mut config = config();
        change(config.decoder.linear_attention.as_mut().unwrap());
        let error = Model::synthetic(config, &SyntheticOptions::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    for partial in [0.01, 0.1, 1.5, 1e300] {
        let mut config = config();
        config.decoder.rope.partial = partial;
        let error = Model::synthetic(config, &SyntheticOptions::default()).unwrap_err();
        assert!(error.to_string().contains("partial_rotary_factor` is"), "{error}");
    }
}

/// A convolution of one token needs no window, and a value head may have a key head of its own.
#[test]
fn the_smallest_shapes_run() {
    let mut config = config();
    let linear = config.decoder.linear_attention.as_mut().unwrap();
    (linear.conv_kernel, linear.key_heads, linear.value_heads) = (1, 1, 1);
    (linear.key_dim, linear.value_dim) = (1, 1);
    let (model, _) = model(config, None);
    let decoder = model.decoder();
    let whole = run(decoder, 0, 66, &mut decoder.new_caches());
    let mut caches = decoder.new_caches();
    run(decoder, 0, 65, &mut caches);
    let last = run(decoder, 65, 1, &mut caches);
    assert_close(&last, &whole.narrow(0, 65, 1).unwrap(), "last row");
}
