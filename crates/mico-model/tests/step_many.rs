//! Steps of several sequences at once against steps of each alone, to the bit: every family's decoder,
//! every number format, one and two threads, up to seventeen rows that join and leave.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::{DType, Tensor};
use mico_model::config::LinearAttentionConfig;
use mico_model::{
    Caches, Decoder, KvFormat, LoadOptions, Model, Precision, Preset, QuantKind, StepRow,
    SyntheticOptions,
};
use support::{folder, select};

const ROWS: usize = 17;
/// In the first steps a sequence more joins in each; in the last ones every other sequence has left.
const STEPS: usize = ROWS + 2;
const VOCAB: u32 = 100;

/// A sequence between two tokens.
struct Sequence {
    caches: Caches,
    /// Position of the next token in each block.
    positions: Vec<u32>,
}

impl Sequence {
    /// A prompt whose length and cuts depend on `index`: rows are dropped after a block, as pruning does,
    /// and every third sequence is renumbered where that happens.
    fn begin(decoder: &Decoder, index: usize, format: KvFormat) -> Self {
        let blocks = decoder.blocks();
        let tokens = 3 + 5 * index as u32 % 37;
        let cut = 1 + index % (blocks - 1);
        let kept: Vec<u32> = (0..tokens).filter(|row| row % 3 != 1).collect();
        let ids: Vec<u32> = (0..tokens).map(|token| id(index, token as usize)).collect();
        let mut caches = decoder.new_caches_in(format);
        if index.is_multiple_of(2) {
            let mut lengths = vec![tokens as usize + STEPS; cut];
            lengths.resize(blocks, kept.len() + STEPS);
            caches.reserve(&lengths).unwrap();
        }
        let hidden = decoder.embed(&ids).unwrap();
        let places = decoder.positions(&(0..tokens).collect::<Vec<_>>()).unwrap();
        let first = decoder.run(0..cut, &hidden, &places, &mut caches, &[]).unwrap().hidden;
        let renumbered = index.is_multiple_of(3);
        let places = if renumbered {
            decoder.positions(&(0..kept.len() as u32).collect::<Vec<_>>()).unwrap()
        } else {
            places.select(&kept).unwrap()
        };
        decoder.run(cut..blocks, &select(&first, &kept), &places, &mut caches, &[]).unwrap();
        let mut positions = vec![tokens; cut];
        positions.resize(blocks, if renumbered { kept.len() as u32 } else { tokens });
        Self { caches, positions }
    }

    fn copy(&self) -> Self {
        Self { caches: self.caches.try_clone().unwrap(), positions: self.positions.clone() }
    }

    fn advance(&mut self) {
        self.positions.iter_mut().for_each(|position| *position += 1);
    }

    /// One step of this sequence alone, block by block.
    fn step_alone(&mut self, decoder: &Decoder, id: u32) -> Vec<u32> {
        let mut hidden = decoder.embed(&[id]).unwrap();
        for (block, &position) in self.positions.iter().enumerate() {
            let places = decoder.positions(&[position]).unwrap();
            let range = block..block + 1;
            hidden = decoder.run(range, &hidden, &places, &mut self.caches, &[]).unwrap().hidden;
        }
        self.advance();
        bits(&decoder.logits(&hidden).unwrap())
    }
}

/// A made-up token of a sequence.
fn id(index: usize, token: usize) -> u32 {
    (index * 31 + token * 7) as u32 % VOCAB
}

