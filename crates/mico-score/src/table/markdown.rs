//! Renders a result table as Markdown.

use super::marks::{Mark, by_row};
use super::{Column, Row, Table, one_line, shown};

/// Renders the table with its title in bold above it and its notes below.
pub(super) fn render(table: &Table) -> String {
    let mut blocks = Vec::new();
    if !table.title.is_empty() {
        blocks.push(format!("**{}**", escape(&table.title)));
    }
    let heading = |column: &Column| escape(&column.name);
    let mut lines = vec![
        line(escape(&table.corner), table.columns.iter().map(heading)),
        format!("|---|{}", "---:|".repeat(table.columns.len())),
    ];
    for group in &table.groups {
        if let Some(title) = &group.title {
            let blank = table.columns.iter().map(|_| String::new());
            lines.push(line(format!("*{}*", escape(title)), blank));
        }
        for (row, marks) in group.rows.iter().zip(by_row(group, &table.columns)) {
            let columns = table.columns.iter().enumerate().zip(marks);
            let cells = columns.map(|((place, column), mark)| cell(row, place, column, mark));
            lines.push(line(escape(&row.label), cells));
        }
    }
    blocks.push(lines.join("\n"));
    blocks.extend(table.notes.iter().map(|note| escape(note)));
    blocks.join("\n\n") + "\n"
}

/// One table row from its first column and the other cells.
fn line(first: String, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = std::iter::once(first).chain(cells).collect();
    format!("| {} |", cells.join(" | "))
}

/// The content of a cell; a dash if it has no number.
fn cell(row: &Row, place: usize, column: &Column, mark: Option<Mark>) -> String {
    let Some(cell) = row.cell(place) else {
        return "–".to_owned();
    };
    let value = format!("{}{}", shown(cell, column), escape(&column.unit));
    let value = match mark {
        Some(Mark::Best) => format!("**{value}**"),
        Some(Mark::Second) => format!("<ins>{value}</ins>"),
        None => value,
    };
    match &cell.note {
        Some(note) => format!("{value} {}", escape(note)),
        None => value,
    }
}

/// Escapes Markdown markup.
fn escape(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' | '`' | '*' | '_' | '|' | '<' | '[' => format!("\\{c}"),
        c => c.to_string(),
    };
    one_line(text).chars().map(escape).collect()
}
