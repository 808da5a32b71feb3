//! Finds the best and second-best numbers of a group, which tables highlight.

use super::{Column, Group, shown};

/// The rank of a number among those of its column and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// The best number, or one equal to it.
    Best,
    /// The best of the remaining numbers, or one equal to it.
    Second,
}

/// The marks of one column, one entry per row.
///
/// Numbers are compared as displayed, so that readers arrive at the same marks. Reference rows do
/// not take part, and a number with nothing to compare it with is not marked.
pub(super) fn marks(group: &Group, place: usize, column: &Column) -> Vec<Option<Mark>> {
    let read = |row: &super::Row| {
        let cell = row.cell(place).filter(|_| !row.reference)?;
        shown(cell, column).parse::<f64>().ok()
    };
    let values: Vec<Option<f64>> = group.rows.iter().map(read).collect();
    let mut ranked: Vec<f64> = values.iter().copied().flatten().collect();
    if ranked.len() < 2 {
        return vec![None; values.len()];
    }
    ranked.sort_by(f64::total_cmp);
    if column.higher_is_better {
        ranked.reverse();
    }
    ranked.dedup();
    let mark = |value: f64| match ranked.iter().position(|other| *other == value) {
        Some(0) => Some(Mark::Best),
        Some(1) => Some(Mark::Second),
        _ => None,
    };
    values.into_iter().map(|value| value.and_then(mark)).collect()
}

/// The marks of every row, one entry per column.
pub(super) fn by_row(group: &Group, columns: &[Column]) -> Vec<Vec<Option<Mark>>> {
    let by_column: Vec<_> =
        columns.iter().enumerate().map(|(place, column)| marks(group, place, column)).collect();
    (0..group.rows.len()).map(|row| by_column.iter().map(|column| column[row]).collect()).collect()
}
