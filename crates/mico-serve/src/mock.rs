//! A model that says what it is told to, for tests of everything around a model. No weights, no clocks.
//!
//! A text token is a word; an image has a token for each pixel, at most 576. What is answered is a [`Script`], chosen by
//! the last user text: see [`Mock::answering`].

mod script;

pub use script::{Gate, Script, Step};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use mico_select::schedule::Budget;

use crate::backend::{
    Backend, ChatJob, ImageReport, Load, Media, ModelInfo, Outcome, Piece, Plan, Planned,
    Submission, Ticket, TokenLogprob, TopLogprob, Turn, TurnPart,
};
use crate::error::{Code, Result, ServeError};
use crate::events::{Event, EventSender, Unsent};

/// Tokens of an image at most.
const MOST_TOKENS: usize = 576;
/// Ids from here on are in no vocabulary.
const VOCABULARY: u32 = 1000;

/// A scripted model.
#[derive(Debug)]
pub struct Mock {
    info: ModelInfo,
    scripts: BTreeMap<&'static str, Script>,
    queue: usize,
    sequences: usize,
    shared: Arc<Shared>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    panics: AtomicU64,
    closed: AtomicBool,
    /// Jobs in the order in which they may begin.
    turns: Mutex<Vec<u64>>,
    changed: Condvar,
    next: AtomicU64,
}

impl Default for Mock {
    fn default() -> Self {
        let mut info = ModelInfo::new("mock", "mock");
        (info.layers, info.refine_layer, info.max_model_len) = (4, 2, 4096);
        info.takes_video = true;
        "abcdef0123456789".clone_into(&mut info.fingerprint);
        info.description = serde_json::json!({ "family": "mock" });
        Self {
            info,
            scripts: BTreeMap::new(),
            queue: 256,
            sequences: 8,
            shared: Arc::default(),
            threads: Mutex::default(),
        }
    }
}

impl Mock {
    /// Answers a question by a script; questions without one are answered with `ok`.
    pub fn answering(mut self, question: &'static str, script: Script) -> Self {
        self.scripts.insert(question, script);
        self
    }

    /// So many jobs may wait, and so many run at once.
    pub fn with_room(mut self, queue: usize, sequences: usize) -> Self {
        (self.queue, self.sequences) = (queue, sequences);
        self
    }

    fn plan(&self, job: &ChatJob) -> Result<Plan> {
        let text = job.turns.iter().map(|turn| words(turn).len() + 1).sum();
        let mut plan = Plan { text_tokens: text, layers: self.info.layers, ..Plan::default() };
        "none".clone_into(&mut plan.method);
        for (param, media) in &job.media {
            plan.images.push(image(param, media)?);
        }
        if let Some(pruning) = &job.pruning {
            pruning.method.name().clone_into(&mut plan.method);
            plan.refine_layer = Some(pruning.refine_layer.unwrap_or(self.info.refine_layer));
            if plan.refine_layer >= Some(self.info.layers) {
                let message = "refine-layer is out of range, accepted: 1 to 3";
                return Err(ServeError::invalid("mico.refine_layer", message));
            }
            let tokens = |share: f64| (share * MOST_TOKENS as f64).round() as usize;
            let budget = match pruning.budget {
                Budget::Tokens(tokens) => tokens,
                Budget::Share(share) => tokens(share).max(1),
            };
            plan.budget = Some(budget);
            for image in &mut plan.images {
                image.entered = image.visual_tokens.min(budget.saturating_mul(2));
                image.kept = image.visual_tokens.min(budget);
            }
        }
        let total = plan.prompt_tokens_unpruned();
        if total > self.info.max_model_len {
            let most = self.info.max_model_len;
            let message = format!("the prompt has {total} tokens, accepted: at most {most}");
            return Err(ServeError::new(Code::ContextLengthExceeded, message).at("messages"));
        }
        let kept: usize = plan.images.iter().map(|image| image.kept).sum();
        let blocks = |block: usize| if block < 2 { plan.prompt_tokens() } else { text + kept };
        plan.cache_lengths = (0..self.info.layers).map(|block| Some(blocks(block))).collect();
        let sum = plan.image_tokens() + kept;
        plan.layer_average = if plan.images.is_empty() { 0.0 } else { sum as f64 / 2.0 };
        Ok(plan)
    }
}

