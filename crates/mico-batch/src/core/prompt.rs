//! From the queue to the first token.

use std::time::Duration;

use super::{Active, Core};
use crate::backend::{Advance, Backend, Stepped};
use crate::event::Event;
use crate::observe::Observation;
use crate::shared::{Closing, Waiting};

impl<B: Backend> Core<B> {
    /// Admits the next request if there is room for one. Returns the time that beginning it took.
    pub(super) fn admit(&mut self) -> Option<Duration> {
        let Waiting { mut case, job } = self.take_next()?;
        self.ledger.admit(case.memory);
        self.admitted += 1;
        self.shared.beat(true);
        self.publish();
        case.set_admitted(self.shared.now(), &self.shared);
        let (sequence, took) = self.try_call("begin", |backend| backend.begin(job));
        case.add_compute(took);
        match sequence {
            Ok(sequence) => self.prompt = Some(Active { case, sequence }),
            Err(failure) => {
                self.ledger.end_prompt(case.memory);
                self.release(&case);
                self.end(case, Err(failure));
            }
        }
        Some(took)
    }

    fn take_next(&self) -> Option<Waiting<B>> {
        let limits = self.shared.limits();
        if self.prompt.is_some() || self.admitted >= limits.sequences {
            return None;
        }
        let mut intake = self.shared.intake();
        if intake.closing != Closing::Open {
            return None;
        }
        let slot = intake.queue.take_next(
            |memory| self.ledger.fits(memory),
            |client| self.answers.iter().filter(|active| active.case.client == *client).count(),
            limits.overtakes,
        );
        slot.map(|slot| slot.item)
    }

    /// Works on the prompt for as many slices as the running answers can wait for. `begun` is what
    /// beginning it took in this turn, which they have waited for already. Returns whether a slice ran.
    pub(super) fn advance_prompt(&mut self, begun: Option<Duration>) -> bool {
        let mut spent = begun.unwrap_or_default();
        let mut worked = false;
        while self.prompt.is_some() {
            if worked || begun.is_some() {
                let decoding = self.answers.iter().any(|active| !active.case.is_parked());
                if !self.pace.another(spent, decoding) {
                    break;
                }
                self.reap();
            }
            let Some(active) = self.prompt.take() else { break };
            worked = true;
            spent += self.advance_once(active);
        }
        worked
    }

    /// Runs one slice and returns what it took.
    fn advance_once(&mut self, mut active: Active<B>) -> Duration {
        let (advance, took) =
            self.try_call("advance", |backend| backend.advance(&mut active.sequence));
        active.case.add_compute(took);
        self.pace.sliced(took);
        self.shared.counters().snapshot.slices += 1;
        self.shared.record(&Observation::Slice { took });
        match advance {
            Ok(Advance::Slice(progress)) => {
                let now = self.shared.now();
                active.case.tell(Event::Progress(progress), now, &self.shared);
                self.prompt = Some(active);
            }
            Ok(Advance::Ready(first)) => self.ready(active, first),
            Err(failure) => {
                self.ledger.end_prompt(active.case.memory);
                self.discard(active, failure);
            }
        }
        took
    }

    /// A sequence whose prompt is done joins the answers.
    fn ready(&mut self, active: Active<B>, first: Option<Stepped<B::Token>>) {
        self.ledger.end_prompt(active.case.memory);
        match first {
            Some(stepped) => self.accept(active, stepped),
            None => self.answers.push_back(active),
        }
        self.publish();
    }

    /// Tells a sequence's client what a step brought; the sequence goes on, or ends with it.
    pub(super) fn accept(&mut self, mut active: Active<B>, stepped: Stepped<B::Token>) {
        let now = self.shared.now();
        if active.case.stepped(stepped, now, &self.shared) {
            self.finish(active);
        } else {
            self.answers.push_back(active);
        }
    }
}
