//! `mico bench`: where the time of a request goes, with and without pruning.
//!
//! Settings take turns within each round, so that whatever slows the machine down hits all alike, and
//! speed-ups are medians of the ratios within a round. Every finished run is a line of a journal, from
//! which an interrupted bench goes on and from which alone the report is made.

mod args;
mod configuration;
mod journal;
mod measure;
mod memory;
mod pareto;
mod quality;
mod report;
mod sample;
mod settings;
mod subject;
mod system;

pub use args::BenchArgs;
pub use memory::{AllocationMeter, count_allocations};

use crate::failure::Failure;
use crate::threads::in_pool;
use crate::{files, output};
use args::PlotKind;
use configuration::Configuration;
use journal::Journal;
use quality::Quality;
use report::Report;
use settings::Setting;

/// Runs the verb.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    memory::begin();
    let settings = settings::settings(args)?;
    // What cannot be read or written is told before anything is measured.
    let plot = args.plot.as_ref().map(|plot| &plot.path);
    let written = [("--out", args.out.as_ref()), ("--markdown", args.markdown.as_ref())];
    for (flag, path) in written.into_iter().chain([("--plot", plot)]) {
        path.map(|path| files::check(flag, path)).transpose()?;
    }
    let quality = args.quality.as_deref().map(Quality::read).transpose()?;
    let report = in_pool(args.threads(), || measured(args, &settings))??;
    let json = serde_json::to_string(&report).map_err(Failure::failed)?;
    if let Some(path) = &args.out {
        files::write("--out", path, format!("{json}\n").as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        files::write("--markdown", path, report.markdown().as_bytes())?;
    }
    if let Some(plot) = &args.plot {
        let drawing = pareto::draw(&report, quality.as_ref());
        let bytes = match plot.kind {
            PlotKind::Svg => drawing.svg().into_bytes(),
            PlotKind::Png => drawing.png().map_err(Failure::failed)?,
        };
        files::write("--plot", &plot.path, &bytes)?;
    }
    output::line(&if args.json { json } else { report.text() })
}

/// Measures what the journal lacks; the model is loaded only if there is such.
fn measured(args: &BenchArgs, settings: &[Setting]) -> Result<Report, Failure> {
    let mut journal = match &args.out {
        Some(path) => Journal::open(path, args.resume)?,
        None => Journal::in_memory(),
    };
    let configuration = Configuration::new(args)?;
    journal.check(&configuration)?;
    if journal.lacks(settings, args.repeats) {
        let subject = subject::build(args)?;
        journal.begin(&configuration, &subject.about(args.out.is_some())?)?;
        measure::measure(args, &subject, settings, &mut journal)?;
    }
    measure::check_refusals(settings, &journal)?;
    Report::new(args.repeats, settings, &journal)
}
