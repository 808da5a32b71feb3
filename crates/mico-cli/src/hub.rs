//! Models by name: what of the command line depends on whether this build can ask the hub.

use std::path::{Path, PathBuf};

use mico_engine::families::FamilySpec;

#[cfg(feature = "hub")]
pub(crate) use with_hub::status;
#[cfg(not(feature = "hub"))]
pub(crate) use without_hub::status;

use crate::failure::Failure;
#[cfg(feature = "hub")]
use with_hub::fetched;
#[cfg(not(feature = "hub"))]
use without_hub::fetched;

/// The folder of a model, fetched from the hub if need be. The names of published models stand for their
/// hub ids, unless there is such a folder.
pub(crate) fn folder(model: &str) -> Result<PathBuf, Failure> {
    let preset = FamilySpec::preset(model).ok().filter(|_| !Path::new(model).exists());
    match preset.and_then(|(_, preset)| preset.hub_id) {
        Some(id) => {
            eprintln!("note: {model} is {id}");
            fetched(id)
        }
        None => fetched(model),
    }
}

#[cfg(feature = "hub")]
mod with_hub {
    use std::path::PathBuf;

    use indicatif::{HumanBytes, ProgressBar};
    use mico_hub::{Event, HubOptions, ModelRef};

    use crate::failure::Failure;

    /// The folder of a model, fetched from the hub if need be.
    pub(super) fn fetched(model: &str) -> Result<PathBuf, Failure> {
        let reference = ModelRef::parse(model).map_err(Failure::misused)?;
        let options = HubOptions::from_env().map_err(Failure::misused)?;
        let bar = ProgressBar::no_length();
        let folder = mico_hub::resolve(&reference, &options, &mut |event| show(&bar, &event));
        bar.finish_and_clear();
        folder.map_err(Failure::failed)
    }

    /// Where the hub and its cache are, or which setting is wrong.
    pub(crate) fn status() -> Result<String, String> {
        let options = HubOptions::from_env().map_err(|error| error.to_string())?;
        let mode = if options.is_offline() { "offline" } else { "online" };
        let cache = options.cache();
        let there = if cache.is_dir() { "" } else { " (not there yet)" };
        Ok(format!("{mode}, endpoint {}, cache {}{there}", options.endpoint(), cache.display()))
    }

    fn show(bar: &ProgressBar, event: &Event<'_>) {
        match event {
            Event::Unreachable { reason } => {
                eprintln!("warning: the hub cannot be reached, using the cached copy: {reason}");
            }
            Event::Waiting { file } => bar.set_message(format!("waiting for {file}")),
            Event::Started { file, size, .. } => {
                let size = size.map_or(String::new(), |size| format!(" ({})", HumanBytes(size)));
                bar.set_message(format!("{file}{size}"));
            }
            Event::Advanced { received, .. } => bar.set_position(*received),
            _ => {}
        }
    }
}

#[cfg(not(feature = "hub"))]
mod without_hub {
    use std::path::{Path, PathBuf};

    use crate::failure::Failure;

    /// The folder of a model. Everything else would be a hub id, which this build cannot look up.
    pub(super) fn fetched(model: &str) -> Result<PathBuf, Failure> {
        let path = Path::new(model);
        if path.is_dir() {
            return Ok(path.to_path_buf());
        }
        let found = if path.exists() { "a file, not a folder" } else { "no such folder" };
        Err(Failure::misused(format!(
            "model `{model}`: {found}, and this build has no hub support (feature `hub`); \
             accepted: an existing folder"
        )))
    }

    /// That there is no hub here; the signature is that of a build with one.
    #[expect(clippy::unnecessary_wraps, reason = "a build with the hub can find a bad setting")]
    pub(crate) fn status() -> Result<String, String> {
        Ok("not part of this build (feature `hub`)".into())
    }
}
