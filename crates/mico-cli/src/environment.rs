//! The environment twins of flags: what `--max-tiles 4` says, `MICO_MAX_TILES=4` says as well.
//!
//! Every flag of every verb gets its variable here and nowhere else, so none can lack one. The parser reads
//! the variables itself; this module decides which of them it may see:
//!
//! * a flag on the command line wins over its own variable and over those of flags it contradicts
//!   (`MICO_BUDGET=64 mico run --no-prune` prunes nothing);
//! * a switch's variable says `true`, `1`, `yes`, `on` or `false`, `0`, `no`, `off`; off, or nothing, is the
//!   same as not being set;
//! * a flag with several names has as many variables (`MICO_METHOD`, `MICO_METHODS`); the one of its first
//!   name that is set counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use clap::builder::{BoolishValueParser, Resettable};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};

use crate::failure::Failure;

/// What the name of every variable begins with.
const PREFIX: &str = "MICO_";

/// Flags that leave others nothing to say, though the parser knows of no conflict: given beside them on a
/// command line the others are a mistake, but their variables may have been set for other calls.
const SILENCES: [(&str, &[&str]); 3] = [
    ("no_prune", &["method", "authors_budget", "refine_layer", "pool", "set"]),
    ("images", &["fps", "max_frames"]),
    (
        "no_image",
        &[
            "budget",
            "keep",
            "method",
            "authors_budget",
            "refine_layer",
            "pool",
            "set",
            "overlay",
            "fps",
            "max_frames",
        ],
    ),
];

/// Why a command line could not be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The parser's own answer: an error, or the help that was asked for.
    Parser(clap::Error),
    /// A variable says something its flag does not take.
    Variable(Failure),
}

/// The variable a flag may be read from, in this call.
#[derive(Debug, Clone)]
enum Twin {
    /// One that is set, or the flag's own if none is.
    Read(String),
    /// None: it says nothing, or something on the command line wins.
    Unread,
}

/// The command with a variable for every flag, for help, completions and the manual.
pub(crate) fn with_variables(command: Command) -> Command {
    let names = |arg: &Arg| variables(arg).into_iter().next();
    let command = command.mut_args(|arg| match names(&arg) {
        Some(name) => arg.env(name),
        None => arg,
    });
    command.mut_subcommands(with_variables)
}

/// Parses a command line, with variables for what it does not say.
pub(crate) fn parse(command: Command, args: &[OsString]) -> Result<ArgMatches, Unread> {
    let bare = without_variables(command.clone());
    // What can be told of a wrong command line is enough here: the second reading reports the error.
    let said = bare.clone().ignore_errors(true).try_get_matches_from(args).ok();
    let mut read = BTreeMap::new();
    match bind(command, said.as_ref(), &mut read) {
        Ok(command) => {
            command.try_get_matches_from(args).map_err(|error| with_variable_name(error, &read))
        }
        // Help is given whatever the variables say.
        Err(failure) => match bare.try_get_matches_from(args) {
            Err(help) if !help.use_stderr() => Err(Unread::Parser(help)),
            _ => Err(Unread::Variable(failure)),
        },
    }
}

fn without_variables(command: Command) -> Command {
    let command = command.mut_args(|arg| arg.env(Resettable::Reset));
    command.mut_subcommands(without_variables)
}

/// Lets the verb that is called, and its own verbs, read the variables they may. Which one a flag is read
/// from is noted in `read`.
fn bind(
    command: Command,
    said: Option<&ArgMatches>,
    read: &mut BTreeMap<String, String>,
) -> Result<Command, Failure> {
    let Some(said) = said else { return Ok(with_variables(command)) };
    let silenced = silenced(&command, said);
    let mut twins = BTreeMap::new();
    for arg in command.get_arguments() {
        let id = arg.get_id();
        let twin =
            if is_said(said, id) || silenced.contains(id) { Twin::Unread } else { twin(arg)? };
        if let (Twin::Read(name), Some(flag)) = (&twin, arg.get_long()) {
            read.insert(format!("--{flag}"), name.clone());
        }
        twins.insert(id.clone(), twin);
    }
    let command = command.mut_args(|arg| match twins.remove(arg.get_id()) {
        Some(Twin::Read(name)) if is_switch(&arg) => {
            arg.env(name).value_parser(BoolishValueParser::new())
        }
        Some(Twin::Read(name)) => arg.env(name),
        Some(Twin::Unread) | None => arg.env(Resettable::Reset),
    });
    let called = said.subcommand().map(|(name, said)| (name.to_owned(), said));
    let mut failed = None;
    let command = command.mut_subcommands(|sub| {
        let said =
            called.as_ref().filter(|(name, _)| name == sub.get_name()).map(|(_, said)| *said);
        let unbound = sub.clone();
        bind(sub, said, read).unwrap_or_else(|failure| {
            failed = Some(failure);
            unbound
        })
    });
    failed.map_or(Ok(command), Err)
}

