//! Runs the settings in turn.

use indicatif::{ProgressBar, ProgressStyle};
use mico_engine::{Generation, Prompt, Request, TurnRequest};

use super::args::BenchArgs;
use super::journal::{Journal, Record};
use super::memory::Watch;
use super::sample::{Components, Facts, Measured, Sample, Stopwatch};
use super::settings::Setting;
use super::subject::Subject;
use crate::failure::Failure;

/// Why a run brought no sample.
enum Stopped {
    /// The engine does not run such a setting.
    Refused(mico_engine::Error),
    Failed(Failure),
}

/// Warms up, then measures round by round what the journal lacks. A process that goes on from a
/// journal is as cold as any other, so it warms up, too.
pub(super) fn measure(
    args: &BenchArgs,
    subject: &Subject,
    settings: &[Setting],
    journal: &mut Journal,
) -> Result<(), Failure> {
    let runs = |setting: &Setting| match journal.missing(setting, args.repeats) {
        0 => 0,
        missing => missing + args.warmups,
    };
    let bar = ProgressBar::new(settings.iter().map(runs).sum::<usize>() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs (left {eta}) {msg}")
    {
        bar.set_style(style);
    }
    let mut ran = vec![false; settings.len()];
    let warmups = (0..args.warmups).map(|_| None);
    for round in warmups.chain((0..args.repeats).map(Some)) {
        for (index, setting) in settings.iter().enumerate() {
            let there = round.is_some_and(|round| journal.get(setting, round).is_some());
            if there || journal.missing(setting, args.repeats) == 0 {
                continue;
            }
            let known = ran[index] || journal.get(setting, 0).is_some();
            bar.set_message(setting.label());
            match run(args, subject, setting) {
                Ok((sample, measured)) => {
                    if let Some(round) = round {
                        let facts = Facts::new(subject, &measured)?;
                        let (setting, session) = (setting.key(), 0);
                        journal.append(Record { setting, round, session, sample, facts })?;
                    }
                }
                Err(Stopped::Refused(error)) if setting.prunes() && !known => {
                    let left = journal.missing(setting, args.repeats);
                    bar.dec_length((left + args.warmups).saturating_sub(1) as u64);
                    journal.refuse(setting, error.to_string())?;
                }
                Err(Stopped::Refused(error)) => return Err(error.into()),
                Err(Stopped::Failed(failure)) => return Err(failure),
            }
            ran[index] = true;
            bar.inc(1);
        }
        check_refusals(settings, journal)?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// A bench of which nothing is left but the unpruned model has failed.
pub(super) fn check_refusals(settings: &[Setting], journal: &Journal) -> Result<(), Failure> {
    let pruning: Vec<&Setting> = settings.iter().filter(|setting| setting.prunes()).collect();
    let refusals: Vec<(&Setting, &str)> =
        pruning.iter().filter_map(|s| Some((*s, journal.refusal(s)?))).collect();
    match refusals.first() {
        Some((setting, message)) if refusals.len() == pruning.len() => {
            let others = match refusals.len() - 1 {
                0 => String::new(),
                others => format!(" (and {others} more were refused)"),
            };
            Err(Failure::failed(format!("{}: {message}{others}", setting.label())))
        }
        _ => Ok(()),
    }
}

/// One run.
fn run(
    args: &BenchArgs,
    subject: &Subject,
    setting: &Setting,
) -> Result<(Sample, Measured), Stopped> {
    let request = request(args, subject, setting);
    let peak_is_own = mico_util::memory::reset_peak_resident();
    let memory = Watch::start();
    let mut watch = Stopwatch::start();
    let outcome = subject.engine.run(&request, &mut watch).map_err(Stopped::Refused)?;
    let elapsed = watch.elapsed();
    let allocated = memory.map(|memory| memory.stop());
    let missing = |what: &str| {
        let message = format!("{}: the engine answered without {what}", setting.label());
        Stopped::Failed(Failure::failed(message))
    };
    let sample = Sample {
        seconds: Components::from(&outcome.trace.seconds),
        first_token: watch.first_token().ok_or_else(|| missing("a token"))?,
        request: elapsed,
        peak_memory: outcome.trace.peak_memory_bytes,
        peak_is_own,
        allocated,
    };
    let image = outcome.images.into_iter().next().ok_or_else(|| missing("the image"))?;
    Ok((sample, Measured { setting: setting.clone(), trace: outcome.trace, image }))
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
