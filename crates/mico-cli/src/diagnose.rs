//! `mico diagnose`: the paper's checks of its proxies, on the user's pictures.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::{Args, ValueEnum};
use mico_eval::diagnose::{
    Check, DamagedImage, Diagnose, DiagnoseError, Diagnosis, Folder, LabelCount, Labeling, Scenes,
    Source, information, relevance, reliability,
};
use mico_eval::fingerprint;
use mico_select::schedule::Budget;
use serde::Serialize;

use crate::choices::single;
use crate::failure::Failure;
use crate::files::{OutputFolder, Outputs};
use crate::interrupt::{self, Interruptible};
use crate::model_args::ModelArgs;
use crate::output;
use crate::progress::Bar;
use crate::task_args::{MAX_LIMIT, SUITES};
use crate::terminal;

/// The files of --out.
const JSON: &str = "diagnose.json";
const MARKDOWN: &str = "diagnose.md";
const SVG: &str = "diagnose.svg";
const PNG: &str = "diagnose.png";
const POSITIONS: &str = "diagnose-positions.csv";

/// Damaged pictures named on standard error.
const NAMED: usize = 5;

/// Hold the signals that select tokens against annotated pictures.
#[derive(Debug, Args)]
#[group(id = "pictures", required = true, multiple = false, args = ["suite", "data"])]
pub struct DiagnoseArgs {
    /// Built-in pictures: `tiny`, generated scenes.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SUITES))]
    suite: Option<String>,
    /// A folder with images/ and labels/, objects.jsonl or queries.jsonl.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Which checks, separated by commas: information (needs labels/), reliability (objects.jsonl),
    /// relevance (queries.jsonl); all there is data for unless said otherwise.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    checks: Vec<CheckName>,
    #[command(flatten)]
    model: ModelArgs,
    /// Layer-average number of visual tokens per image where relevance is observed.
    #[arg(long, visible_alias = "budgets", value_name = "T", default_value_t = 64, value_parser = single::<usize>)]
    budget: usize,
    /// Classes of the label maps, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 182, value_parser = RangedU64ValueParser::<usize>::new().range(2..=10_000), conflicts_with = "suite")]
    classes: usize,
    /// The label of pixels without one, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void, conflicts_with = "suite")]
    void: Void,
    /// How a token counts the labels it shows: once, the most frequent one, or every pixel.
    #[arg(long, value_name = "HOW", default_value = "majority")]
    label_count: Counting,
    /// Most pictures of each check.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_LIMIT))]
    limit: usize,
    /// Draws pictures, halves and masks; which scenes, of the built-in ones.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Folder for JSON, Markdown, the plot and the positions.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
}

/// A check on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckName {
    Information,
    Reliability,
    Relevance,
}

/// How labels are counted, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Counting {
    Majority,
    Pixels,
}

/// A label that counts for nothing, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Void(Option<u16>);

fn void(text: &str) -> Result<Void, String> {
    if text == "none" {
        return Ok(Void(None));
    }
    text.parse().map(|label| Void(Some(label))).map_err(|_| "accepted: 0 to 65535, or none".into())
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    model: &'a str,
    fingerprint: String,
    argv: Vec<String>,
    seed: u64,
    limit: usize,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

impl From<DiagnoseError> for Failure {
    fn from(error: DiagnoseError) -> Self {
        Self::of(error.kind(), error)
    }
}

impl DiagnoseArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }

    fn asked(&self) -> Vec<Check> {
        let asked = |check: &Check| {
            self.checks.is_empty()
                || self.checks.iter().any(|name| match name {
                    CheckName::Information => *check == Check::Information,
                    CheckName::Reliability => *check == Check::Reliability,
                    CheckName::Relevance => *check == Check::Relevance,
                })
        };
        Check::ALL.into_iter().filter(asked).collect()
    }

    /// Where results go, apart from what is read.
    fn outputs(&self, outputs: &mut Outputs) -> Result<Option<OutputFolder>, Failure> {
        self.model.protect(outputs)?;
        if let Some(data) = &self.data {
            outputs.reads_data("--data", data)?;
        }
        let names = [JSON, MARKDOWN, SVG, PNG, POSITIONS];
        self.out.as_ref().map(|folder| outputs.folder("--out", folder, &names)).transpose()
    }

    /// The pictures, and the checks they are for.
    fn source(&self) -> Result<(Box<dyn Source>, Vec<Check>), Failure> {
        let Some(root) = &self.data else {
            let scenes = Scenes::new(self.seed, self.limit);
            return Ok((Box::new(scenes), self.asked()));
        };
        if !root.is_dir() {
            return Err(Failure::failed(format!("--data {}: is no folder", root.display())));
        }
        let there = Folder::checks(root);
        let checks = if self.checks.is_empty() { there } else { self.asked() };
        if checks.is_empty() {
            let message = "has none of labels/, objects.jsonl and queries.jsonl";
            return Err(Failure::failed(format!("--data {}: {message}", root.display())));
        }
        let labeling = Labeling { classes: self.classes, void: self.void.0 };
        Ok((Box::new(Folder::open(root, &checks, labeling)?), checks))
    }
}

