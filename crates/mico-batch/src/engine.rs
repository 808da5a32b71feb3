//! `mico-engine` under the scheduler, with an encoder cache.

use std::sync::Arc;

use mico_engine::{
    Accepted, EncodedImage, Engine, Error, ErrorKind, Finish as EngineFinish, ImageKey, Outcome,
    Phase, Prepared, Progress as EngineProgress, Sequence,
};

use crate::backend::{
    Advance, Backend, BackendError, Finish, Memory, Progress, StepResults, Stepped,
};
use crate::cache::{CacheKey, CacheValue, EncoderCache};

impl BackendError for Error {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }
}

impl From<&ImageKey> for CacheKey {
    fn from(key: &ImageKey) -> Self {
        Self(*key.as_bytes())
    }
}

/// A prepared request with its memory.
#[derive(Debug)]
pub struct EngineJob {
    /// What [`Engine::prepare`] made of the request.
    pub prepared: Prepared,
    /// The bytes that it takes: its caches until the end, everything else until the prompt is through.
    pub memory: Memory,
}

/// A request that is worked on.
#[derive(Debug)]
pub struct EngineSequence {
    sequence: Sequence,
    /// Which images came out of the cache.
    cached: Vec<bool>,
    /// Images that the vision side has yet to encode for the cache.
    missing: Vec<(usize, CacheKey)>,
}

/// An answer of the engine.
#[derive(Debug)]
#[non_exhaustive]
pub struct EngineAnswer {
    /// The answer and how it came about.
    pub outcome: Outcome,
    /// Which of the request's images came out of the encoder cache, in their order.
    pub cached: Vec<bool>,
}

/// An engine, and the encoder cache that its requests share.
#[derive(Debug)]
pub struct EngineBackend {
    engine: Arc<Engine>,
    cache: Arc<EncoderCache<EncodedImage>>,
}

impl EngineBackend {
    /// An engine whose requests look for their images in this cache, and leave them there.
    pub fn new(engine: Arc<Engine>, cache: Arc<EncoderCache<EncodedImage>>) -> Self {
        Self { engine, cache }
    }

    /// The engine, to prepare requests with.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The encoder cache.
    pub fn cache(&self) -> &Arc<EncoderCache<EncodedImage>> {
        &self.cache
    }

    /// Leaves what the vision side has made in the cache. Offered from when an image's tower is through
    /// until the prompt is, so this comes after every slice.
    fn keep_encoded(&self, sequence: &mut EngineSequence) {
        let EngineSequence { sequence, missing, .. } = sequence;
        missing.retain(|(index, key)| {
            let Some(image) = sequence.encoded(*index) else { return true };
            let bytes = image.bytes() as u64;
            self.cache.insert(*key, CacheValue { value: image, bytes });
            false
        });
    }
}

impl Backend for EngineBackend {
    type Job = EngineJob;
    type Sequence = EngineSequence;
    type Token = Accepted;
    type Outcome = EngineAnswer;
    type Error = Error;

    fn memory(&self, job: &EngineJob) -> Memory {
        job.memory
    }

    /// Looks for the images in the cache now and not when the request was prepared: meanwhile another
    /// request may have encoded them.
    fn begin(&self, job: EngineJob) -> Result<EngineSequence, Error> {
        let mut prepared = job.prepared;
        let keys: Vec<CacheKey> = prepared.image_keys().iter().map(CacheKey::from).collect();
        let (mut cached, mut missing) = (vec![false; keys.len()], Vec::new());
        for (index, key) in keys.into_iter().enumerate() {
            if prepared.is_encoded(index) {
                continue;
            }
            match self.cache.lookup(key) {
                Some(image) => {
                    prepared.supply(index, image)?;
                    cached[index] = true;
                }
                None => missing.push((index, key)),
            }
        }
        let sequence = self.engine.begin(prepared)?;
        Ok(EngineSequence { sequence, cached, missing })
    }

    fn advance(&self, sequence: &mut EngineSequence) -> Result<Advance<Accepted>, Error> {
        let progress = sequence.sequence.advance(&self.engine)?;
        self.keep_encoded(sequence);
        match progress {
            EngineProgress::Step(step) => {
                let (part, done, total) = (part(step.phase), step.done, step.total);
                Ok(Advance::Slice(Progress { part, done, total }))
            }
            progress => Ok(Advance::Ready(Some(stepped(progress, &sequence.sequence)))),
        }
    }

    fn step(&self, rows: &mut [&mut EngineSequence]) -> StepResults<Self> {
        let mut sequences: Vec<&mut Sequence> =
            rows.iter_mut().map(|row| &mut row.sequence).collect();
        let results = self.engine.step_many(&mut sequences);
        let rows = rows.iter().map(|row| &row.sequence);
        results.into_iter().zip(rows).map(|(result, row)| Ok(stepped(result?, row))).collect()
    }

    fn finish(&self, sequence: EngineSequence) -> Result<EngineAnswer, Error> {
        let (outcome, _) = sequence.sequence.finish()?;
        Ok(EngineAnswer { outcome, cached: sequence.cached })
    }
}

/// What a step that made a token, or found none to make, means to the scheduler.
fn stepped(progress: EngineProgress, sequence: &Sequence) -> Stepped<Accepted> {
    let token = match progress {
        EngineProgress::Token(accepted) => Some(accepted),
        _ => None,
    };
    let finish = sequence.generation().and_then(|generation| generation.finish());
    let finish = finish.map(|finish| match finish {
        EngineFinish::Length => Finish::Length,
        _ => Finish::Stop,
    });
    Stepped { token, finish }
}

/// The names of an engine's phases in news of progress.
fn part(phase: Phase) -> &'static str {
    match phase {
        Phase::Preprocess => "preprocess",
        Phase::Vision => "vision",
        Phase::Stage1 => "stage1",
        Phase::Stage2 => "stage2",
        Phase::Decode => "decode",
        _ => "prefill",
    }
}