/// The sequences that take part in a step.
fn present(step: usize) -> impl Fn(&usize) -> bool {
    move |&index| index <= step && (step < ROWS || !index.is_multiple_of(2))
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    let numbers = tensor.to_dtype(DType::F32).unwrap().flatten_all().unwrap();
    numbers.to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

fn cached(caches: &Caches) -> Vec<Vec<u32>> {
    let views = (0..caches.blocks()).filter_map(|block| caches.get(block).unwrap());
    views.flat_map(|(k, v)| [bits(&k), bits(&v)]).collect()
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// Steps all sequences alone on one thread, then together on one and on two.
fn check(decoder: &Decoder, format: KvFormat, what: &str) {
    let begun: Vec<Sequence> =
        (0..ROWS).map(|index| Sequence::begin(decoder, index, format)).collect();
    let mut alone: Vec<Sequence> = begun.iter().map(Sequence::copy).collect();
    let expected: Vec<Vec<Vec<u32>>> = with_threads(1, || {
        let step = |step: usize| {
            let rows = (0..ROWS).filter(present(step));
            rows.map(|index| alone[index].step_alone(decoder, id(index, step))).collect()
        };
        (0..STEPS).map(step).collect()
    });
    for threads in [1, 2] {
        let mut together: Vec<Sequence> = begun.iter().map(Sequence::copy).collect();
        with_threads(threads, || {
            for (step, expected) in expected.iter().enumerate() {
                let found = step_together(decoder, &mut together, step);
                assert_eq!(&found, expected, "{what}: logits of step {step}, {threads} threads");
            }
        });
        for (index, (one, other)) in alone.iter_mut().zip(&mut together).enumerate() {
            assert_eq!(one.caches.lengths(), other.caches.lengths());
            assert!(cached(&one.caches) == cached(&other.caches), "{what}: caches of {index}");
            // States are not seen from outside; what follows from them is.
            let (mut one, mut other) = (one.copy(), other.copy());
            assert_eq!(one.step_alone(decoder, 1), other.step_alone(decoder, 1), "{what} {index}");
        }
    }
}

fn step_together(decoder: &Decoder, all: &mut [Sequence], step: usize) -> Vec<Vec<u32>> {
    let indices: Vec<usize> = (0..ROWS).filter(present(step)).collect();
    let mut rows: Vec<StepRow> = Vec::new();
    for (index, sequence) in all.iter_mut().enumerate().filter(|(index, _)| present(step)(index)) {
        let Sequence { caches, positions } = sequence;
        rows.push(StepRow { id: id(index, step), positions, caches });
    }
    let logits = decoder.step_many(&mut rows).unwrap();
    assert_eq!(logits.dims(), [indices.len(), decoder.config().vocab_size]);
    indices.iter().for_each(|&index| all[index].advance());
    (0..indices.len()).map(|row| bits(&logits.get(row).unwrap())).collect()
}

/// A small decoder of a published model's make, behind a vision tower of next to no size.
fn synthetic(name: &str, precision: Precision, quantize: Option<QuantKind>) -> Model {
    let mut config = Preset::find("tiny").unwrap().config();
    config.decoder = Preset::find(name).unwrap().config().decoder;
    let decoder = &mut config.decoder;
    let grouped = decoder.kv_heads < decoder.heads;
    // Rows of the MLP's last matrix divide into blocks of 32, but not of 256.
    (decoder.hidden_size, decoder.intermediate_size) = (256, 288);
    (decoder.blocks, decoder.vocab_size) = (4, 112);
    (decoder.heads, decoder.kv_heads) = (4, if grouped { 2 } else { 4 });
    if let Some(linear) = &mut decoder.linear_attention {
        linear.mixers = LinearAttentionConfig::every(2, 4);
        (linear.key_heads, linear.key_dim) = (2, 32);
        (linear.value_heads, linear.value_dim) = (4, 64);
    }
    let options = SyntheticOptions { seed: 5, precision, quantize, ..SyntheticOptions::default() };
    Model::synthetic(config, &options).unwrap().0
}

const FORMATS: [(Precision, Option<QuantKind>); 6] = [
    (Precision::F32, None),
    (Precision::F16, None),
    (Precision::Bf16, None),
    (Precision::F16, Some(QuantKind::Q4K)),
    (Precision::F16, Some(QuantKind::Q6K)),
    (Precision::F32, Some(QuantKind::Q8_0)),
];

fn check_preset(name: &str) {
    for (precision, quantize) in FORMATS {
        let model = synthetic(name, precision, quantize);
        for format in KvFormat::ALL {
            let quantized = quantize.map_or("", QuantKind::name);
            let what = format!("{name} {} {quantized} {}", precision.name(), format.name());
            check(model.decoder(), format, &what);
        }
    }
}

#[test]
fn llama_steps_together_as_alone() {
    check_preset("llava-1.5-7b");
}

#[test]
fn mistral_steps_together_as_alone() {
    check_preset("llava-next-mistral-7b");
}

#[test]
fn qwen2_steps_together_as_alone() {
    check_preset("qwen2.5-vl-7b");
}

#[test]
fn qwen3_steps_together_as_alone() {
    check_preset("qwen3-vl-8b");
}

#[test]
fn qwen35_steps_together_as_alone() {
    check_preset("qwen3.5-9b");
}

#[test]
fn checkpoints_step_together_as_alone() {
    let tied = ["llava15-tied", "internvl3-tied", "qwen25-tied", "qwen3-tied", "qwen35-tied"];
    let others = ["llava15", "next-mistral", "internvl3", "video", "qwen25", "qwen3", "qwen35"];
    for name in tied.into_iter().chain(others) {
        for precision in [Precision::F32, Precision::Bf16] {
            let options = LoadOptions { precision, ..LoadOptions::default() };
            let (model, _) = Model::load(&folder(name), &options).unwrap();
            let what = format!("{name} {}", precision.name());
            check(model.decoder(), KvFormat::Compute, &what);
        }
    }
}
