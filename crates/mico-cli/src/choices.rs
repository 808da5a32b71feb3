//! Values of flags that are one of several names: the names come from where the things are registered, so
//! help, completions, the manual and errors can list neither too many nor too few.

use std::ffi::OsStr;
use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
#[cfg(feature = "eval")]
use mico_data::Layout;
use mico_engine::families::FamilySpec;
#[cfg(feature = "eval")]
use mico_engine::pruner::MethodSpec;
use mico_engine::{PromptStyle, SWITCHES};
use mico_model::{Precision, Preset, QuantKind};
#[cfg(feature = "eval")]
use mico_score::{Profile, Track};
use mico_select::methods::{self, Method};

/// Reads one of several names.
#[derive(Clone)]
pub(crate) struct Choice<T> {
    names: fn() -> Vec<PossibleValue>,
    read: fn(&str) -> Result<T, String>,
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

/// A method's name with what it does.
fn described(method: &'static Method) -> PossibleValue {
    PossibleValue::new(method.name).help(method.about)
}

fn known(name: &str, methods: impl Iterator<Item = &'static Method>) -> Result<String, String> {
    let names: Vec<&str> = methods.map(|method| method.name).collect();
    let found = names.contains(&name).then(|| name.to_owned());
    found.ok_or_else(|| format!("accepted: {}", names.join(", ")))
}

/// The name of a method that can prune in the engine.
pub(crate) fn pruner() -> Choice<String> {
    let read = |text: &str| known(&single::<String>(text)?, methods::pruners());
    Choice { names: || methods::pruners().map(described).collect(), read }
}

/// A pruner's name, perhaps with settings as in `vispruner:ratio=0.3`; one of a list.
#[cfg(feature = "eval")]
pub(crate) fn pruner_spec() -> Choice<MethodSpec> {
    let read = |text: &str| {
        let spec = read::<MethodSpec>(text)?;
        known(spec.name(), methods::pruners()).map(|_| spec)
    };
    Choice { names: || methods::pruners().map(described).collect(), read }
}

/// The name of a method that can select from given tensors.
pub(crate) fn selector() -> Choice<String> {
    let read = |text: &str| known(&single::<String>(text)?, methods::selectors());
    Choice { names: || methods::selectors().map(described).collect(), read }
}

/// The name of a prompt style.
pub(crate) fn prompt_style() -> Choice<PromptStyle> {
    let names = || PromptStyle::names().into_iter().map(PossibleValue::new).collect();
    Choice { names, read: read::<PromptStyle> }
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

/// The name of a benchmark that can be scored.
#[cfg(feature = "eval")]
pub(crate) fn track() -> Choice<Track> {
    let read = |text: &str| read::<Track>(&single::<String>(text)?);
    Choice { names: || plain(Track::ALL.map(Track::name)), read }
}

/// A benchmark a model can be asked about.
#[cfg(feature = "eval")]
pub(crate) fn evaluable_track() -> Choice<Track> {
    let names = || {
        let asked = Track::ALL.into_iter().filter(|track| *track != Track::VtcBench);
        asked.map(|track| PossibleValue::new(track.name())).collect()
    };
    Choice { names, read: mico_eval::parse_track }
}

/// The layout of a benchmark's files.
#[cfg(feature = "eval")]
pub(crate) fn layout() -> Choice<Layout> {
    let read = |text: &str| find(text, Layout::ALL, Layout::name);
    Choice { names: || plain(Layout::ALL.map(Layout::name)), read }
}

/// A toolkit's prompts and rules.
#[cfg(feature = "eval")]
pub(crate) fn profile() -> Choice<Profile> {
    let read = |text: &str| find(text, Profile::ALL, Profile::name);
    Choice { names: || plain(Profile::ALL.map(Profile::name)), read }
}

/// The name of a published model whose shape is known.
pub(crate) fn preset() -> Choice<&'static Preset> {
    let names =
        || FamilySpec::presets().iter().map(|preset| PossibleValue::new(preset.name)).collect();
    let read = |text: &str| {
        FamilySpec::preset(text).map(|(_, preset)| preset).map_err(|error| error.to_string())
    };
    Choice { names, read }
}

/// What `--switch` says of itself.
pub(crate) fn switch_help() -> String {
    let named = SWITCHES.map(|switch| format!("{}={}", switch.name, switch.words().join("|")));
    format!("A choice the paper leaves open, the default first: {}", named.join(", "))
}

/// What `--sweep` says of itself.
#[cfg(feature = "eval")]
pub(crate) fn sweep_help() -> String {
    let names = mico_eval::BUILTIN_SWEEPS.map(|(name, _)| name).join(", ");
    format!("A sweep: a TOML file, or one that comes with the program ({names})")
}
