//! What was probably meant by a command line that cannot be read.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue};

use crate::visual_args;

/// The most changes of a letter, or swaps of two, after which a word is taken for another.
const MOST_CHANGES: usize = 2;

/// What was probably meant by a command line with a word too many, if one of its words is a file that a flag
/// should stand before.
pub(crate) fn misplaced_file(args: &[OsString], command: &Command) -> Option<String> {
    let (verb, words) = args.get(1..)?.split_first()?;
    let verb = command.find_subcommand(verb)?;
    verb.get_arguments().find(|arg| arg.get_long() == Some("image"))?;
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let takes_value = |flag: &str| {
        let name = flag.strip_prefix("--");
        let mut flags = verb.get_arguments().filter(|arg| arg.get_long().is_some());
        flags.any(|arg| arg.get_long() == name && arg.get_action().takes_values())
    };
    let is_free =
        |at: &usize| !words[*at].starts_with('-') && (*at == 0 || !takes_value(words[*at - 1]));
    let free: Vec<&str> = (0..words.len()).filter(is_free).map(|at| words[at]).collect();
    let file = *free.iter().find(|word| Path::new(word).is_file())?;
    let others: Vec<&str> = free.into_iter().filter(|word| *word != file).collect();
    Some(visual_args::meant(file, &others))
}

/// An error about an unknown verb with the one that was probably meant, also where letters changed places, which
/// the parser takes for another word.
pub(crate) fn with_similar_verb(mut error: clap::Error, command: &Command) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let distance = |name: &str| strsim::osa_distance(word, name);
    let names = command.get_subcommands().map(Command::get_name);
    // Short words are alike by chance.
    let most = MOST_CHANGES.min(word.chars().count() / 3);
    let nearest = names.min_by_key(|name| distance(name)).filter(|name| distance(name) <= most);
    if let Some(name) = nearest {
        let name = ContextValue::String(name.to_owned());
        error.insert(ContextKind::SuggestedSubcommand, name);
    }
    error
}
