//! A conversation: questions and commands, line by line.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use mico_engine::pruner::{MethodSpec, PruningSpec};
use mico_engine::{
    Engine, Error, GenerationOptions, ImageInput, Outcome, Prompt, Session, Setting, TurnRequest,
};
use mico_select::schedule::Budget;

use crate::failure::Failure;
use crate::files::Outputs;
use crate::images;
use crate::interrupt::{self, Interruptible};
use crate::output::{self, Streamed};
use crate::overlay::{self, Drawn};
use crate::picture::PictureFile;
use crate::pruning_args::DEFAULT_METHOD;
use crate::run::{Tokens, note, statistics};
use crate::visual_args::Visuals;

const HELP: &str = "\
/image FILE    show another image with the next question
/budget T      layer-average number of visual tokens per image; begins again with the same images
/budget off    no pruning; begins again with the same images
/overlay FILE  draw what was kept of the last images shown, to a .png, .jpg or .webp file
/reset         forget the questions and answers; the images stay
/quit          end, as the end of the input does
Ctrl-C stops an answer; everything else is a question.";

/// What a conversation begins with.
pub(crate) struct Start {
    pub(crate) setting: Setting,
    pub(crate) visuals: Visuals,
    pub(crate) generation: GenerationOptions,
    /// What is read, from which drawings keep away.
    pub(crate) outputs: Outputs,
}

/// A turn that showed images, for its overlay.
struct Shown {
    images: Vec<ImageInput>,
    question: String,
    outcome: Outcome,
}

/// What is said before the answer to a question, if anything.
type Note<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A conversation with an engine. The first question carries the images; later ones build on its caches.
pub(crate) struct Conversation<'a> {
    engine: &'a Engine,
    note: &'a Note<'a>,
    setting: Setting,
    generation: GenerationOptions,
    session: Session,
    /// Images whose tokens are in the caches.
    seen: Vec<ImageInput>,
    /// Images that wait for the next question.
    waiting: Vec<ImageInput>,
    /// What to call the frames of a video.
    labels: Vec<String>,
    /// The visual tokens in the caches.
    tokens: Tokens,
    shown: Option<Shown>,
    /// What was read so far.
    outputs: Outputs,
}

