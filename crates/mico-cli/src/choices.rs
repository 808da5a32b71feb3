//! Values of flags that are one of several names: the names come from where the things are registered, so
//! help, completions, the manual and errors can list neither too many nor too few.

use std::ffi::OsStr;
use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use mico_data::Layout;
use mico_engine::PromptStyle;
use mico_engine::pruner::{self, MethodSpec};
use mico_model::{PRESETS, Precision, Preset, QuantKind};
use mico_score::{Profile, Track};

/// Reads one of several names.
#[derive(Clone)]
pub(crate) struct Choice<T> {
    names: fn() -> Vec<PossibleValue>,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Choice<T> {
    /// The value of a name that comes from elsewhere than the command line.
    pub(crate) fn read(&self, text: &str) -> Result<T, String> {
        (self.read)(text)
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Choice<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter()))
    }
}

fn plain<const N: usize>(names: [&'static str; N]) -> Vec<PossibleValue> {
    names.map(PossibleValue::new).into()
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// One of `all` by its name.
fn find<T: Copy, const N: usize>(
    text: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.into_iter().find(|value| name(*value) == text);
    found.ok_or_else(|| format!("accepted: {}", all.map(name).join(", ")))
}

/// One value of a flag that takes lists in other verbs.
pub(crate) fn single<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    match text.split(',').count() {
        1 => read(text),
        count => Err(format!("a list of {count}, accepted: one")),
    }
}

fn pruners() -> Vec<PossibleValue> {
    let value = |pruner: &pruner::Registered| PossibleValue::new(pruner.name).help(pruner.about);
    pruner::PRUNERS.iter().map(value).collect()
}

/// A pruner's name.
pub(crate) fn pruner() -> Choice<String> {
    let read = |text: &str| {
        let name = single::<String>(text)?;
        let known = pruner::PRUNERS.iter().any(|pruner| pruner.name == name);
        known.then_some(name).ok_or_else(|| format!("accepted: {}", pruner::names()))
    };
    Choice { names: pruners, read }
}

/// A pruner's name, perhaps with settings as in `vispruner:ratio=0.3`; one of a list.
pub(crate) fn pruner_spec() -> Choice<String> {
    let read = |text: &str| {
        read::<MethodSpec>(text)?;
        let name = text.split(':').next().unwrap_or(text);
        let known = pruner::PRUNERS.iter().any(|pruner| pruner.name == name);
        known.then(|| text.to_owned()).ok_or_else(|| format!("accepted: {}", pruner::names()))
    };
    Choice { names: pruners, read }
}

/// A selector's name.
pub(crate) fn selector() -> Choice<String> {
    let names = || {
        let value = |method: &mico_select::methods::Method| {
            PossibleValue::new(method.name).help(method.about)
        };
        mico_select::methods::METHODS.iter().map(value).collect()
    };
    let read = |text: &str| {
        let name = single::<String>(text)?;
        let names: Vec<&str> =
            mico_select::methods::METHODS.iter().map(|method| method.name).collect();
        let known = names.contains(&name.as_str());
        known.then_some(name).ok_or_else(|| format!("accepted: {}", names.join(", ")))
    };
    Choice { names, read }
}

/// A prompt style.
pub(crate) fn prompt_style() -> Choice<PromptStyle> {
    Choice { names: || plain(PromptStyle::ALL.map(PromptStyle::name)), read: read::<PromptStyle> }
}

/// A quantisation of the decoder's matrices.
pub(crate) fn quantization() -> Choice<QuantKind> {
    let read = |text: &str| QuantKind::parse(text).map_err(|error| error.to_string());
    Choice { names: || plain(QuantKind::ALL.map(QuantKind::name)), read }
}

/// A number format of weights.
pub(crate) fn dtype() -> Choice<Precision> {
    let read = |text: &str| find(text, Precision::ALL, Precision::name);
    Choice { names: || plain(Precision::ALL.map(Precision::name)), read }
}

/// A benchmark.
pub(crate) fn track() -> Choice<Track> {
    let read = |text: &str| read::<Track>(&single::<String>(text)?);
    Choice { names: || plain(Track::ALL.map(Track::name)), read }
}

/// A benchmark a model can be asked about.
pub(crate) fn asked_track() -> Choice<Track> {
    let names = || {
        let asked = Track::ALL.into_iter().filter(|track| *track != Track::VtcBench);
        asked.map(|track| PossibleValue::new(track.name())).collect()
    };
    let read = |text: &str| match read(text)? {
        Track::VtcBench => {
            Err("task 'vtcbench' is scored from logs: mico score --task vtcbench".to_owned())
        }
        track => Ok(track),
    };
    Choice { names, read }
}

/// The layout of a benchmark's files.
pub(crate) fn layout() -> Choice<Layout> {
    let read = |text: &str| find(text, Layout::ALL, Layout::name);
    Choice { names: || plain(Layout::ALL.map(Layout::name)), read }
}

/// A toolkit's prompts and rules.
pub(crate) fn profile() -> Choice<Profile> {
    let read = |text: &str| find(text, Profile::ALL, Profile::name);
    Choice { names: || plain(Profile::ALL.map(Profile::name)), read }
}

/// A published model.
pub(crate) fn preset() -> Choice<&'static Preset> {
    let names = || PRESETS.iter().map(|preset| PossibleValue::new(preset.name)).collect();
    let read = |text: &str| Preset::find(text).map_err(|error| error.to_string());
    Choice { names, read }
}

/// What `--sweep` says of itself.
pub(crate) fn sweep_help() -> String {
    let names = mico_eval::READY.map(|(name, _)| name).join(", ");
    format!("A sweep: a TOML file, or one that comes with the program ({names})")
}
