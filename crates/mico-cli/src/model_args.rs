//! Which model to run, and how it is loaded.

use std::path::PathBuf;

use clap::Args;
use mico_engine::{Engine, EngineOptions, ImageLimits, MemoryCheck, PromptStyle, Setting, Switch};
use mico_model::{LoadOptions, LoadReport, ModelFiles, Precision, QuantKind, QuantNote};
use mico_util::text::{escaped, quoted};

use crate::choices;
use crate::failure::Failure;
use crate::files::Outputs;
use crate::hub;
use crate::progress::Loading;
use crate::vocabulary;

/// The most threads one may ask for, for each of the machine's.
const THREADS_PER_CORE: u64 = 4;

/// The model and how it is loaded.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArgs {
    /// `tiny` (the embedded model), a model folder, a hub id `org/name[@revision]`, or a name that
    /// `mico models` lists.
    #[arg(long, default_value = mico_tiny::NAME, value_name = "M")]
    pub(crate) model: String,
    /// Quantise the decoder's matrices while loading.
    #[arg(long, value_name = "KIND", value_parser = choices::quantization())]
    pub(crate) quantize: Option<QuantKind>,
    /// Type the weights are kept in; `stored` is that of the file.
    #[arg(long, default_value = Precision::default().name(), value_parser = choices::dtype())]
    pub(crate) dtype: Precision,
    /// Threads; all cores unless said otherwise.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=THREADS_PER_CORE * cores()))]
    pub(crate) threads: Option<u64>,
    /// Do not compare the memory that model and requests take with what is free.
    #[arg(long)]
    pub(crate) no_memory_check: bool,
    /// How the prompt is written, in place of the checkpoint's own way; `template` is its chat template.
    #[arg(long, value_name = "STYLE", value_parser = choices::prompt_style())]
    pub(crate) prompt_style: Option<PromptStyle>,
    // Its help names the switches there are.
    #[arg(long = "switch", help = choices::switch_help(), value_name = "NAME=VALUE", value_delimiter = ',')]
    pub(crate) switches: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The threads that the machine runs at once.
fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

/// How large an image may become.
#[derive(Debug, Clone, Args)]
pub(crate) struct LimitArgs {
    /// Fewest pixels an image is resized to, in place of the checkpoint's own limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    min_pixels: Option<u64>,
    /// Most pixels an image is resized to, in place of the checkpoint's own limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_pixels: Option<u64>,
    /// Most tiles an image is cut into, in place of the checkpoint's own limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_tiles: Option<u32>,
}

impl LimitArgs {
    fn limits(&self) -> ImageLimits {
        let Self { min_pixels, max_pixels, max_tiles } = *self;
        ImageLimits { min_pixels, max_pixels, max_tiles }
    }
}

/// Where a model is.
#[derive(Debug)]
pub(crate) struct Located {
    /// `None`: in this program.
    folder: Option<PathBuf>,
}

impl Located {
    /// The files that the engine opens the model from.
    pub(crate) fn files(&self) -> ModelFiles<'_> {
        self.folder.as_ref().map_or(ModelFiles::Memory(&mico_tiny::MODEL), ModelFiles::from)
    }
}

impl ModelArgs {
    /// Finds and loads the model, with progress and warnings on standard error.
    pub(crate) fn open(&self) -> Result<Engine, Failure> {
        self.load(&self.locate()?)
    }

    /// Keeps outputs away from the model's files.
    pub(crate) fn protect(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        if self.model == mico_tiny::NAME {
            return Ok(());
        }
        hub::sources(&self.model)
            .iter()
            .try_for_each(|folder| outputs.reads_folder("--model", folder))
    }

    /// Keeps outputs away from a vision tower in a folder of its own, which only the loaded model names.
    pub(crate) fn protect_tower(engine: &Engine, outputs: &mut Outputs) -> Result<(), Failure> {
        let tower = engine.model().config().vision.tower_folder();
        tower.map_or(Ok(()), |folder| outputs.reads_folder("the vision tower in", folder))
    }

    /// What model and requests are compared with before they take memory.
    pub(crate) fn memory_check(&self) -> MemoryCheck {
        if self.no_memory_check { MemoryCheck::Off } else { MemoryCheck::Free }
    }

    /// What every request of this call has in common; nothing is pruned yet.
    pub(crate) fn base(&self) -> Result<Setting, Failure> {
        let mut base = Setting::default();
        let mut given: Vec<&str> = Vec::new();
        for switch in &self.switches {
            let Some((name, value)) = switch.split_once('=') else {
                return Err(Failure::misused(format!(
                    "--switch '{}', accepted: NAME=VALUE",
                    quoted(switch)
                )));
            };
            let name = Switch::find(name)?.name;
            if given.contains(&name) {
                return Err(Failure::misused(format!("--switch {name} is given twice")));
            }
            given.push(name);
            base.switches.set(name, value)?;
        }
        base.limits = self.limits.limits();
        base.style = self.prompt_style;
        Ok(base)
    }