/// Runs `mico diagnose`: checks the proxies, then prints and writes what was found.
pub fn run(args: &DiagnoseArgs) -> Result<(), Failure> {
    // What cannot be written is told before the work, not after it.
    let mut outputs = Outputs::new();
    let out = args.outputs(&mut outputs)?;
    Budget::Tokens(args.budget).tokens(1).map_err(Failure::misused)?;
    let base = args.model.base()?.options()?;
    let (source, checks) = args.source()?;
    let _interruptible = Interruptible::begin();
    let located = args.model.locate()?;
    let engine = args.model.load(&located)?;
    ModelArgs::protect_tower(&engine, &mut outputs)?;
    let on = Diagnose {
        engine: &engine,
        base: &base,
        source: source.as_ref(),
        seed: args.seed,
        limit: args.limit,
        budget: args.budget,
        label_count: match args.label_count {
            Counting::Majority => LabelCount::Majority,
            Counting::Pixels => LabelCount::Pixels,
        },
    };
    let diagnosis = engine.install(|| diagnose(&on, &checks));
    if interrupt::is_asked() && diagnosis.is_err() {
        let none = "stopped; the checks keep no records: the same call begins again";
        return Err(Failure::interrupted(none));
    }
    let diagnosis = diagnosis?;
    let document = Document {
        model: &args.model.model,
        fingerprint: fingerprint(located.files())?,
        argv: std::env::args().collect(),
        seed: args.seed,
        limit: args.limit,
        diagnosis: &diagnosis,
    };
    if let Some(folder) = &out {
        write(folder, &document)?;
    }
    if args.json {
        return output::json(&document);
    }
    terminal::print(&diagnosis.markdown())
}

fn diagnose(on: &Diagnose<'_>, checks: &[Check]) -> Result<Diagnosis, Failure> {
    let mut diagnosis = Diagnosis { source: on.source.name(), ..Diagnosis::default() };
    for check in checks {
        let bar = Bar::new(check.name());
        let show = |done: usize, total: usize| {
            bar.show(done, total);
            interrupt::flow()
        };
        let damaged = match check {
            Check::Information => &diagnosis.information.insert(information(on, &show)?).damaged,
            Check::Reliability => &diagnosis.reliability.insert(reliability(on, &show)?).damaged,
            Check::Relevance => &diagnosis.relevance.insert(relevance(on, &show)?).damaged,
        };
        drop(bar);
        warn(*check, damaged);
    }
    Ok(diagnosis)
}

/// Names what was left out.
fn warn(check: Check, damaged: &[DamagedImage]) {
    let plain = |text: &str| text.replace(char::is_control, "\u{fffd}");
    for DamagedImage { picture, reason } in damaged.iter().take(NAMED) {
        eprintln!("warning: {check}: {}: {}", plain(picture), plain(reason));
    }
    if damaged.len() > NAMED {
        eprintln!("warning: {check}: {} more were left out", damaged.len() - NAMED);
    }
}

fn write(folder: &OutputFolder, document: &Document<'_>) -> Result<(), Failure> {
    let diagnosis = document.diagnosis;
    let json = serde_json::to_vec_pretty(document).map_err(Failure::failed)?;
    let drawing = diagnosis.drawing();
    let png = drawing.png().map_err(Failure::failed)?;
    folder.write(JSON, json)?;
    folder.write(MARKDOWN, diagnosis.markdown())?;
    folder.write(SVG, drawing.svg())?;
    folder.write(PNG, png)?;
    if let Some(information) = &diagnosis.information {
        folder.write(POSITIONS, information.csv())?;
    }
    Ok(())
}
