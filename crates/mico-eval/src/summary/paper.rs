//! The summary as a table in the paper's manner.

use mico_score::table::{Cell, Column, Group, Row as TableRow, Table};

use super::compare::verdict;
use super::{Estimate, Row, Summary};

/// The unpruned row, then the settings of each budget with the best values marked; under it what is
/// significant.
pub fn paper_table(summary: &Summary, title: &str) -> Table {
    let column = |name: &str, unit: &str| Column {
        name: name.to_owned(),
        higher_is_better: true,
        decimals: 1,
        unit: unit.to_owned(),
    };
    let mut columns: Vec<Column> =
        summary.rules.iter().map(|(track, _)| column(track, "")).collect();
    columns.extend([column("Acc", ""), column("Rel", "%")]);
    let whole: Vec<TableRow> = rows(summary, None);
    let mut groups = Vec::new();
    if !whole.is_empty() {
        groups.push(Group { title: None, rows: whole });
    }
    let mut budgets: Vec<usize> = summary.rows.iter().filter_map(|row| row.tokens).collect();
    budgets.sort_unstable();
    budgets.dedup();
    for &budget in budgets.iter().rev() {
        let title = Some(format!("T = {budget}"));
        groups.push(Group { title, rows: rows(summary, Some(budget)) });
    }
    let notes = budgets.iter().rev().filter_map(|&budget| note(summary, budget)).collect();
    Table { title: title.to_owned(), corner: "Method".into(), columns, groups, notes }
}

fn rows(summary: &Summary, budget: Option<usize>) -> Vec<TableRow> {
    let of = |row: &Row| {
        let cell = |estimate: Option<Estimate>| {
            estimate.map(|estimate| Cell { value: estimate.value, note: None })
        };
        let mut cells: Vec<Option<Cell>> =
            row.tracks.iter().map(|track| cell(track.value)).collect();
        cells.extend([cell(row.acc), cell(row.rel)]);
        TableRow { label: row.setting.clone(), cells, reference: row.tokens.is_none() }
    };
    summary.rows.iter().filter(|row| row.tokens == budget).map(of).collect()
}

/// Whether the best Acc of a budget is better than the second best.
fn note(summary: &Summary, budget: usize) -> Option<String> {
    let mut rows: Vec<(&Row, f64)> = summary
        .rows
        .iter()
        .filter(|row| row.tokens == Some(budget))
        .filter_map(|row| Some((row, row.acc?.value)))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(best, _), (second, _), ..] = rows[..] else { return None };
    let pair = summary.comparisons.iter().find(|pair| {
        let names = [&pair.first, &pair.second];
        pair.tokens == budget && names.contains(&&best.setting) && names.contains(&&second.setting)
    })?;
    let Estimate { value, low, high } = pair.difference?;
    let (first, other) = (&pair.first, &pair.second);
    let said = verdict(Estimate { value, low, high }, first, other);
    Some(format!(
        "T = {budget}: {first} minus {other} in Acc {value:+.1} ({low:+.1} to {high:+.1}), {said}"
    ))
}