    /// What of the way the model is loaded decides answers.
    #[cfg(feature = "eval")]
    pub(crate) fn load_identity(&self) -> String {
        let quantize = self.quantize.map_or("none", QuantKind::name);
        format!("quantize={quantize} dtype={}", self.dtype.name())
    }

    /// Whether anything is said about the sizes of images.
    #[cfg(feature = "eval")]
    pub(crate) fn overrides_image_size(&self) -> bool {
        let named = |switch: &String| {
            switch.trim().to_lowercase().replace('-', "_").starts_with("image_limits")
        };
        self.limits.limits() != ImageLimits::default() || self.switches.iter().any(named)
    }

    /// Finds the model's files: built in, in a folder, or by a hub id.
    pub(crate) fn locate(&self) -> Result<Located, Failure> {
        let embedded = self.model == mico_tiny::NAME;
        Ok(Located { folder: if embedded { None } else { Some(hub::folder(&self.model)?) } })
    }

    /// What to say of a question with words that the model does not have.
    pub(crate) fn vocabulary_note(&self, engine: &Engine, question: &str) -> Option<String> {
        let example = (self.model == mico_tiny::NAME).then_some(mico_tiny::EXAMPLE);
        vocabulary::note(engine.tokenizer()?, question, example)
    }

    /// Loads a model that was found.
    pub(crate) fn load(&self, located: &Located) -> Result<Engine, Failure> {
        self.load_telling(located, |_| {})
    }

    /// What names the weights and the way they are loaded: files with their sizes, quantisation, number format.
    #[cfg(feature = "serve")]
    pub(crate) fn identity(&self, located: &Located) -> String {
        let quantize = self.quantize.map_or("none", QuantKind::name);
        let mut files: Vec<String> = Vec::new();
        for entry in located.folder.iter().filter_map(|folder| folder.read_dir().ok()).flatten() {
            let file =
                entry.ok().and_then(|file| Some((file.file_name(), file.path().metadata().ok()?)));
            files.extend(file.map(|(name, about)| format!("{} {}", name.display(), about.len())));
        }
        files.sort_unstable();
        let dtype = self.dtype.name();
        format!("{} quantize={quantize} dtype={dtype} {}", self.model, files.join(" "))
    }

    /// Loads a model that was found, and tells how much of it is there, from 0 to 1.
    pub(crate) fn load_telling(
        &self,
        located: &Located,
        tell: impl Fn(f64) + Send + Sync + 'static,
    ) -> Result<Engine, Failure> {
        let bar = Loading::new();
        let options = EngineOptions {
            load: LoadOptions {
                precision: self.dtype,
                quantize: self.quantize,
                progress: Some(bar.callback(tell)),
                ..LoadOptions::default()
            },
            threads: Some(self.threads.map_or(0, |threads| threads as usize)),
            memory: self.memory_check(),
            ..EngineOptions::default()
        };
        let opened = Engine::open(located.files(), &options);
        drop(bar);
        let (engine, report) = opened?;
        warn(&report);
        if let Some(threads) = self.threads.filter(|threads| *threads > cores()) {
            let cores = cores();
            eprintln!(
                "note: --threads {threads} on {cores} cores is slower than --threads {cores}"
            );
        }
        Ok(engine)
    }
}

fn warn(report: &LoadReport) {
    if let Some(first) = report.unexpected.first() {
        let count = report.unexpected.len();
        let first = quoted(first);
        eprintln!("warning: {count} unexpected tensors were ignored, the first is '{first}'");
    }
    for note in &report.notes {
        eprintln!("note: {}", escaped(note));
    }
    if let Some(note) = report.quantization.first() {
        eprintln!("{}", unquantized(note, report.quantization.len()));
    }
}

/// What became of matrices whose rows the blocks of the format do not divide.
fn unquantized(first: &QuantNote, count: usize) -> String {
    let QuantNote { tensor, row, used, .. } = first;
    let (matrices, their) = if count == 1 { ("matrix", "its") } else { ("matrices", "their") };
    let kept = if *used == "none" { "not quantised".to_owned() } else { format!("kept as {used}") };
    format!(
        "note: {count} {matrices} {kept}, since blocks of the format do not divide {their} rows; the \
         first is {tensor} with rows of {row}"
    )
}
