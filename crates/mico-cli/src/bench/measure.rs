//! Runs the settings in turn.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use mico_engine::{Generation, ImageOutcome, Prompt, Request, Seconds, Trace, TurnRequest};

use super::settings::Setting;
use super::subject::Subject;
use super::{BenchArgs, system};
use crate::failure::Failure;

/// One counted run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) seconds: Seconds,
    /// Wall time of the whole request.
    pub(super) request: f64,
    pub(super) peak_memory: u64,
}

impl Sample {
    /// Everything between pixels and the first logits.
    pub(super) fn prefill(&self) -> f64 {
        self.seconds.vision + self.seconds.projector + self.after_projector()
    }

    /// The part of it that pruning changes: decoder and both stages.
    pub(super) fn after_projector(&self) -> f64 {
        self.pruning() + self.seconds.decoder_prefill
    }

    /// What both stages cost.
    pub(super) fn pruning(&self) -> f64 {
        self.seconds.stage1 + self.seconds.stage2_relevance + self.seconds.stage2_select
    }
}

/// A setting with all its runs.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) setting: Setting,
    pub(super) trace: Trace,
    pub(super) image: ImageOutcome,
    pub(super) samples: Vec<Sample>,
}

/// All settings, measured.
#[derive(Debug)]
pub(super) struct Measurement {
    pub(super) rows: Vec<Measured>,
    /// Whether the peak of each run is its own, or that of the process so far.
    pub(super) peak_per_run: bool,
}

/// Warms up, then measures round by round.
pub(super) fn measure(
    args: &BenchArgs,
    subject: &Subject,
    settings: Vec<Setting>,
) -> Result<Measurement, Failure> {
    let bar = ProgressBar::new((settings.len() * (args.warmups + args.repeats)) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs {eta} {msg}") {
        bar.set_style(style);
    }
    let requests: Vec<Request> = settings.iter().map(|s| request(args, subject, s)).collect();
    let mut rows: Vec<Option<Measured>> = settings.iter().map(|_| None).collect();
    let mut settings: Vec<Option<Setting>> = settings.into_iter().map(Some).collect();
    let mut peak_per_run = true;
    for round in 0..args.warmups + args.repeats {
        for (index, request) in requests.iter().enumerate() {
            peak_per_run &= system::reset_peak_memory();
            let start = Instant::now();
            let outcome = subject.engine.run(request, &mut ())?;
            let elapsed = start.elapsed().as_secs_f64();
            bar.inc(1);
            if round < args.warmups {
                continue;
            }
            let sample = Sample {
                seconds: outcome.trace.seconds,
                request: elapsed,
                peak_memory: outcome.trace.peak_memory_bytes,
            };
            match (&mut rows[index], settings[index].take(), outcome.images.into_iter().next()) {
                (Some(row), _, _) => row.samples.push(sample),
                (row, Some(setting), Some(image)) => {
                    let (trace, samples) = (outcome.trace, vec![sample]);
                    *row = Some(Measured { setting, trace, image, samples });
                }
                _ => return Err(Failure::failed("the engine answered without the image")),
            }
        }
    }
    bar.finish_and_clear();
    Ok(Measurement { rows: rows.into_iter().flatten().collect(), peak_per_run })
}

fn request(args: &BenchArgs, subject: &Subject, setting: &Setting) -> Request {
    // The first token comes out of the prefill; each further one takes a step.
    let generation =
        Generation { ignore_eos: true, ..Generation::greedy(args.new_tokens.saturating_add(1)) };
    let turn = TurnRequest {
        images: vec![subject.image.clone()],
        prompt: Prompt::InputIds(subject.ids.clone()),
        generation,
        dump: false,
    };
    Request { turn, pruning: setting.pruning.clone() }
}
