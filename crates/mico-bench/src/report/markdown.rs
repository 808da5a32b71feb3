//! The report as Markdown: a table for each budget, a row for each method.

use std::collections::BTreeSet;

use mico_util::text::printable;

use super::Report;
use super::row::Row;
use super::table::{allocated, gflops, mebibytes, milliseconds, share, speedup, tokens};
use crate::concurrency::concurrency_table;

/// A column: its head and what stands in a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 18] = [
    ("method", method),
    ("tokens", tokens),
    ("layer average", |row| format!("{:.1}", row.tokens.layer_average)),
    ("vision", |row| milliseconds(row.seconds.vision)),
    ("projector", |row| milliseconds(row.seconds.projector)),
    ("Stage 1", |row| milliseconds(row.seconds.stage1)),
    ("Stage 2", |row| {
        let seconds = &row.seconds;
        [seconds.stage2_relevance, seconds.stage2_select].map(milliseconds).join(" + ")
    }),
    ("decoder prefill", |row| milliseconds(row.seconds.decoder_prefill)),
    ("prefill (IQR)", |row| {
        let prefill = row.seconds.prefill;
        format!("{} ({:.1})", milliseconds(prefill), prefill.iqr * 1e3)
    }),
    ("first token", |row| milliseconds(row.seconds.first_token)),
    ("decode/token", |row| milliseconds(row.seconds.decode_per_token)),
    ("GFLOPs", gflops),
    ("promised", |row| speedup(row, true, |speedup| speedup.promised)),
    ("realised", |row| speedup(row, true, |speedup| speedup.realized.median)),
    ("share", |row| share(row, true)),
    ("pruning", |row| {
        row.pruning_share.map_or_else(String::new, |share| format!("{:.2} %", share * 100.0))
    }),
    ("peak RSS", |row| mebibytes(row.peak_memory_bytes)),
    ("allocated", allocated),
];

impl Report {
    /// A table for each budget, under what ran and above what was refused.
    pub fn markdown(&self) -> String {
        let mut text = self.header();
        let budgets: BTreeSet<usize> = self.rows.iter().filter_map(|row| row.budget).collect();
        if budgets.is_empty() {
            text.push_str(&table(self.rows.iter()));
        }
        for budget in budgets.into_iter().rev() {
            text.extend(["### T = ", &budget.to_string(), "\n\n"]);
            let shown = |row: &&Row| row.budget.is_none_or(|other| other == budget);
            text.push_str(&table(self.rows.iter().filter(shown)));
        }
        text.push_str(&concurrency_table(self));
        text.push_str(self.refusals().trim_start());
        // Rows of a journal are a file's words.
        printable(&text)
    }

    fn header(&self) -> String {
        let Some(first) = self.rows.first() else { return String::new() };
        let run = &first.run;
        let interrupted = self.rounds.iter().filter(|round| round.interrupted).count();
        let commit = run.commit.as_deref().unwrap_or("unknown");
        let argv: Vec<String> = run.argv.iter().map(|word| word.replace('`', "'")).collect();
        format!(
            "{}.\n\nCommit {commit}; {interrupted} of the rounds were interrupted; `{}`\n\n\
             Times in ms, memory in MiB. *Stage 2* is relevance + selection, *prefill* the sum from the \
             tower to the first logits with its interquartile range, *first token* the wall time from \
             the start of the request, *share* the realised part of the promised prefill speed-up, \
             *pruning* what both stages cost of the unpruned prefill, *allocated* what the run \
             allocated on top of what was there.\n\n",
            self.headline(),
            argv.join(" "),
        )
    }
}

/// A table with these heads over the cells of each line; names stand in the first column.
pub(crate) fn markdown_table<'a>(
    heads: impl Iterator<Item = &'a str>,
    lines: impl Iterator<Item = Vec<String>>,
) -> String {
    let heads: Vec<String> = heads.map(str::to_owned).collect();
    let marks = "---:|".repeat(heads.len().saturating_sub(1));
    let mut text = line(heads.into_iter());
    text.extend(["|---|", &marks, "\n"]);
    for cells in lines {
        text.push_str(&line(cells.into_iter()));
    }
    text.push('\n');
    text
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let cells = rows.map(|row| COLUMNS.iter().map(|(_, cell)| cell(row)).collect());
    markdown_table(COLUMNS.iter().map(|(head, _)| *head), cells)
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn method(row: &Row) -> String {
    if row.budget.is_none() { "*unpruned*".to_owned() } else { row.method.clone() }
}
