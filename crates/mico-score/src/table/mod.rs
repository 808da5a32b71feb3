//! Result tables in the paper's layout: rows in groups, with the best and second best of each group
//! marked.

mod csv;
mod html;
mod latex;
mod markdown;
mod marks;

use mico_util::text::escaped;
use serde::{Deserialize, Serialize};

/// A table of results that can be rendered as Markdown, LaTeX, HTML or CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The caption; not shown if empty.
    pub title: String,
    /// The heading of the first column, such as "Method".
    pub corner: String,
    /// The columns of numbers, from left to right.
    pub columns: Vec<Column>,
    /// The rows, in groups within which they are compared.
    pub groups: Vec<Group>,
    /// Footnotes, for instance what an interval covers or what is significant.
    pub notes: Vec<String>,
}

/// The heading and number format of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The heading of the column.
    pub name: String,
    /// Whether larger numbers are better, which decides what is marked as best.
    pub higher_is_better: bool,
    /// The number of digits after the decimal point.
    pub decimals: usize,
    /// The unit printed after every number of the column, such as "%"; empty for none.
    pub unit: String,
}

/// Rows that are compared with one another, such as those of one budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What the rows have in common; `None` for a group without a heading.
    pub title: Option<String>,
    /// The rows, in display order.
    pub rows: Vec<Row>,
}

/// One row of a table, such as the results of one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The text in the first column, such as the method's name.
    pub label: String,
    /// One cell per column; `None` where a number is missing or undefined.
    pub cells: Vec<Option<Cell>>,
    /// Whether the row is the baseline of the comparison (the unpruned model), which is never marked.
    pub reference: bool,
}

/// A number and an optional note on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The unrounded number; rounding happens only for display.
    pub value: f64,
    /// A confidence interval or a sign of significance, shown after the number.
    pub note: Option<String>,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self { value, note: None }
    }
}

impl Column {
    /// A column without a unit in which larger is better, with `decimals` digits after the point.
    pub fn new(name: impl Into<String>, decimals: usize) -> Self {
        Self { name: name.into(), higher_is_better: true, decimals, unit: String::new() }
    }
}

impl Row {
    /// A row of numbers without notes that is not a reference.
    pub fn new(label: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let cells = values.into_iter().map(|value| value.map(Cell::from)).collect();
        Self { label: label.into(), cells, reference: false }
    }

    /// The cell of a column; `None` if it is missing or its number is not finite.
    fn cell(&self, column: usize) -> Option<&Cell> {
        self.cells.get(column)?.as_ref().filter(|cell| cell.value.is_finite())
    }
}

impl Table {
    /// Renders the table as Markdown; the best is bold, the second best underlined.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// Renders the table as LaTeX (package `booktabs`); the best is bold, the second best underlined.
    pub fn latex(&self) -> String {
        latex::render(self)
    }

    /// Renders the table as HTML with its notes as paragraphs below; the best is bold, the second
    /// best underlined.
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// Renders the table as CSV (RFC 4180) without marks; a column with notes is followed by a
    /// column of them.
    pub fn csv(&self) -> String {
        csv::render(self)
    }
}

/// Text of a cell or paragraph without what would command a terminal; a line break becomes a space, because it
/// would end the row or the paragraph.
fn one_line(text: &str) -> String {
    escaped(&text.replace(['\n', '\r'], " "))
}

/// A number rounded to its column's decimals, without the unit. Numbers are rounded nowhere else.
fn shown(cell: &Cell, column: &Column) -> String {
    let text = format!("{:.*}", column.decimals, cell.value);
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    // A small negative number would read "-0.0".
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

#[cfg(test)]
mod tests;
