//! `mico serve`: the model behind an OpenAI-compatible API.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command};
use mico_serve::app::App;
use mico_serve::backend::Backend;
use mico_serve::config::{Config, Merged, ServeFlags, Setting, merged};
use mico_serve::engine::{EngineServer, Served};
use mico_serve::names::Names;
use mico_serve::run::{RunError, log, run as serve};

use crate::environment::{self, Unread};
use crate::failure::Failure;
use crate::model_args::ModelArgs;
use crate::output;
use crate::pruning_args::PruningArgs;

/// The verb's name.
const VERB: &str = "serve";

/// Serve a model over HTTP, compatible with the OpenAI API, with a page to try it at `/`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    flags: ServeFlags,
    /// Every setting with its source.
    #[arg(skip)]
    settings: Vec<Setting>,
}

impl ServeArgs {
    /// How many threads the engine was asked to run on, if it was.
    pub(crate) fn threads(&self) -> Option<u64> {
        self.model.threads
    }

    /// Takes over where settings come from.
    pub(crate) fn set_sources(&mut self, settings: Vec<Setting>) {
        self.settings = settings;
    }
}

/// Reads the configuration file that a call names, if it does: the matches with what the file adds, and where every
/// setting comes from.
pub(crate) fn with_file(
    command: &Command,
    args: &[OsString],
    matches: ArgMatches,
) -> Result<(ArgMatches, Vec<Setting>), Unread> {
    let Some(own) = command.find_subcommand(VERB) else { return Ok((matches, Vec::new())) };
    let Some((VERB, said)) = matches.subcommand() else { return Ok((matches, Vec::new())) };
    let file = match said.get_one::<PathBuf>("config") {
        Some(path) => {
            merged(path, own, said).map_err(|why| Unread::Variable(Failure::misused(why)))?
        }
        None => Merged::default(),
    };
    let all: Vec<OsString> = args.iter().chain(&file.arguments).cloned().collect();
    let matches = environment::parse(command.clone(), &all)?;
    let settings = match matches.subcommand() {
        Some((VERB, read)) => file.settings(own, read),
        _ => Vec::new(),
    };
    Ok((matches, settings))
}

/// Serves until a signal ends it.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let pruning = args.pruning.pruning()?;
    let config = Config::new(&args.flags, &args.model.model, pruning).map_err(Failure::misused)?;
    if args.flags.print_config {
        return args.settings.iter().try_for_each(|setting| output::line(&setting.to_string()));
    }
    if args.flags.check {
        return output::line("the settings can be used");
    }
    for warning in config.names.served.iter().filter_map(|name| Names::warning(name)) {
        eprintln!("warning: {warning}");
    }
    let options = args.model.base()?.options()?;
    let located = args.model.locate()?;
    let (model, capacity) = (args.model.clone(), args.flags.capacity.clone());
    log(config.log_format);
    let load = move |app: &Arc<App>| {
        let told = Arc::clone(app);
        let loaded = model.load_telling(&located, move |share| told.set_progress(share));
        let engine = loaded.map_err(|failure| failure.to_string())?;
        let served = Served::new(&model.model, model.identity(&located), options);
        let metrics = Arc::clone(&app.metrics);
        let started = EngineServer::start(engine, served, &capacity, metrics);
        let started =
            started.map_err(|error| format!("error: no thread to compute on: {error}"))?;
        Ok(Arc::new(started) as Arc<dyn Backend>)
    };
    let json = args.flags.json;
    let listening = |url: &str| {
        if json {
            // Who started this and reads nothing is served all the same.
            let _ = output::line(&serde_json::json!({ "listening": url }).to_string());
        } else {
            eprintln!("listening on {url}");
        }
    };
    serve(config, listening, load).map_err(|error| match error {
        // Already in the words of a failure.
        RunError::Load(why) => Failure::failed(why.trim_start_matches("error: ")),
        error => Failure::failed(error),
    })
}
