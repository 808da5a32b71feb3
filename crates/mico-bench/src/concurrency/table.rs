//! Every setting at every number of clients, as a Markdown table.

use super::row::{LevelRow, RelativeToOne};
use crate::report::{Report, Row, Spread, markdown_table, mebibytes, milliseconds, setting_label};

/// A column: its head and what stands in a line.
type Column = (&'static str, fn(&Row, &LevelRow) -> String);

const COLUMNS: [Column; 17] = [
    ("setting", |row, _| setting_label(row)),
    ("clients", |_, level| level.clients.to_string()),
    ("requests/s", |_, level| rate(level.requests_per_second)),
    ("x one", |_, level| relative(level, |ratio| ratio.requests_per_second)),
    ("tokens/s", |_, level| rate(level.tokens_per_second)),
    ("decode tokens/s", |_, level| rate(level.decode_tokens_per_second)),
    ("x one", |_, level| relative(level, |ratio| ratio.decode_tokens_per_second)),
    ("rows/step", |_, level| format!("{:.1}", level.rows_per_step.median)),
    ("first token", |_, level| milliseconds(level.seconds.first_token.median)),
    ("p90", |_, level| milliseconds(level.seconds.first_token.p90)),
    ("between tokens", |_, level| milliseconds(level.seconds.between_tokens.median)),
    ("p90", |_, level| milliseconds(level.seconds.between_tokens.p90)),
    ("longest", |_, level| milliseconds(level.seconds.between_tokens.longest)),
    ("pause", |_, level| format!("{:.1}", level.pause_in_steps.median)),
    ("admitted", |_, level| mebibytes(level.admitted_bytes)),
    ("allocated", |_, level| {
        level.allocated_bytes.map_or_else(String::new, |bytes| mebibytes(bytes.above_start))
    }),
    ("of admitted", |_, level| {
        level.allocated_to_admitted.map_or_else(String::new, |r| format!("{:.0} %", r * 100.0))
    }),
];

/// The table with what its columns mean; nothing where there were no clients.
pub(crate) fn concurrency_table(report: &Report) -> String {
    let mut levels = report.rows.iter().flat_map(|row| &row.concurrency);
    let Some(requests) = levels.next().map(|level| level.requests) else { return String::new() };
    let line = |row, level| COLUMNS.iter().map(|(_, cell)| cell(row, level)).collect();
    let lines = report
        .rows
        .iter()
        .flat_map(|row| row.concurrency.iter().map(move |level| line(row, level)));
    let table = markdown_table(COLUMNS.iter().map(|(head, _)| *head), lines);
    format!(
        "### Clients at once\n\n{requests} requests of each client in a round, each with other pixels and \
         no encoder cache. Times in ms, memory in MiB, medians of the rounds. *x one* is the ratio to one \
         client in the same round, *decode tokens/s* counts only the time inside decode steps, \
         *pause* is the longest time between two tokens in decode steps, *admitted* the most that \
         admission counted at once, *allocated* the most that was allocated on top of what was \
         there.\n\n{table}",
    )
}

fn rate(spread: Spread) -> String {
    let value = spread.median;
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

fn relative(level: &LevelRow, of: fn(&RelativeToOne) -> Spread) -> String {
    let ratio = level.relative_to_one.as_ref().map(|ratio| of(ratio).median);
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}x"))
}
