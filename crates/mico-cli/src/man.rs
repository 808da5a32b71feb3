//! `mico man`: the manual, made from the definitions that make `--help`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use serde::Serialize;

use crate::failure::Failure;
use crate::files::Outputs;
use crate::output;

/// Print the manual pages, or write one file for each verb.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages: mico.1, mico-run.1 and so on.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// A page of the manual.
#[derive(Debug, Serialize)]
struct Page {
    name: String,
    text: String,
}

/// Runs the verb for a definition of the command line.
pub(crate) fn run(args: &ManArgs, mut command: Command) -> Result<(), Failure> {
    // Gives every verb the name it is called by, and the flags that all of them have.
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages).map_err(Failure::failed)?;
    if let Some(folder) = &args.out {
        let folder = Outputs::new().folder("--out", folder, &[])?;
        for Page { name, text } in &pages {
            folder.write(name, text)?;
        }
    }
    if args.json {
        return output::json(&pages);
    }
    let shown = |page: &Page| match &args.out {
        Some(folder) => folder.join(&page.name).display().to_string(),
        None => page.text.trim_end().to_owned(),
    };
    output::line(&pages.iter().map(shown).collect::<Vec<_>>().join("\n"))
}

/// The page of a command, then those of its verbs.
fn collect(command: &Command, pages: &mut Vec<Page>) -> std::io::Result<()> {
    let title = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = Vec::new();
    Man::new(command.clone()).title(title.to_uppercase()).render(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    pages.push(Page { name: format!("{title}.1"), text });
    // The verb that prints help says nothing that the pages do not.
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    verbs.into_iter().try_for_each(|verb| collect(verb, pages))
}
