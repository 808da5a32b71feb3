//! Inputs tried one after the other, and what came of them.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::ALLOCATOR;
use crate::mutate::Mutator;
use crate::seeds;
use crate::seen::Seen;
use crate::targets::Target;

/// The most memory that reading an input may take on top of what was there: a reader that believes a number
/// in a file takes far more, one that checks it far less.
pub const MEMORY_LIMIT: usize = 256 << 20;
/// The most inputs that are kept to be changed further, beside the seeds.
const MAX_PARENTS: usize = 4096;

/// An input that a reader must not treat as it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The input as it was read.
    pub input: Vec<u8>,
    /// What happened: the message and place of a panic, or the memory taken.
    pub what: String,
}

/// What an input took that was treated well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The time from beginning to end.
    pub time: Duration,
    /// The most memory allocated at one time, in bytes.
    pub memory: usize,
}

/// A stream of inputs for one target, decided by a seed.
#[derive(Debug)]
pub struct Campaign {
    target: &'static Target,
    mutator: Mutator,
    parents: Vec<Vec<u8>>,
    /// How many of the parents are seeds.
    seeds: usize,
    seen: Seen,
}

impl Campaign {
    /// Begins with a target's committed seeds.
    pub fn new(target: &'static Target, seed: u64) -> io::Result<Self> {
        catch_messages();
        let parents: Vec<Vec<u8>> =
            seeds::read(target.name)?.into_iter().map(|(_, seed)| seed).collect();
        let mutator = Mutator::new(seed, target.tokens);
        Ok(Self { target, mutator, seeds: parents.len(), parents, seen: Seen::default() })
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        // Seeds stay as likely as all that came from them.
        let among = if self.mutator.below(2) == 0 { self.seeds } else { self.parents.len() };
        let parent = self.mutator.below(among);
        let other = self.mutator.below(self.parents.len());
        let empty = Vec::new();
        let parent = self.parents.get(parent).unwrap_or(&empty);
        let other = self.parents.get(other).unwrap_or(&empty);
        self.mutator.mutate(parent, other)
    }

    /// Tries an input and keeps it if it led somewhere new.
    pub fn attempt(&mut self, input: &[u8]) -> Result<Cost, Finding> {
        let finding = |what| Finding { input: input.to_vec(), what };
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let begun = Instant::now();
        let (run, seen) = (self.target.run, &mut self.seen);
        if catch_unwind(AssertUnwindSafe(|| run(input, seen))).is_err() {
            return Err(finding(MESSAGE.take()));
        }
        let time = begun.elapsed();
        let memory = ALLOCATOR.peak_usage().saturating_sub(before);
        if memory > MEMORY_LIMIT {
            return Err(finding(format!("{memory} bytes were allocated")));
        }
        if self.seen.take_fresh() && self.parents.len() < self.seeds + MAX_PARENTS {
            self.parents.push(input.to_vec());
        }
        Ok(Cost { time, memory })
    }

    /// Tries every seed.
    pub fn attempt_seeds(&mut self) -> Result<(), Finding> {
        for at in 0..self.seeds {
            let seed = self.parents[at].clone();
            self.attempt(&seed)?;
        }
        // They are parents already.
        self.parents.truncate(self.seeds);
        Ok(())
    }

    /// Everything that the reader has said.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The number of inputs that others are made from.
    pub fn parents(&self) -> usize {
        self.parents.len()
    }
}

thread_local! {
    /// What the last panic of this thread said.
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the messages of panics instead of printing them. Those that a reader catches itself are expected.
fn catch_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            if !mico_util::is_catching_panic() {
                let place = panic.location().map(ToString::to_string).unwrap_or_default();
                let text = panic.payload_as_str().unwrap_or("a panic without words");
                MESSAGE.set(format!("panic at {place}: {text}"));
            }
        }));
    });
}
