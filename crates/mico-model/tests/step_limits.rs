//! What a step of several sequences refuses, memory that is known beforehand, and keys and values in
//! half precision.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::Tensor;
use mico_model::config::LinearAttentionConfig;
use mico_model::{
    Caches, Decoder, KvFormat, Model, ModelConfig, Peek, Preset, StepRow, SyntheticOptions, Tap,
    Tokens,
};
use support::largest;

/// Four blocks of which the second and the last have attention.
fn hybrid() -> ModelConfig {
    let mut config = Preset::find("tiny").unwrap().config();
    config.decoder = Preset::find("qwen3.5-9b").unwrap().config().decoder;
    let decoder = &mut config.decoder;
    (decoder.hidden_size, decoder.intermediate_size, decoder.blocks) = (64, 96, 4);
    (decoder.heads, decoder.kv_heads, decoder.vocab_size) = (4, 2, 112);
    if let Some(linear) = &mut decoder.linear_attention {
        linear.mixers = LinearAttentionConfig::every(2, 4);
        (linear.key_heads, linear.key_dim) = (2, 16);
        (linear.value_heads, linear.value_dim) = (4, 16);
    }
    config
}

fn model(config: ModelConfig) -> Model {
    Model::synthetic(config, &SyntheticOptions::default()).unwrap().0
}

/// Runs so many tokens through all blocks and returns the last one's logits.
fn run(decoder: &Decoder, tokens: u32, caches: &mut Caches) -> Tensor {
    let ids: Vec<u32> = (0..tokens).map(|token| token * 7 % 90).collect();
    let hidden = decoder.embed(&ids).unwrap();
    let positions = decoder.positions(&(0..tokens).collect::<Vec<_>>()).unwrap();
    decoder.logits(&decoder.run_to_last(0, &hidden, &positions, caches).unwrap()).unwrap()
}

/// The sixth token of a sequence.
fn row(caches: &mut Caches) -> StepRow<'_> {
    StepRow { id: 3, positions: &[5; 4], caches }
}

/// All that caches hold, states included.
fn content(caches: &Caches) -> String {
    let views = (0..caches.blocks()).filter_map(|block| caches.get(block).unwrap());
    let numbers = views.flat_map(|(k, v)| [k, v].map(|t| t.flatten_all().unwrap()));
    let numbers: Vec<Vec<f32>> = numbers.map(|t| t.to_vec1().unwrap()).collect();
    format!("{:?} {numbers:?} {:?}", caches.lengths(), caches.mark())
}

#[test]
fn a_bad_row_is_named_and_no_cache_is_touched() {
    let (model, other) = (model(hybrid()), Preset::find("tiny").unwrap().config());
    let decoder = model.decoder();
    let (mut good, mut bad) = (decoder.new_caches(), Caches::new(4));
    run(decoder, 5, &mut good);
    let before = content(&good);
    let mut refused = |id: u32, positions: &[u32], caches: &mut Caches| {
        let rows = &mut [row(&mut good), StepRow { id, positions, caches }];
        decoder.step_many(rows).unwrap_err().to_string()
    };
    let error = refused(112, &[0; 4], &mut decoder.new_caches());
    assert_eq!(error, "token ids: 112 is outside the vocabulary of 112");
    let error = refused(1, &[0; 3], &mut decoder.new_caches());
    assert_eq!(error, "step: row 1: positions in 3 blocks, the decoder has 4");
    let error = refused(1, &[0; 4], &mut bad);
    assert_eq!(
        error,
        "step: row 1: caches: block 0 keeps another kind of state than the decoder's"
    );
    let error = refused(1, &[0; 4], &mut Caches::new(3));
    assert_eq!(error, "step: row 1: caches: 3 blocks, the decoder has 4");
    assert_eq!(content(&good), before);
    let error = decoder.step_many(&mut []).unwrap_err().to_string();
    assert_eq!(error, "token ids: 0 tokens, at least 1 is needed");
    // A window that the next token does not fit into.
    let mut config = other;
    config.decoder.sliding_window = Some(5);
    let narrow = self::model(config);
    let decoder = narrow.decoder();
    let mut caches = decoder.new_caches();
    run(decoder, 5, &mut caches);
    let positions = vec![5; decoder.blocks()];
    let row = StepRow { id: 1, positions: &positions, caches: &mut caches };
    let error = decoder.step_many(&mut [row]).unwrap_err().to_string();
    assert!(error.contains("row 0: sequence: 6 tokens"), "{error}");
}

