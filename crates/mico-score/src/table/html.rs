//! Renders a result table as HTML.

use std::fmt::Write as _;

use mico_util::escape_markup as escape;

use super::marks::{Mark, by_row};
use super::{Column, Row, Table, shown};

/// Renders the table with one `<tbody>` per group, headed by the group's title.
pub(super) fn render(table: &Table) -> String {
    let mut text = String::from("<table>\n");
    if !table.title.is_empty() {
        let _ = writeln!(text, "<caption>{}</caption>", escape(&table.title));
    }
    let _ = write!(text, "<thead><tr><th scope=\"col\">{}</th>", escape(&table.corner));
    for column in &table.columns {
        let _ = write!(text, "<th scope=\"col\">{}</th>", escape(&column.name));
    }
    text.push_str("</tr></thead>\n");
    for group in &table.groups {
        text.push_str("<tbody>\n");
        if let Some(title) = &group.title {
            let (width, title) = (table.columns.len() + 1, escape(title));
            let _ =
                writeln!(text, "<tr><th scope=\"rowgroup\" colspan=\"{width}\">{title}</th></tr>");
        }
        for (row, marks) in group.rows.iter().zip(by_row(group, &table.columns)) {
            let _ = write!(text, "<tr><th scope=\"row\">{}</th>", escape(&row.label));
            for ((place, column), mark) in table.columns.iter().enumerate().zip(marks) {
                let _ = write!(text, "<td>{}</td>", cell(row, place, column, mark));
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody>\n");
    }
    text.push_str("</table>\n");
    for note in &table.notes {
        let _ = writeln!(text, "<p>{}</p>", escape(note));
    }
    text
}

/// The content of a cell; a dash if it has no number.
fn cell(row: &Row, place: usize, column: &Column, mark: Option<Mark>) -> String {
    let Some(cell) = row.cell(place) else {
        return "–".to_owned();
    };
    let value = format!("{}{}", shown(cell, column), escape(&column.unit));
    let value = match mark {
        Some(Mark::Best) => format!("<strong>{value}</strong>"),
        Some(Mark::Second) => format!("<u>{value}</u>"),
        None => value,
    };
    match &cell.note {
        Some(note) => format!("{value} <small>{}</small>", escape(note)),
        None => value,
    }
}