fn image(param: &str, media: &Media) -> Result<ImageReport> {
    let first = match media {
        Media::Image(bytes) => bytes,
        Media::Frames(frames) => frames.first().ok_or_else(|| ServeError::internal("no frame"))?,
    };
    let limits = mico_vision::decode::Limits::default();
    let size = mico_vision::decode::dimensions(first, &limits)
        .map_err(|error| crate::backend::image_error(param, &error))?;
    let tokens = usize::try_from(size.area()).unwrap_or(MOST_TOKENS).min(MOST_TOKENS);
    Ok(ImageReport {
        width: size.width,
        height: size.height,
        visual_tokens: tokens,
        entered: tokens,
        kept: tokens,
        ..ImageReport::default()
    })
}

fn words(turn: &Turn) -> Vec<&str> {
    let texts = turn.parts.iter().filter_map(|part| match part {
        TurnPart::Text(text) => Some(text.as_str()),
        TurnPart::Media => None,
    });
    texts.flat_map(str::split_whitespace).collect()
}

/// An id for a word: the sum of its bytes.
fn word_id(word: &str) -> u32 {
    word.bytes().map(u32::from).sum::<u32>() % VOCABULARY
}

struct MockJob {
    plan: Plan,
    script: Script,
    job: ChatJob,
}

impl Backend for Mock {
    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn tokenize(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        Ok(special.then_some(1).into_iter().chain(text.split_whitespace().map(word_id)).collect())
    }

    fn tokenize_turns(&self, turns: &[Turn]) -> Result<Vec<u32>> {
        Ok(turns.iter().flat_map(words).map(word_id).collect())
    }

    fn detokenize(&self, ids: &[u32]) -> Result<String> {
        if let Some(index) = ids.iter().position(|id| *id >= VOCABULARY) {
            let message = format!("token {} is not in the vocabulary", ids[index]);
            return Err(ServeError::invalid(format!("tokens[{index}]"), message));
        }
        Ok(ids.iter().map(|id| format!("<{id}>")).collect::<Vec<_>>().concat())
    }

    fn prepare(&self, job: ChatJob) -> Result<Planned> {
        let question = job.turns.last().map(|turn| words(turn).join(" ")).unwrap_or_default();
        assert!(question != "panic while preparing", "as the test asks");
        let script = self.scripts.get(question.as_str()).cloned();
        let script = script.unwrap_or_else(|| Script::says(&["ok"]));
        let plan = self.plan(&job)?;
        Ok(Planned { plan: plan.clone(), job: Box::new(MockJob { plan, script, job }) })
    }

    fn submit(&self, planned: Planned, _: Submission, events: EventSender) -> Result<Ticket> {
        let job = planned.job.downcast::<MockJob>();
        let job = job.map_err(|_| ServeError::internal("a job of another backend"))?;
        let mut turns = self.shared.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shared.closed.load(Ordering::SeqCst) {
            return Err(ServeError::new(Code::Draining, "shutting down").retry_after(5));
        }
        if turns.len() >= self.queue + self.sequences {
            let message = format!("{} requests are waiting", self.queue);
            return Err(ServeError::new(Code::Overloaded, message).retry_after(7));
        }
        let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
        turns.push(number);
        drop(turns);
        let cancelled = Arc::new(AtomicBool::new(false));
        let guard = Guard {
            cancelled: Arc::clone(&cancelled),
            shared: Arc::clone(&self.shared),
            gates: job.script.steps.iter().filter_map(gate).collect(),
        };
        let (shared, sequences) = (Arc::clone(&self.shared), self.sequences);
        let thread =
            thread::spawn(move || work(&shared, sequences, number, &job, &cancelled, events));
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(Ticket::new(guard))
    }

    fn load(&self) -> Load {
        let queued = self.shared.turns.lock().unwrap_or_else(PoisonError::into_inner).len();
        let running = self.shared.running.load(Ordering::SeqCst);
        Load {
            waiting: queued.saturating_sub(running),
            running,
            panics: self.shared.panics.load(Ordering::SeqCst),
            ..Load::default()
        }
    }

