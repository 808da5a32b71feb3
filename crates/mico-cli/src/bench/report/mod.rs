//! The answer: a JSON document whose rows each stand for themselves, or a table.

mod row;
mod stats;
mod table;

use serde::Serialize;

use super::measure::Measurement;
use super::subject::Subject;
use super::system;
use crate::failure::Failure;
use row::{Base, Row, Run, count};

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    model: String,
    synthetic: bool,
    load_seconds: f64,
    decoder_bytes: usize,
    /// `run`: the most memory held during each run; `process`: since the process began.
    peak_memory_of: &'static str,
    /// The unpruned model first.
    rows: Vec<Row>,
}

impl Report {
    pub(super) fn new(subject: &Subject, measurement: &Measurement) -> Result<Self, Failure> {
        let about = subject.engine.describe();
        let fused = subject.engine.model().decoder().device().is_cpu() && about.dtype == "f32";
        let run = Run {
            dtype: about.dtype,
            quantize: subject.quantisation.map(mico_model::QuantKind::name),
            threads: rayon::current_num_threads(),
            attention: if fused { "fused-tiles-cpu" } else { "composed-tiles" },
            commit: system::commit(),
            argv: std::env::args().collect(),
        };
        let mut base = None;
        let mut rows = Vec::with_capacity(measurement.rows.len());
        for measured in &measurement.rows {
            let gflops = count(subject, measured).map_err(Failure::failed)?;
            rows.push(Row::new(subject, measured, gflops, base, run.clone()));
            base = base.or(Some(Base { measured, gflops }));
        }
        Ok(Self {
            model: subject.name.clone(),
            synthetic: subject.synthetic,
            load_seconds: subject.load_seconds,
            decoder_bytes: about.decoder_bytes,
            peak_memory_of: if measurement.peak_per_run { "run" } else { "process" },
            rows,
        })
    }
}
