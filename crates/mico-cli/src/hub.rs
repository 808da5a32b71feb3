//! Models by name: what of the command line depends on whether this build can ask the hub.

use std::path::{Path, PathBuf};

use mico_engine::families::FamilySpec;

#[cfg(feature = "hub")]
pub(crate) use with_hub::status;
#[cfg(not(feature = "hub"))]
pub(crate) use without_hub::status;

use crate::failure::Failure;
#[cfg(feature = "hub")]
use with_hub::{fetched, sources_of};
#[cfg(not(feature = "hub"))]
use without_hub::{fetched, sources_of};

/// What is known of the hub.
pub(crate) struct Status {
    /// Whether it answered, or was not to be asked.
    pub(crate) reached: bool,
    /// One line about it and its cache.
    pub(crate) detail: String,
}

/// The hub id that the name of a published model stands for, unless there is such a folder.
fn hub_id(model: &str) -> Option<&'static str> {
    let preset = FamilySpec::preset(model).ok().filter(|_| !Path::new(model).exists());
    preset.and_then(|(_, preset)| preset.hub_id)
}

/// The folders that a model's files come from, as far as they can be known before it is fetched.
pub(crate) fn sources(model: &str) -> Vec<PathBuf> {
    sources_of(hub_id(model).unwrap_or(model))
}

/// The folder of a model, fetched from the hub if need be. The names of published models stand for their
/// hub ids.
pub(crate) fn folder(model: &str) -> Result<PathBuf, Failure> {
    match hub_id(model) {
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

    use super::Status;
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

    /// The folders that a model's files come from, as far as they can be known before it is fetched: its own,
    /// and the part of the cache that holds what a snapshot links to.
    pub(super) fn sources_of(model: &str) -> Vec<PathBuf> {
        let Ok(reference) = ModelRef::parse(model) else { return Vec::new() };
        match &reference {
            ModelRef::Folder(folder) => {
                let repository = mico_hub::repository_of(folder);
                [folder.clone()].into_iter().chain(repository).collect()
            }
            ModelRef::Hub(id) => {
                let options = HubOptions::from_env();
                options.into_iter().map(|options| options.repository(id)).collect()
            }
        }
    }

    /// Where the hub and its cache are, asking the hub for a sign of life unless offline mode forbids it; or
    /// which setting is wrong.
    pub(crate) fn status() -> Result<Status, String> {
        let options = HubOptions::from_env().map_err(|error| error.to_string())?;
        let (reached, mode) = if options.is_offline() {
            (true, "offline mode".to_string())
        } else {
            match mico_hub::probe(&options) {
                Ok(()) => (true, "online".to_string()),
                Err(error) => (false, error.to_string()),
            }
        };
        let cache = options.cache();
        let there = if cache.is_dir() { "" } else { " (not there yet)" };
        let detail =
            format!("{mode}, endpoint {}, cache {}{there}", options.endpoint(), cache.display());
        Ok(Status { reached, detail })
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

    use super::Status;
    use crate::failure::Failure;

    /// The folder of a model. Everything else would be a hub id, which this build cannot look up.
    pub(super) fn fetched(model: &str) -> Result<PathBuf, Failure> {
        let path = Path::new(model);
        if path.is_dir() {
            return Ok(path.to_path_buf());
        }
        let found = if path.exists() { "a file, not a folder" } else { "no such folder" };
        Err(Failure::misused(format!(
            "model `{}`: {found}, and this build has no hub support (feature `hub`); \
             accepted: an existing folder",
            mico_util::text::quoted(model)
        )))
    }

    /// The folder that a model's files come from.
    pub(super) fn sources_of(model: &str) -> Vec<PathBuf> {
        vec![PathBuf::from(model)]
    }

    /// That there is no hub here; the signature is that of a build with one.
    #[expect(clippy::unnecessary_wraps, reason = "a build with the hub can find a bad setting")]
    pub(crate) fn status() -> Result<Status, String> {
        Ok(Status { reached: true, detail: "not part of this build (feature `hub`)".into() })
    }
}
