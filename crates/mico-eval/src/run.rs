//! Putting items to an engine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use mico_engine::{Engine, Generation, ImageInput, Prompt, Request};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::record::{Keys, Record, RecordKey};
use crate::setting::Setting;
use crate::task::{Item, Suite};

/// Longest answer: the suites ask for a word or two.
const MAX_NEW_TOKENS: usize = 16;
/// Pictures under way at once, per thread; records are written when all of them are done.
const PICTURES_PER_THREAD: usize = 1;

/// Told after each picture how many answers there are, and how many there will be.
pub type Progress<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// What is measured with what. `model` must hold all that decides answers and is not in the items or
/// settings.
pub struct Run<'a> {
    /// The model.
    pub engine: &'a Engine,
    /// Its fingerprint and how it was loaded.
    pub model: &'a str,
    /// The items.
    pub suite: &'a dyn Suite,
    /// How they are run.
    pub settings: &'a [Setting],
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("suite", &self.suite.name()).finish_non_exhaustive()
    }
}

impl Run<'_> {
    /// The keys of this run's records.
    pub fn keys(&self) -> Keys {
        let layer = self.engine.schedule().policy.refine_layer;
        let version = env!("CARGO_PKG_VERSION");
        let model = self.model;
        Keys::new(format!("{version} {model} K={layer} {MAX_NEW_TOKENS} {}", self.suite.name()))
    }
}

/// An answer that is not in the journal yet.
struct Missing<'a> {
    key: RecordKey,
    item: &'a Item,
    setting: &'a Setting,
}

/// Answers every item under every setting, apart from what the journal already holds. The answers
/// do not depend on the number of threads, nor does the order of records.
pub fn run(run: &Run<'_>, journal: &mut Journal, progress: &Progress<'_>) -> Result<()> {
    let keys = run.keys();
    let mut missing: BTreeMap<u64, Vec<Missing<'_>>> = BTreeMap::new();
    for item in run.suite.items() {
        for setting in run.settings {
            let key = keys.of(item, setting);
            if journal.get(&key).is_none() {
                missing.entry(item.picture).or_default().push(Missing { key, item, setting });
            }
        }
    }
    let total = run.suite.items().len() * run.settings.len();
    let done = AtomicUsize::new(total - missing.values().map(Vec::len).sum::<usize>());
    progress(done.load(Ordering::Relaxed), total);
    if missing.is_empty() {
        return Ok(());
    }
    let blank = ImageInput::Seen(run.engine.see(&ImageInput::Decoded(run.suite.blank()), false)?);
    let pictures: Vec<(u64, Vec<Missing<'_>>)> = missing.into_iter().collect();
    for batch in pictures.chunks(PICTURES_PER_THREAD * rayon::current_num_threads()) {
        let answered = batch.par_iter().map(|(number, asked)| {
            let records = answer(run, *number, asked, &blank)?;
            let before = done.fetch_add(records.len(), Ordering::Relaxed);
            progress(before + records.len(), total);
            Ok(records)
        });
        for records in answered.collect::<Result<Vec<_>>>()? {
            journal.append(records)?;
        }
    }
    Ok(())
}

/// All that is missing about one picture; the vision side sees it once for each packing.
fn answer(
    run: &Run<'_>,
    number: u64,
    asked: &[Missing<'_>],
    blank: &ImageInput,
) -> Result<Vec<Record>> {
    let mut pictures = Pictures::new(run, number);
    let records = asked.iter().map(|missing| {
        let image = match missing.setting {
            Setting::Blank => blank.clone(),
            setting => pictures.seen(setting.pruning(number)?.pruner.prunes())?,
        };
        let request = request(missing.item, missing.setting, image)?;
        let outcome = run.engine.run(&request, &mut ()).map_err(Error::item(missing.item))?;
        Ok(Record::new(missing.key.clone(), missing.item, missing.setting, &outcome))
    });
    records.collect()
}

/// The request of an item.
pub(crate) fn request(item: &Item, setting: &Setting, image: ImageInput) -> Result<Request> {
    let mut request = Request::new(vec![image], Prompt::question(&item.question, 1));
    request.turn.generation = Generation::greedy(MAX_NEW_TOKENS);
    request.pruning = setting.pruning(item.picture)?;
    Ok(request)
}

/// A picture as the vision side sees it, for requests that prune and for those that do not.
pub(crate) struct Pictures<'a> {
    run: &'a Run<'a>,
    number: u64,
    seen: [Option<ImageInput>; 2],
}

impl<'a> Pictures<'a> {
    pub(crate) fn new(run: &'a Run<'a>, number: u64) -> Self {
        Self { run, number, seen: [None, None] }
    }

    pub(crate) fn seen(&mut self, prunes: bool) -> Result<ImageInput> {
        if let Some(image) = &self.seen[usize::from(prunes)] {
            return Ok(image.clone());
        }
        let picture = ImageInput::Decoded(self.run.suite.picture(self.number)?);
        let image = ImageInput::Seen(self.run.engine.see(&picture, prunes)?);
        Ok(self.seen[usize::from(prunes)].insert(image).clone())
    }
}
