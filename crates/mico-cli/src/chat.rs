//! A conversation on a terminal.

use std::io::{BufRead, Write};

use mico_engine::pruner::Pruning;
use mico_engine::{Engine, Prompt, TurnRequest};

use crate::failure::Failure;
use crate::output::{self, Streamed};
use crate::run::report;

/// Asks for questions until the input ends or `/quit`. The first turn carries the images; later
/// ones build on its caches.
pub(crate) fn talk(engine: &Engine, first: TurnRequest, pruning: Pruning) -> Result<(), Failure> {
    let mut session = engine.session(pruning);
    let mut images = first.images;
    eprintln!("Ask away; an empty line is skipped, /quit ends.");
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        eprint!("> ");
        let _ = std::io::stderr().flush();
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::failed(format!("standard input: {error}")))? == 0 {
            return Ok(());
        }
        match String::from_utf8_lossy(&line).trim() {
            "" => {}
            "/quit" => return Ok(()),
            question => {
                let turn = TurnRequest {
                    prompt: Prompt::question(question, images.len()),
                    images: std::mem::take(&mut images),
                    generation: first.generation.clone(),
                    dump: false,
                };
                let retry = turn.images.clone();
                match session.ask(engine, &turn, &mut Streamed::default()) {
                    Ok(outcome) => {
                        output::line("")?;
                        report(engine, &outcome);
                    }
                    Err(error) => {
                        // The session is as it was: the images still wait for their question.
                        images = retry;
                        eprintln!("{}", Failure::from(error));
                    }
                }
            }
        }
    }
}
