//! Requests that must end although they are not answered.

use std::time::Duration;

use super::{Core, Delivery};
use crate::backend::Backend;
use crate::error::{Failure, Refusal};
use crate::shared::{Closing, Waiting};

impl<B: Backend> Core<B> {
    /// Ends what must end, and offers kept events to consumers that may have room again. Returns whether
    /// something changed.
    pub(super) fn reap(&mut self) -> bool {
        let now = self.shared.now();
        let closing = self.shared.intake().closing;
        let shut_down = matches!(closing, Closing::Drain(Some(until)) if now >= until);
        let waiting = self.reap_queue(now);
        let active = self.reap_active(now, shut_down);
        let delivered = self.reap_deliveries(now, shut_down);
        self.publish();
        if self.admitted == 0 {
            self.shared.beat(false);
        }
        waiting || active || delivered
    }

    /// Why a request must end now, if it must.
    fn verdict(
        &self,
        case: &crate::case::Case<B>,
        now: Duration,
        shut_down: bool,
    ) -> Option<Failure<B::Error>> {
        let verdict = case.verdict(now, self.shared.limits().patience);
        verdict.or(shut_down.then_some(Failure::ShutDown))
    }

    fn reap_queue(&mut self, now: Duration) -> bool {
        let patience = self.shared.limits().patience;
        let mut intake = self.shared.intake();
        let closed = intake.closing != Closing::Open;
        let leaves = |waiting: &Waiting<B>| closed || waiting.case.verdict(now, patience).is_some();
        let leaving = intake.queue.take_all(leaves);
        drop(intake);
        let any = !leaving.is_empty();
        for Waiting { case, job } in leaving {
            let _ = self.call("drop", move |_| drop(job));
            let failure = case.verdict(now, patience).unwrap_or(Refusal::Draining.into());
            case.end(Err(failure), self.admitted, &self.shared);
        }
        any
    }

    fn reap_active(&mut self, now: Duration, shut_down: bool) -> bool {
        let mut any = false;
        if let Some(mut active) = self.prompt.take() {
            active.case.flush(now, &self.shared);
            match self.verdict(&active.case, now, shut_down) {
                Some(failure) => {
                    any = true;
                    self.ledger.end_prompt(active.case.memory);
                    self.discard(active, failure);
                }
                None => self.prompt = Some(active),
            }
        }
        for mut active in std::mem::take(&mut self.answers) {
            let was_parked = active.case.is_parked();
            active.case.flush(now, &self.shared);
            any |= was_parked && !active.case.is_parked();
            match self.verdict(&active.case, now, shut_down) {
                Some(failure) => {
                    any = true;
                    self.discard(active, failure);
                }
                None => self.answers.push_back(active),
            }
        }
        any
    }

    fn reap_deliveries(&mut self, now: Duration, shut_down: bool) -> bool {
        let mut any = false;
        for Delivery { mut case, result } in std::mem::take(&mut self.deliveries) {
            case.flush(now, &self.shared);
            let failure = self.verdict(&case, now, shut_down);
            if failure.is_none() && case.is_parked() {
                self.deliveries.push(Delivery { case, result });
                continue;
            }
            any = true;
            let result = if case.is_parked() { failure.map_or(result, Err) } else { result };
            self.end(case, result);
        }
        any
    }

    /// The time until the first deadline of all requests and of the shutdown.
    pub(super) fn next_timer(&self) -> Option<Duration> {
        let patience = self.shared.limits().patience;
        let timer = |case: &crate::case::Case<B>| case.next_timer(patience);
        let intake = self.shared.intake();
        let waiting = intake.queue.min_of(|waiting| timer(&waiting.case));
        let drained = match intake.closing {
            Closing::Drain(until) => until,
            Closing::Open => None,
        };
        drop(intake);
        let active = self.prompt.iter().chain(&self.answers).map(|active| &active.case);
        let cases = active.chain(self.deliveries.iter().map(|delivery| &delivery.case));
        let next = cases.filter_map(timer).chain(waiting).chain(drained).min()?;
        Some(next.saturating_sub(self.shared.now()))
    }
}