/// The variable of a flag that the command line does not mention.
fn twin(arg: &Arg) -> Result<Twin, Failure> {
    let names = variables(arg);
    let set = names.iter().find_map(|name| Some((name, std::env::var_os(name)?)));
    match (set, names.first()) {
        (Some((name, value)), _) if is_switch(arg) => {
            Ok(if is_on(name, &value)? { Twin::Read(name.clone()) } else { Twin::Unread })
        }
        (Some((name, _)), _) | (None, Some(name)) => Ok(Twin::Read(name.clone())),
        (None, None) => Ok(Twin::Unread),
    }
}

/// The variables of a flag, that of its own name first; a positional argument has one if it names it.
fn variables(arg: &Arg) -> Vec<String> {
    let own = arg.get_env().and_then(OsStr::to_str).map(str::to_owned);
    let flags = arg.get_long().into_iter().chain(arg.get_all_aliases().into_iter().flatten());
    let twins = flags.map(|flag| format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_")));
    own.into_iter().chain(twins).collect()
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// What a switch's variable says.
fn is_on(name: &str, value: &OsStr) -> Result<bool, Failure> {
    match value.to_string_lossy().trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "y" | "t" => Ok(true),
        "false" | "0" | "no" | "off" | "n" | "f" | "" => Ok(false),
        _ => Err(Failure::misused(format!(
            "{name} is '{}', accepted: true, 1, yes, on, false, 0, no, off",
            value.to_string_lossy()
        ))),
    }
}

fn is_said(said: &ArgMatches, id: &Id) -> bool {
    said.value_source(id.as_str()) == Some(ValueSource::CommandLine)
}

/// The flags that something on the command line contradicts.
fn silenced(command: &Command, said: &ArgMatches) -> BTreeSet<Id> {
    let args: Vec<&Arg> = command.get_arguments().collect();
    let (given, others): (Vec<&Arg>, Vec<&Arg>) =
        args.into_iter().partition(|arg| is_said(said, arg.get_id()));
    let loses = |other: &&Arg| given.iter().any(|arg| contradict(command, arg, other));
    others.into_iter().filter(loses).map(|arg| arg.get_id().clone()).collect()
}

fn contradict(command: &Command, given: &Arg, other: &Arg) -> bool {
    let refuses = |one: &Arg, another: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == another.get_id())
    };
    let alternatives = command.get_groups().any(|group| {
        let holds = |arg: &Arg| group.get_args().any(|id| id == arg.get_id());
        holds(given) && holds(other) && !group.clone().is_multiple()
    });
    let silences = SILENCES.iter().any(|(flag, silent)| {
        given.get_id() == flag && silent.iter().any(|name| other.get_id() == name)
    });
    alternatives || silences || refuses(given, other) || refuses(other, given)
}

/// An error about a value that came from a variable names the variable.
fn with_variable_name(error: clap::Error, read: &BTreeMap<String, String>) -> Unread {
    let about_value = [ErrorKind::InvalidValue, ErrorKind::ValueValidation].contains(&error.kind());
    let variable = match error.get(ContextKind::InvalidArg) {
        // Written with what it takes, as in `--budget <T>`.
        Some(ContextValue::String(flag)) if about_value => {
            flag.split(' ').next().and_then(|flag| read.get(flag))
        }
        _ => None,
    };
    let Some(variable) = variable else { return Unread::Parser(error) };
    let line = Failure::from(error).to_string();
    let line = line.trim_start_matches("error: ");
    Unread::Variable(Failure::misused(format!("{variable}: {line}")))
}
