//! The report as one Markdown table: a column per condition. Cells are shared with the other form.

use super::Report;
use super::row::Row;
use super::stats::{Speedup, Spread};
use crate::concurrency::concurrency_table;

const MIB: f64 = 1024.0 * 1024.0;

/// A line of the table: its name and what stands in a column.
type Line = (&'static str, fn(&Row) -> String);

const LINES: [Line; 22] = [
    ("visual tokens", tokens),
    ("layer average", |row| format!("{:.1}", row.tokens.layer_average)),
    ("vision (ms)", |row| milliseconds(row.seconds.vision)),
    ("projector (ms)", |row| milliseconds(row.seconds.projector)),
    ("Stage 1 (ms)", |row| milliseconds(row.seconds.stage1)),
    ("Stage 2 relevance (ms)", |row| milliseconds(row.seconds.stage2_relevance)),
    ("Stage 2 selection (ms)", |row| milliseconds(row.seconds.stage2_select)),
    ("decoder prefill (ms)", |row| milliseconds(row.seconds.decoder_prefill)),
    ("**prefill, sum (ms)**", |row| milliseconds(row.seconds.prefill)),
    ("prefill, min to max (ms)", |row| range(row.seconds.prefill)),
    ("first token (ms)", |row| milliseconds(row.seconds.first_token)),
    ("decode per token (ms)", |row| milliseconds(row.seconds.decode_per_token)),
    ("GFLOPs of the prefill", |row| gflops(row)),
    ("prefill speed-up promised", |row| speedup(row, true, |s| s.promised)),
    ("prefill speed-up realised", |row| speedup(row, true, |s| s.realized.median)),
    ("share realised", |row| share(row, true)),
    ("decoder speed-up promised", |row| speedup(row, false, |s| s.promised)),
    ("decoder speed-up realised", |row| speedup(row, false, |s| s.realized.median)),
    ("share realised", |row| share(row, false)),
    ("peak memory (MiB)", |row| mebibytes(row.peak_memory_bytes)),
    ("allocated in the run (MiB)", allocated),
    ("cache of the prompt (MiB)", |row| format!("{:.1}", row.cache_bytes as f64 / MIB)),
];

impl Report {
    /// The table, with a line about the run above it and what was refused below.
    pub(super) fn columns(&self) -> String {
        let mut text = self.headline();
        text.push_str("\n\n| | ");
        let heads: Vec<String> = self.rows.iter().map(setting_label).collect();
        text.push_str(&heads.join(" | "));
        text.push_str(" |\n|---|");
        text.push_str(&"---:|".repeat(self.rows.len()));
        for (name, cell) in LINES {
            let cells: Vec<String> = self.rows.iter().map(cell).collect();
            let line = ["\n| ", name, " | ", &cells.join(" | "), " |"];
            text.extend(line);
        }
        text.push('\n');
        let together = concurrency_table(self);
        if !together.is_empty() {
            text.extend(["\n", together.trim_end(), "\n"]);
        }
        text.push_str(&self.refusals());
        text
    }

    /// What ran, in a line.
    pub(super) fn headline(&self) -> String {
        let Some(first) = self.rows.first() else { return String::new() };
        let run = &first.run;
        format!(
            "{}: {} decoder of {:.0} MiB, {} hidden states, {} threads, {} attention, {} text tokens; \
             medians of {} rounds; peak memory of the {}",
            self.about.model,
            run.quantize.as_deref().unwrap_or("dense"),
            self.about.decoder_bytes as f64 / MIB,
            run.dtype,
            run.threads,
            run.attention,
            first.tokens.text,
            self.rounds.len(),
            self.peak_memory_of,
        )
    }

    /// A line for every condition that was refused.
    pub(super) fn refusals(&self) -> String {
        let line = |refused: &super::Refusal| {
            format!("\n* {} was refused: {}", refused.setting, refused.refused)
        };
        let mut text: String = self.refused.iter().map(line).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// A setting as tables and pictures call it.
pub(crate) fn setting_label(row: &Row) -> String {
    match row.budget {
        Some(budget) => format!("{} T={budget}", row.method),
        None => "unpruned".to_owned(),
    }
}

pub(super) fn tokens(row: &Row) -> String {
    let tokens = &row.tokens;
    let counts = [Some(tokens.visual), tokens.stage1_kept, tokens.stage2_kept];
    let counts: Vec<String> = counts.iter().flatten().map(usize::to_string).collect();
    counts.join(" → ")
}

pub(super) fn gflops(row: &Row) -> String {
    let total = row.gflops.get("total").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    if total < 100.0 { format!("{total:.1}") } else { format!("{total:.0}") }
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    let value = bytes as f64 / MIB;
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

pub(super) fn allocated(row: &Row) -> String {
    row.allocated_bytes.map_or_else(String::new, |bytes| mebibytes(bytes.above_start))
}

pub(crate) fn milliseconds(spread: Spread) -> String {
    let value = spread.median * 1e3;
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn range(spread: Spread) -> String {
    format!("{:.0} to {:.0}", spread.min * 1e3, spread.max * 1e3)
}

fn pick(row: &Row, prefill: bool) -> Option<&Speedup> {
    row.speedup.as_ref().map(|both| if prefill { &both.prefill } else { &both.decoder })
}

pub(super) fn speedup(row: &Row, prefill: bool, of: fn(&Speedup) -> f64) -> String {
    pick(row, prefill).map_or_else(|| "1".into(), |speedup| format!("{:.2}x", of(speedup)))
}

pub(super) fn share(row: &Row, prefill: bool) -> String {
    pick(row, prefill).map_or_else(String::new, |speedup| format!("{:.0} %", speedup.share * 100.0))
}
