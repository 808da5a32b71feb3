//! Tables as the paper has them: rows in groups, the best and the second best of each group marked.

mod csv;
mod html;
mod latex;
mod markdown;
mod marks;

use serde::{Deserialize, Serialize};

/// A table of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What the rows' labels are, such as "Method".
    pub corner: String,
    /// What its cells are.
    pub columns: Vec<Column>,
    /// Its rows, in groups within which they are compared.
    pub groups: Vec<Group>,
    /// Sentences under it: what an interval covers, what is significant.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Whether the largest number is the best.
    pub higher_is_better: bool,
    /// Digits shown after the point.
    pub decimals: usize,
    /// What follows every number of the column, such as "%"; empty for nothing.
    pub unit: String,
}

/// Rows that are compared with one another, such as those of one budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What they have in common; `None` for a group without a heading.
    pub title: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it is about.
    pub label: String,
    /// One per column; a missing or undefined number is `None`.
    pub cells: Vec<Option<Cell>>,
    /// Whether it is what the others are compared to (the unpruned model) and takes no part in the marks.
    pub reference: bool,
}

/// A number with what is said about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The number, not rounded.
    pub value: f64,
    /// Its interval or a sign of significance, shown after it.
    pub note: Option<String>,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self { value, note: None }
    }
}

impl Column {
    /// A column in which more is better, with that many digits after the point and no unit.
    pub fn new(name: impl Into<String>, decimals: usize) -> Self {
        Self { name: name.into(), higher_is_better: true, decimals, unit: String::new() }
    }
}

impl Row {
    /// A row of plain numbers.
    pub fn new(label: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let cells = values.into_iter().map(|value| value.map(Cell::from)).collect();
        Self { label: label.into(), cells, reference: false }
    }

    /// The cell of a column, if there is one with a number that can be shown.
    fn cell(&self, column: usize) -> Option<&Cell> {
        self.cells.get(column)?.as_ref().filter(|cell| cell.value.is_finite())
    }
}

impl Table {
    /// As Markdown; the best is bold, the second best underlined.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// As LaTeX for the package `booktabs`; the best is bold, the second best underlined.
    pub fn latex(&self) -> String {
        latex::render(self)
    }

    /// As an HTML table with its notes in paragraphs under it; the best is bold, the second best underlined.
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// As CSV (RFC 4180), without marks; a column with notes is followed by one that holds them.
    pub fn csv(&self) -> String {
        csv::render(self)
    }
}

/// Text for HTML in which nothing is taken for markup, also inside of quotes.
pub fn escape_html(text: &str) -> String {
    html::escape(text)
}

/// A number as its column shows it, without the unit. This is the only place where numbers are rounded.
fn shown(cell: &Cell, column: &Column) -> String {
    let text = format!("{:.*}", column.decimals, cell.value);
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    // A small negative number would read "-0.0".
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

#[cfg(test)]
mod tests;
