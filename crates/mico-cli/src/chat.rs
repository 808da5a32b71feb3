//! A conversation on a terminal.

use std::io::{BufRead, Write};

use mico_engine::{Engine, Error, Prompt, Request, TurnRequest};

use crate::failure::Failure;
use crate::output::{self, Streamed};
use crate::run::report;

/// Asks for questions until the input ends or `/quit`. The first turn carries the images; later
/// ones build on its caches.
pub(crate) fn talk(engine: &Engine, first: Request) -> Result<(), Failure> {
    let mut session = engine.session(first.options);
    let (mut images, generation) = (first.turn.images, first.turn.generation);
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
                let prompt = Prompt::question(question, images.len());
                let mut turn = TurnRequest::new(std::mem::take(&mut images), prompt);
                turn.generation = generation.clone();
                let retry = turn.images.clone();
                match session.ask(engine, &turn, &mut Streamed::default()) {
                    Ok(outcome) => {
                        output::line("")?;
                        report(engine, &outcome);
                    }
                    // Nobody reads the answers any more.
                    Err(Error::Cancelled) => return Ok(()),
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
