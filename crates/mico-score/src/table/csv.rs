//! Renders a result table as CSV (RFC 4180).

use mico_util::text::printable;

use super::{Row, Table, shown};

/// Renders the table: a header, then one line per row with its group's title first.
pub(super) fn render(table: &Table) -> String {
    let noted: Vec<bool> = (0..table.columns.len()).map(|place| has_notes(table, place)).collect();
    let mut heading = vec!["Group".to_owned(), table.corner.clone()];
    for (column, noted) in table.columns.iter().zip(&noted) {
        heading.push(column.name.clone());
        heading.extend(noted.then(|| format!("{} note", column.name)));
    }
    let mut text = line(&heading);
    for group in &table.groups {
        for row in &group.rows {
            let mut fields = vec![group.title.clone().unwrap_or_default(), row.label.clone()];
            fields.extend(cells(table, row, &noted));
            text.push_str(&line(&fields));
        }
    }
    text
}

/// The numbers of a row, each followed by its note if the column has any notes.
fn cells(table: &Table, row: &Row, noted: &[bool]) -> Vec<String> {
    let mut fields = Vec::new();
    for (place, (column, noted)) in table.columns.iter().zip(noted).enumerate() {
        let cell = row.cell(place);
        fields.push(cell.map(|cell| shown(cell, column)).unwrap_or_default());
        fields.extend(noted.then(|| cell.and_then(|cell| cell.note.clone()).unwrap_or_default()));
    }
    fields
}

/// Whether any number in the column has a note.
fn has_notes(table: &Table, place: usize) -> bool {
    let rows = table.groups.iter().flat_map(|group| &group.rows);
    rows.filter_map(|row| row.cell(place)).any(|cell| cell.note.is_some())
}

/// One line; fields with a separator, a quote or a line break are quoted.
fn line(fields: &[String]) -> String {
    let quote = |field: &String| {
        let field = printable(field);
        let needs = field.contains(['"', ',', '\n', '\r']);
        if needs { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
    };
    fields.iter().map(quote).collect::<Vec<_>>().join(",") + "\r\n"
}