/// Caches of the right kinds that were filled by a decoder of another shape fail in the second block,
/// when the first one has changed everybody's state.
#[test]
fn a_step_that_fails_midway_leaves_everything_as_it_was() {
    let mut wider = hybrid();
    wider.decoder.kv_heads = 4;
    let (model, wider) = (model(hybrid()), model(wider));
    let decoder = model.decoder();
    let (mut good, mut bad) = (decoder.new_caches(), wider.decoder().new_caches());
    run(decoder, 5, &mut good);
    run(wider.decoder(), 5, &mut bad);
    let before = (content(&good), content(&bad));
    decoder.step_many(&mut [row(&mut good), row(&mut bad)]).unwrap_err();
    assert_eq!((content(&good), content(&bad)), before);
    decoder.step_many(&mut [row(&mut good)]).unwrap();
    assert_ne!(content(&good), before.0);
}

#[test]
fn the_memory_of_a_sequence_is_known_beforehand() {
    for config in [hybrid(), Preset::find("tiny").unwrap().config()] {
        let model = model(config);
        let decoder = model.decoder();
        for format in KvFormat::ALL {
            let lengths: Vec<usize> = (0..decoder.blocks()).map(|block| 20 - block).collect();
            let mut caches = decoder.new_caches_in(format);
            caches.reserve(&lengths).unwrap();
            run(decoder, 7, &mut caches);
            for position in 7..12 {
                let positions = vec![position; decoder.blocks()];
                let row = StepRow { id: 1, positions: &positions, caches: &mut caches };
                decoder.step_many(&mut [row]).unwrap();
                assert_eq!(caches.bytes(), decoder.kv_bytes(&lengths, format));
            }
            let attended: usize = (0..decoder.blocks())
                .filter(|&b| decoder.has_attention(b))
                .map(|b| lengths[b])
                .sum();
            let tokens = attended * decoder.cache_bytes_per_token_in(format);
            assert_eq!(caches.bytes(), tokens + decoder.state_bytes());
        }
        let half = decoder.cache_bytes_per_token_in(KvFormat::F16);
        assert_eq!(2 * half, decoder.cache_bytes_per_token());
        assert_eq!(decoder.kv_bytes(&[usize::MAX; 2], KvFormat::F16), usize::MAX);
    }
}

/// A rounding error is at most 2^-11 of a key or value; logits move by less
/// than a thousandth of the largest.
#[test]
fn half_precision_keys_and_values_change_little() {
    for config in [hybrid(), Preset::find("tiny").unwrap().config()] {
        let model = model(config);
        let decoder = model.decoder();
        let [exact, rounded] = KvFormat::ALL.map(|format| {
            let mut caches = decoder.new_caches_in(format);
            let mut logits = vec![run(decoder, 90, &mut caches)];
            for position in 90..94 {
                let positions = vec![position; decoder.blocks()];
                let row = StepRow { id: 1, positions: &positions, caches: &mut caches };
                logits.push(decoder.step_many(&mut [row]).unwrap());
            }
            Tensor::cat(&logits, 0).unwrap()
        });
        let (difference, size) = (largest(&(&exact - &rounded).unwrap()), largest(&exact));
        assert!(difference > 0.0, "nothing was rounded");
        assert!(difference < 1e-3 * size, "{difference} of {size}");
    }
}

/// Signals read keys as the block's attention does, those of earlier turns as well.
#[test]
fn taps_and_peeks_see_the_rounded_keys() {
    let model = model(Preset::find("tiny").unwrap().config());
    let decoder = model.decoder();
    let mut caches = decoder.new_caches_in(KvFormat::F16);
    run(decoder, 9, &mut caches);
    let hidden = decoder.embed(&[4, 5, 6]).unwrap();
    let positions = decoder.positions(&[9, 10, 11]).unwrap();
    let tokens = Tokens { hidden: &hidden, positions: &positions, deepstack: None };
    let peek = Peek { block: 0, query_rows: vec![2], rotary: true };
    let before = decoder.peek(&peek, tokens, &caches).unwrap();
    let tap = Tap { block: 0, query_rows: vec![2] };
    let tapped = decoder.run(0..1, &hidden, &positions, &mut caches, &[tap]).unwrap();
    let tapped = &tapped.taps[0];
    assert_eq!((tapped.k.dtype(), tapped.k.dims()), (decoder.dtype(), before.k.dims()));
    assert_eq!(largest(&(&tapped.k - &before.k).unwrap()), 0.0);
    assert_eq!(largest(&(&tapped.q - &before.q).unwrap()), 0.0);
    let (kept, _) = caches.get(0).unwrap().unwrap();
    let kept = kept.to_dtype(decoder.dtype()).unwrap();
    assert_eq!(largest(&(&tapped.k - kept).unwrap()), 0.0);
}
