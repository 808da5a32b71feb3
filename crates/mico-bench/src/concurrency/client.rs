//! One client: sends a request, waits for the answer, sends the next.

use std::sync::mpsc::{Sender, channel};
use std::task::Waker;
use std::time::Instant;

use mico_batch::engine::EngineBackend;
use mico_batch::{End, Event, EventSink, Scheduler, SubmitOptions, Unsent};
use mico_engine::{Accepted, Engine, ImageInput, Prompt, Request};
use mico_vision::RgbImage;

use super::turn::LevelTurn;
use crate::error::{Error, Result};

/// Bytes of a pixel.
const CHANNELS: usize = 3;

/// An answer, and when its parts were there.
#[derive(Debug)]
pub(crate) struct TimedAnswer {
    /// The tokens of the answer.
    pub(crate) ids: Vec<u32>,
    /// Seconds from the start of the request to each token.
    pub(super) tokens: Vec<f64>,
    /// Seconds from the start of the request to the answer.
    pub(super) total: f64,
}

/// A client with an image of its own.
pub(super) struct Client<'a> {
    pub(super) turn: &'a LevelTurn<'a>,
    pub(super) name: String,
    pub(super) image: ImageInput,
}

impl Client<'_> {
    /// The client's request of this number.
    pub(super) fn request(&self, number: usize) -> Request {
        let LevelTurn { subject, options, generation, .. } = self.turn;
        let image = shifted(&self.image, number);
        Request::new(vec![image], Prompt::InputIds(subject.input.ids.clone()))
            .with((*options).clone())
            .generating(generation.clone())
    }

    /// Sends so many requests, each when the one before has been answered.
    pub(super) fn send_all(
        &self,
        scheduler: &Scheduler<EngineBackend>,
        requests: usize,
    ) -> Result<Vec<TimedAnswer>> {
        (0..requests).map(|number| self.send(scheduler, self.request(number))).collect()
    }

    fn send(&self, scheduler: &Scheduler<EngineBackend>, request: Request) -> Result<TimedAnswer> {
        let engine: &Engine = &self.turn.subject.engine;
        let start = Instant::now();
        let prepared = engine.prepare(&request, &mut ())?;
        // The pixels are no longer needed and would count as the engine's memory.
        drop(request);
        let (sender, ended) = channel();
        let sink = TimedSink { start, tokens: Vec::new(), sender };
        let ticket = scheduler.submit(prepared, SubmitOptions::of(self.name.as_str()), sink)?;
        let answer = ended.recv().map_err(|_| Error::internal("a request never ended"))?;
        drop(ticket);
        answer
    }
}

/// The image with every pixel moved on by so many places: noise again, other pixels, and no work that would
/// slow down those who are being served meanwhile.
fn shifted(image: &ImageInput, places: usize) -> ImageInput {
    let shift = |image: &mut RgbImage| {
        let data = image.data_mut();
        let bytes = (CHANNELS * places) % data.len();
        data.rotate_left(bytes);
    };
    let mut image = image.clone();
    match &mut image {
        ImageInput::Decoded(image) => shift(image),
        ImageInput::Frames(frames) => frames.iter_mut().for_each(shift),
        _ => {}
    }
    image
}

/// Notes the time of every token on the scheduler's thread, as soon as it is made.
struct TimedSink {
    start: Instant,
    tokens: Vec<f64>,
    sender: Sender<Result<TimedAnswer>>,
}

impl EventSink<EngineBackend> for TimedSink {
    fn offer(&mut self, event: Event<Accepted>, _: &Waker) -> Result<(), Unsent<Accepted>> {
        if matches!(event, Event::Token(_)) {
            self.tokens.push(self.start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn end(self: Box<Self>, end: End<EngineBackend>) {
        let Self { start, tokens, sender } = *self;
        let total = start.elapsed().as_secs_f64();
        let answer = end.result.map_err(Error::from);
        let timed = |ids| TimedAnswer { ids, tokens, total };
        // A client that is gone does not want to know.
        let _ = sender.send(answer.map(|answer| timed(answer.outcome.answer.ids)));
    }
}
