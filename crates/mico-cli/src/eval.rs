//! `mico eval`: answers to benchmark items, scored.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{FalseyValueParser, PossibleValuesParser, RangedU64ValueParser};
use mico_engine::pruner::PRUNERS;
use mico_engine::{Error, ImageInput};
use mico_eval::{Journal, Run, Setting, Split, Summary, TinySuite, fingerprint};
use mico_select::schedule::DEFAULT_POOL;
use serde::Serialize;

use crate::failure::Failure;
use crate::model_args::ModelArgs;
use crate::progress::Bar;
use crate::threads::in_pool;
use crate::{files, output};

/// The built-in suites.
pub(crate) const SUITES: [&str; 1] = ["tiny"];
/// The most items per track.
pub(crate) const MAX_LIMIT: u64 = 20_000;

/// Ask benchmark questions and score the answers, with and without pruning.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The benchmark: `tiny`, generated scenes with a track for every kind of question.
    #[arg(long, env = "MICO_SUITE", value_name = "NAME", required = true, value_parser = PossibleValuesParser::new(SUITES))]
    suite: String,
    #[command(flatten)]
    model: ModelArgs,
    /// Pruners, separated by commas, with settings as `name:key=value`; all of them unless said
    /// otherwise. The unpruned model always runs, on the pictures and on a blank one. A method that is
    /// not defined for the model, or cannot meet a budget, is left out and named.
    #[arg(long, env = "MICO_METHODS", value_name = "NAMES", value_delimiter = ',')]
    methods: Vec<String>,
    /// Layer-average numbers of visual tokens per image, separated by commas.
    #[arg(
        long,
        env = "MICO_BUDGETS",
        value_name = "TS",
        value_delimiter = ',',
        default_value = "128,64,32",
        allow_negative_numbers = true
    )]
    budgets: Vec<usize>,
    /// Take the counts the methods' authors give for a budget of that name, whatever the layer
    /// average then is.
    #[arg(long, env = "MICO_AUTHORS_BUDGET", value_parser = FalseyValueParser::new())]
    authors_budget: bool,
    /// Decoder block after which tokens go, counted from 1.
    #[arg(long, env = "MICO_REFINE_LAYER", value_name = "K")]
    refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    #[arg(long, env = "MICO_POOL", value_name = "N", default_value_t = DEFAULT_POOL)]
    pool: usize,
    /// Items per track.
    #[arg(long, env = "MICO_LIMIT", value_name = "N", default_value_t = 250, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_LIMIT))]
    limit: usize,
    /// Which scenes.
    #[arg(long, env = "MICO_SEED", default_value_t = 0, allow_negative_numbers = true)]
    seed: u32,
    /// Folder for records, JSON and Markdown.
    #[arg(long, env = "MICO_OUT", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on from the records in --out.
    #[arg(long, env = "MICO_RESUME", requires = "out", value_parser = FalseyValueParser::new())]
    resume: bool,
    /// Print one JSON document instead of tables.
    #[arg(long, env = "MICO_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

/// The answer, as scripts read it.
#[derive(Debug, Serialize)]
struct Document {
    model: String,
    fingerprint: String,
    argv: Vec<String>,
    refused: Vec<Refused>,
    #[serde(flatten)]
    summary: Summary,
}

/// A setting that cannot be run.
#[derive(Debug, Serialize)]
struct Refused {
    setting: String,
    budget: Option<usize>,
    reason: String,
}

/// Takes out the settings that the engine refuses for this suite's pictures.
fn sift(run: &Run<'_>) -> Result<(Vec<Setting>, Vec<Refused>), Failure> {
    let mut refused = Vec::new();
    let Some(first) = run.suite.items().first() else { return Ok((Vec::new(), refused)) };
    let picture = ImageInput::Decoded(run.suite.picture(first.picture)?);
    let seen = run.engine.see(&picture, true)?;
    let mut kept = Vec::new();
    for setting in run.settings {
        match run.engine.plan(&setting.pruning(0)?, &[seen.layout()]) {
            Ok(_) => kept.push(setting.clone()),
            Err(error @ Error::Refused { .. }) => refused.push(Refused {
                setting: setting.label(),
                budget: setting.tokens(),
                reason: error.to_string(),
            }),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((kept, refused))
}

impl EvalArgs {
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }

    fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let all = || {
            let names = PRUNERS.iter().map(|pruner| pruner.name.to_owned());
            names.filter(|name| name != "none").collect()
        };
        let methods: Vec<String> =
            if self.methods.is_empty() { all() } else { self.methods.clone() };
        let mut settings = vec![Setting::Unpruned, Setting::Blank];
        for &tokens in &self.budgets {
            for method in methods.iter().filter(|method| *method != "none") {
                let setting = Setting::Pruned {
                    method: method.clone(),
                    tokens,
                    refine_layer: self.refine_layer,
                    pool: self.pool,
                    authors: self.authors_budget,
                };
                // What can never be is told before a model is loaded.
                setting.pruning(0)?.budget.tokens(1).map_err(Failure::misused)?;
                settings.push(setting);
            }
        }
        let mut distinct: Vec<Setting> = Vec::with_capacity(settings.len());
        for setting in settings {
            if !distinct.contains(&setting) {
                distinct.push(setting);
            }
        }
        Ok(distinct)
    }
}

/// Runs the verb.
pub fn run(args: &EvalArgs) -> Result<(), Failure> {
    let settings = args.settings()?;
    in_pool(args.model.threads, || measure(args, &settings))?
}

fn measure(args: &EvalArgs, settings: &[Setting]) -> Result<(), Failure> {
    let mut journal = match &args.out {
        Some(folder) => Journal::open(folder, args.resume)?,
        None => Journal::in_memory(),
    };
    let located = args.model.locate()?;
    let engine = args.model.load(&located)?;
    let mut hash = fingerprint(located.files())?;
    if let Some(tower) = engine.model().config().vision.tower_folder().filter(|f| f.is_dir()) {
        hash = format!("{hash} {}", fingerprint(tower.into())?);
    }
    let suite = TinySuite::new(Split::Benchmark, args.seed.into(), args.limit);
    let model = format!("{hash} {}", args.model.decides());
    let run = Run { engine: &engine, model: &model, suite: &suite, settings };
    let (settings, refused) = sift(&run)?;
    let pruned = settings.iter().any(|setting| setting.tokens().is_some());
    if let (Some(first), false) = (refused.first(), pruned) {
        return Err(Failure::failed(&first.reason));
    }
    let run = Run { settings: &settings, ..run };
    let bar = Bar::new("answers");
    mico_eval::run(&run, &mut journal, &|done, total| bar.show(done, total))?;
    drop(bar);
    let document = Document {
        model: args.model.model.clone(),
        fingerprint: hash,
        argv: std::env::args().collect(),
        refused,
        summary: Summary::new(&run, &journal),
    };
    let mut markdown = document.summary.markdown();
    if !document.refused.is_empty() {
        markdown.push_str("\nNot run:\n\n");
    }
    for Refused { setting, budget, reason } in &document.refused {
        let budget = budget.map_or_else(String::new, |budget| format!(" at T={budget}"));
        markdown.extend(["* ", setting, &budget, ": ", reason, "\n"]);
    }
    if let Some(folder) = &args.out {
        let json = serde_json::to_vec_pretty(&document).map_err(Failure::failed)?;
        files::write("--out", &folder.join("summary.json"), &json)?;
        files::write("--out", &folder.join("summary.md"), markdown.as_bytes())?;
    }
    if args.json { output::json(&document) } else { output::line(markdown.trim_end()) }
}
