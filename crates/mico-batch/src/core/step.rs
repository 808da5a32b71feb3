//! Decode steps of many sequences together.
//!
//! If a step of several rows panics, nobody knows whose fault it was, nor what the panic left of the rows'
//! caches. The backend is asked to take each row back to where it was ([`Backend::recover`]); those that it
//! vouches for step again, alone, so that the guilty one panics alone and fails. The others fail at once:
//! a wrong answer would be worse than none.

use super::{Active, Core};
use crate::backend::{Backend, Stepped};
use crate::error::Failure;
use crate::observe::Observation;

type RowResult<B> = Result<Stepped<<B as Backend>::Token>, Failure<<B as Backend>::Error>>;

impl<B: Backend> Core<B> {
    /// Makes one token for every running answer, or for as many as a step takes. Returns whether there
    /// was one.
    pub(super) fn step(&mut self) -> bool {
        let limit = self.shared.limits().rows;
        let mut rows = Vec::new();
        for active in std::mem::take(&mut self.answers) {
            if rows.len() < limit && !active.case.is_parked() {
                rows.push(active);
            } else {
                self.answers.push_back(active);
            }
        }
        if rows.is_empty() {
            return false;
        }
        let results = self.step_rows(&mut rows);
        for (active, result) in rows.into_iter().zip(results) {
            match result {
                Ok(stepped) => self.accept(active, stepped),
                Err(failure) => self.discard(active, failure),
            }
        }
        self.publish();
        true
    }

    /// One result per row, whatever the backend does.
    fn step_rows(&mut self, rows: &mut [Active<B>]) -> Vec<RowResult<B>> {
        let (results, took) = self.call("step", |backend| {
            let mut sequences: Vec<_> = rows.iter_mut().map(|row| &mut row.sequence).collect();
            backend.step(&mut sequences)
        });
        rows.iter_mut().for_each(|row| row.case.add_compute(took));
        self.pace.stepped(took);
        {
            let mut counters = self.shared.counters();
            counters.snapshot.steps += 1;
            counters.snapshot.rows += rows.len() as u64;
        }
        self.shared.record(&Observation::Step { rows: rows.len(), took });
        match results {
            Ok(results) if results.len() == rows.len() => {
                results.into_iter().map(|result| result.map_err(Failure::Backend)).collect()
            }
            Ok(results) => {
                let message = format!("{} results for {} rows", results.len(), rows.len());
                let broken = |_| Err(Failure::Internal { call: "step", message: message.clone() });
                rows.iter().map(broken).collect()
            }
            Err(failure) if rows.len() == 1 => vec![Err(failure)],
            Err(failure) => {
                let message = failure.to_string();
                rows.iter_mut().map(|row| self.step_alone(row, &message)).collect()
            }
        }
    }

    /// Steps one row of a step that panicked once more, if the backend vouches for it.
    fn step_alone(&mut self, row: &mut Active<B>, message: &str) -> RowResult<B> {
        let (recovered, _) = self.call("recover", |backend| backend.recover(&mut row.sequence));
        let again = match recovered {
            Ok(true) => self.step_rows(std::slice::from_mut(row)).pop(),
            _ => None,
        };
        let message = format!("a step of several rows: {message}");
        again.unwrap_or(Err(Failure::Internal { call: "step", message }))
    }
}