/// Whether to read on.
enum Next {
    Line,
    End,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        start: Start,
        note: &'a Note<'a>,
    ) -> Result<Self, Failure> {
        let Start { setting, visuals: Visuals { inputs, labels }, generation, outputs } = start;
        let session = session(engine, &setting)?;
        let (seen, tokens) = (Vec::new(), Tokens::default());
        let (waiting, shown) = (inputs, None);
        Ok(Self {
            engine,
            note,
            setting,
            generation,
            session,
            seen,
            waiting,
            labels,
            tokens,
            shown,
            outputs,
        })
    }

    /// Reads questions and commands until the input ends or `/quit`. Answers go to `out`, everything else
    /// to `notes`.
    pub(crate) fn talk(
        &mut self,
        input: &mut dyn BufRead,
        out: &mut (dyn Write + Send),
        notes: &mut dyn Write,
    ) -> Result<(), Failure> {
        say(notes, "Ask away; /help lists the commands, /quit ends.");
        let mut line = Vec::new();
        loop {
            let _ = write!(notes, "> ").and_then(|()| notes.flush());
            line.clear();
            let read = input.read_until(b'\n', &mut line);
            if read.map_err(|error| Failure::failed(format!("standard input: {error}")))? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&line);
            let next = match line.trim() {
                "" => Ok(Next::Line),
                text => match text.strip_prefix('/') {
                    Some(command) => self.obey(command, notes),
                    None => self.ask(text, out, notes),
                },
            };
            match next {
                Ok(Next::Line) => {}
                Ok(Next::End) => return Ok(()),
                // Nothing has changed: another line can be better.
                Err(failure) => say(notes, &failure.to_string()),
            }
        }
    }

    fn obey(&mut self, command: &str, notes: &mut dyn Write) -> Result<Next, Failure> {
        let (name, value) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match (name, value.trim()) {
            ("quit" | "exit", "") => return Ok(Next::End),
            ("help", "") => say(notes, HELP),
            ("reset", "") => {
                self.begin_again(self.setting.clone())?;
                say(notes, "a new conversation about the same images");
            }
            ("image", file) if !file.is_empty() => {
                let path = PathBuf::from(file);
                self.outputs.reads("/image", &path)?;
                let read = images::read(&[path])?;
                self.waiting.extend(read.into_iter().map(ImageInput::Decoded));
                say(notes, "the next question is about this image, too");
            }
            ("budget", value) if !value.is_empty() => {
                let setting = self.with_budget(value)?;
                self.begin_again(setting)?;
                say(notes, "a new conversation about the same images, with that budget");
            }
            ("overlay", file) if !file.is_empty() => self.draw(Path::new(file), notes)?,
            ("image" | "overlay", _) => {
                return Err(Failure::misused(format!("/{name} needs a file: /{name} FILE")));
            }
            ("budget", _) => return Err(Failure::misused("/budget needs a number, or off")),
            _ => {
                let message = format!("/{command} is no command; /help lists them");
                return Err(Failure::misused(message));
            }
        }
        Ok(Next::Line)
    }

    /// The setting with another budget; method and its settings stay.
    fn with_budget(&self, value: &str) -> Result<Setting, Failure> {
        if value == "off" {
            return Ok(self.setting.with_pruning(None));
        }
        let tokens = value.parse().ok().filter(|tokens| *tokens > 0).ok_or_else(|| {
            Failure::misused(format!("/budget '{value}', accepted: a number from 1, or off"))
        })?;
        let budget = Budget::Tokens(tokens);
        let mut pruning = match &self.setting.pruning {
            Some(pruning) => pruning.clone(),
            None => PruningSpec::new(MethodSpec::new(DEFAULT_METHOD, Vec::new())?, budget),
        };
        pruning.budget = budget;
        Ok(self.setting.with_pruning(Some(pruning)))
    }

    /// Forgets what was said; all images wait for the next question.
    fn begin_again(&mut self, setting: Setting) -> Result<(), Failure> {
        self.session = session(self.engine, &setting)?;
        self.setting = setting;
        self.waiting.splice(0..0, self.seen.drain(..));
        self.tokens = Tokens::default();
        Ok(())
    }

    fn draw(&self, path: &Path, notes: &mut dyn Write) -> Result<(), Failure> {
        let Some(Shown { images, question, outcome }) = &self.shown else {
            return Err(Failure::misused("/overlay: no image has been asked about yet"));
        };
        let picture = PictureFile::raster(path.to_owned()).map_err(|accepted| {
            Failure::misused(format!("/overlay {}, {accepted}", path.display()))
        })?;
        // One drawing may replace another, but nothing that was read.
        let file = self.outputs.clone().file("/overlay", path)?;
        let drawn = Drawn { inputs: images, labels: &self.labels, question };
        overlay::draw(&file, picture.format, &drawn, outcome)?;
        say(notes, &format!("drawn to {}", path.display()));
        Ok(())
    }

    fn ask(
        &mut self,
        question: &str,
        out: &mut (dyn Write + Send),
        notes: &mut dyn Write,
    ) -> Result<Next, Failure> {
        if let Some(note) = (self.note)(question) {
            say(notes, &note);
        }
        let images = std::mem::take(&mut self.waiting);
        let prompt = Prompt::question(question, images.len());
        let mut turn = TurnRequest::new(images.clone(), prompt);
        turn.generation = self.generation.clone();
        let interruptible = Interruptible::begin();
        let answered = self.session.ask(self.engine, &turn, &mut Streamed::to(&mut *out));
        drop(interruptible);
        let outcome = match answered {
            Ok(outcome) => outcome,
            Err(error) => {
                // The session is as it was: the images still wait for their question.
                self.waiting = images;
                return match error {
                    Error::Cancelled if interrupt::is_asked() => {
                        output::written(writeln!(out))?;
                        say(notes, "stopped; the question is forgotten");
                        Ok(Next::Line)
                    }
                    // Nobody reads the answers any more.
                    Error::Cancelled => Ok(Next::End),
                    error => Err(error.into()),
                };
            }
        };
        output::written(writeln!(out))?;
        self.tokens = self.tokens.and(Tokens::of(&outcome));
        say(notes, &statistics(&outcome, &self.tokens));
        if let Some(note) = note(self.engine, &outcome) {
            say(notes, &note);
        }
        if !images.is_empty() {
            self.seen.extend(images.iter().cloned());
            self.shown = Some(Shown { images, question: question.to_owned(), outcome });
        }
        Ok(Next::Line)
    }
}

fn session(engine: &Engine, setting: &Setting) -> Result<Session, Failure> {
    let options = setting.options()?;
    engine.check(&options)?;
    Ok(engine.session(options))
}

/// Who cannot be told is not told.
fn say(notes: &mut dyn Write, text: &str) {
    let _ = writeln!(notes, "{text}");
}

#[cfg(test)]
mod tests;