    fn close(&self, _: Duration) {
        self.shared.closed.store(true, Ordering::SeqCst);
        drop(self.shared.turns.lock());
        self.shared.changed.notify_all();
    }
}

fn gate(step: &Step) -> Option<Gate> {
    match step {
        Step::Wait(gate) => Some(gate.clone()),
        _ => None,
    }
}

/// Cancels a job when it is dropped.
struct Guard {
    cancelled: Arc<AtomicBool>,
    shared: Arc<Shared>,
    gates: Vec<Gate>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.gates.iter().for_each(Gate::wake);
        drop(self.shared.turns.lock());
        self.shared.changed.notify_all();
    }
}

/// Waits for its turn, then does what the script says.
fn work(
    shared: &Shared,
    sequences: usize,
    number: u64,
    job: &MockJob,
    cancelled: &AtomicBool,
    events: EventSender,
) {
    let closed = || shared.closed.load(Ordering::SeqCst);
    let turns = shared.turns.lock().unwrap_or_else(PoisonError::into_inner);
    let waits = |turns: &mut Vec<u64>| {
        let first = turns.iter().take(sequences).any(|turn| *turn == number);
        !first && !closed() && !cancelled.load(Ordering::SeqCst)
    };
    let turns = shared.changed.wait_while(turns, waits).unwrap_or_else(PoisonError::into_inner);
    let admitted = turns.iter().take(sequences).any(|turn| *turn == number);
    if admitted {
        shared.running.fetch_add(1, Ordering::SeqCst);
    }
    drop(turns);
    let result = if admitted {
        perform(shared, job, cancelled, &events)
    } else {
        Err(ServeError::new(Code::Draining, "the server is shutting down").retry_after(5))
    };
    let mut turns = shared.turns.lock().unwrap_or_else(PoisonError::into_inner);
    turns.retain(|turn| *turn != number);
    if admitted {
        shared.running.fetch_sub(1, Ordering::SeqCst);
    }
    drop(turns);
    shared.changed.notify_all();
    events.end(result);
}

fn perform(
    shared: &Shared,
    job: &MockJob,
    cancelled: &AtomicBool,
    events: &EventSender,
) -> Result<Outcome> {
    offer(events, Event::Admitted { queued: Duration::ZERO })?;
    let mut generated = 0;
    for step in &job.script.steps {
        if cancelled.load(Ordering::SeqCst) {
            return Err(ServeError::internal("cancelled"));
        }
        match step {
            Step::Say(text) => {
                generated += 1;
                offer(events, Event::Piece(piece(job, text)))?;
            }
            Step::Wait(gate) => gate.pass(cancelled),
            Step::Fail => return Err(ServeError::internal("tensor 'secret' broke")),
            Step::TimeOut => return Err(ServeError::new(Code::Timeout, "not answered within 1 s")),
            Step::Panic => {
                shared.panics.fetch_add(1, Ordering::SeqCst);
                return Err(ServeError::internal("a slice panicked"));
            }
        }
    }
    let mut plan = job.plan.clone();
    for image in &mut plan.images {
        image.cache = Some("miss");
        if job.job.returns.indices {
            image.stage1 = Some((0..image.entered).collect());
            image.stage2 = Some((0..image.kept).collect());
        }
    }
    Ok(Outcome::new(plan, job.script.finish.clone(), generated))
}

fn piece(job: &MockJob, text: &str) -> Piece {
    let mut piece = Piece::text(text);
    if let Some(top) = job.job.sampling.logprobs {
        let other = TopLogprob { token: text.to_owned(), logprob: -0.5, bytes: None };
        piece.logprobs = vec![TokenLogprob {
            token: text.to_owned(),
            logprob: -0.5,
            bytes: Some(text.as_bytes().to_vec()),
            top_logprobs: vec![other; top],
        }];
    }
    if job.job.returns.ids {
        piece.ids = vec![word_id(text)];
    }
    piece
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Hands an event over, and waits where there is no room.
fn offer(events: &EventSender, mut event: Event) -> Result<()> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match events.offer(event, &waker) {
            Ok(()) => return Ok(()),
            Err(Unsent::Closed) => return Err(ServeError::internal("nobody reads")),
            Err(Unsent::Full(back)) => {
                event = back;
                thread::park();
            }
        }
    }
}
