//! `mico score`: predictions made elsewhere, by the benchmarks' own rules.

mod raw;

use std::path::PathBuf;

use clap::Args;
use mico_data::{Form, Layout, Predictions};
use mico_eval::{Scoring, Summary, TrackScore, TrackSpec, join_predictions, vtc};
use mico_score::{Profile, Track};
use mico_util::text::{escaped, quoted};
use serde::Serialize;

use crate::choices;
use crate::failure::Failure;
use crate::output;
use crate::task_args::read_rules;

/// Score predictions made elsewhere, or apply single scoring rules.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Apply single rules: a file with a JSON object `{"id","scorer","kind","in"}` on each line, `-` for
    /// standard input. Each gives a line `{"id","out"}` or `{"id","error"}`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "predictions", "data", "layout", "profile", "rules", "vanilla"])]
    raw: Option<PathBuf>,
    /// The benchmark, as in `mico eval --tasks`; or vtcbench, with folders of sample logs.
    #[arg(long, visible_alias = "tasks", value_name = "NAME", value_parser = choices::track(), required_unless_present = "raw")]
    task: Option<Track>,
    /// The predictions: `VLMEvalKit` rows with a `prediction` (xlsx, tsv, csv, json), LLaVA's answers or
    /// lmms-eval's sample logs (jsonl).
    #[arg(long, value_name = "FILE", required_unless_present = "raw")]
    predictions: Option<PathBuf>,
    /// The folder with the benchmark's files; for vtcbench the reference model's `Downsample` logs.
    #[arg(long, value_name = "DIR", required_unless_present = "raw")]
    data: Option<PathBuf>,
    /// The files' layout; whichever is there unless given.
    #[arg(long, value_name = "NAME", value_parser = choices::layout())]
    layout: Option<Layout>,
    /// Whose rules; those of the toolkit the predictions come from unless given.
    #[arg(long, value_name = "NAME", value_parser = choices::profile())]
    profile: Option<Profile>,
    /// A version of the scoring rules, such as `extract=2025-08`; `predictions=file` treats predictions
    /// as `VLMEvalKit` does when it reads them back from a file.
    #[arg(long = "rule", value_name = "NAME=VALUE", value_delimiter = ',')]
    rules: Vec<String>,
    /// For vtcbench, the unpruned model's sample logs, which Rel is relative to.
    #[arg(long, value_name = "DIR")]
    vanilla: Option<PathBuf>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document {
    task: &'static str,
    profile: &'static str,
    rule: String,
    files: String,
    layout: &'static str,
    #[serde(flatten)]
    score: TrackScore,
    /// Items without a prediction; they stay in the denominator.
    missing: Vec<String>,
    /// Predictions that belong to no item.
    unused: usize,
    damaged: Vec<mico_eval::DamagedRow>,
    dropped: usize,
}

impl ScoreArgs {
    /// Refuses flags that the track has no use for.
    fn check_used(&self, track: Track) -> Result<(), Failure> {
        let logs = track == Track::VtcBench;
        let given = [
            ("--vanilla", self.vanilla.is_some() && !logs),
            ("--layout", self.layout.is_some() && logs),
            ("--profile", self.profile.is_some() && logs),
            ("--rule", !self.rules.is_empty() && logs),
        ];
        match given.iter().find(|(_, unused)| *unused) {
            Some((flag, _)) => Err(Failure::misused(format!("{flag} has no effect on {track}"))),
            None => Ok(()),
        }
    }
}

/// Runs `mico score`: scores predictions that were made elsewhere.
pub fn run(args: &ScoreArgs) -> Result<(), Failure> {
    if let Some(path) = &args.raw {
        return raw::run(path);
    }
    let (Some(track), Some(predictions), Some(data)) = (args.task, &args.predictions, &args.data)
    else {
        return Err(Failure::misused("--task, --predictions and --data are needed, or --raw FILE"));
    };
    args.check_used(track)?;
    if track == Track::VtcBench {
        let vanilla = args.vanilla.as_deref();
        let found = vtc::score(&vtc::Folders { data, target: predictions, vanilla })?;
        return if args.json { output::json(&found) } else { output::line(&found.text()) };
    }
    let (_, rules) = read_rules(&args.rules)?;
    let predictions = mico_data::predictions(predictions).map_err(Failure::failed)?;
    let dataset = match args.layout {
        Some(layout) => mico_data::open_as(data, track, layout),
        None => mico_data::open(data, track),
    };
    let dataset = dataset.map_err(Failure::failed)?;
    let profile = args.profile.unwrap_or_else(|| profile_of(&predictions, dataset.layout));
    let spec = TrackSpec {
        name: track.name().to_owned(),
        scoring: Scoring::Benchmark { track, profile, rules },
    };
    let joined = join_predictions(&dataset, &spec, &predictions)?;
    if joined.unused == predictions.rows().len() && !predictions.rows().is_empty() {
        let first = quoted(&predictions.rows()[0].id);
        let message =
            format!("no prediction belongs to an item of {track}, the first is for '{first}'");
        return Err(Failure::failed(message));
    }
    let mut summary = Summary::new(&joined.manifest, &joined.journal)?;
    let row = summary.rows.pop().and_then(|mut row| row.tracks.pop());
    let Some(score) = row else { return Err(Failure::failed(format!("{track} has no items"))) };
    let document = Document {
        task: track.name(),
        profile: profile.name(),
        rule: spec.rule(),
        files: dataset.fingerprint().map_err(Failure::failed)?,
        layout: dataset.layout.name(),
        score,
        missing: joined.missing,
        unused: joined.unused,
        damaged: summary.damaged,
        dropped: summary.dropped,
    };
    if args.json { output::json(&document) } else { output::line(&text(&document)) }
}

/// The toolkit that predictions come from.
fn profile_of(predictions: &Predictions, layout: Layout) -> Profile {
    match (predictions.form, layout) {
        (Form::LlavaAnswers, _) | (Form::Records, Layout::LlavaFolder) => Profile::Llava,
        (Form::SampleLog, _) | (Form::Records, Layout::Parquet) => Profile::Lmms,
        _ => Profile::VlmEvalKit,
    }
}

fn text(document: &Document) -> String {
    let Document { task, rule, profile, score, .. } = document;
    let value = score.value.map_or_else(
        || "not defined".to_owned(),
        |value| {
            format!(
                "{:.2} (95 %: {:.2} to {:.2}, {})",
                value.value, value.low, value.high, score.interval
            )
        },
    );
    let mut lines = vec![format!("{task} by {rule} ({profile}): {value}")];
    let counts = [
        (score.asked, "items"),
        (document.missing.len(), "without a prediction (wrong)"),
        (score.empty, "empty"),
        (score.unreadable, "unreadable"),
        (document.damaged.len(), "damaged rows (left out)"),
        (document.dropped, "rows without an image (left out)"),
        (document.unused, "predictions for no item"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    lines.push(counts.join(", "));
    lines.extend(score.parts.iter().map(|(name, value)| format!("  {name}: {value:.2}")));
    lines.extend(
        document.damaged.iter().map(|damaged| format!("damaged: {}", escaped(&damaged.reason))),
    );
    lines.join("\n")
}
