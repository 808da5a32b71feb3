//! Renders a result table as LaTeX with `booktabs` rules.

use super::marks::{Mark, by_row};
use super::{Column, Row, Table, one_line, shown};

/// Renders the table as a `table` environment with caption and notes.
pub(super) fn render(table: &Table) -> String {
    let columns = &table.columns;
    let mut lines = vec!["\\begin{table}[t]".to_owned(), "\\centering".to_owned()];
    if !table.title.is_empty() {
        lines.push(format!("\\caption{{{}}}", escape(&table.title)));
    }
    lines.push(format!("\\begin{{tabular}}{{l{}}}", "c".repeat(columns.len())));
    lines.push("\\toprule".to_owned());
    lines.push(line(&table.corner, columns.iter().map(|column| escape(&column.name))));
    for group in &table.groups {
        lines.push("\\midrule".to_owned());
        if let Some(title) = &group.title {
            let width = columns.len() + 1;
            lines.push(format!("\\multicolumn{{{width}}}{{c}}{{{}}} \\\\", escape(title)));
            lines.push("\\midrule".to_owned());
        }
        for (row, marks) in group.rows.iter().zip(by_row(group, columns)) {
            let cells = columns.iter().enumerate().zip(marks);
            let cells = cells.map(|((place, column), mark)| cell(row, place, column, mark));
            lines.push(line(&row.label, cells));
        }
    }
    lines.push("\\bottomrule".to_owned());
    lines.push("\\end{tabular}".to_owned());
    let notes = table.notes.iter();
    lines.extend(notes.map(|note| format!("\\par\\smallskip{{\\footnotesize {}}}", escape(note))));
    lines.push("\\end{table}".to_owned());
    lines.join("\n") + "\n"
}

/// One table row: the label, the cells and the line end.
fn line(label: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = std::iter::once(escape(label)).chain(cells).collect();
    format!("{} \\\\", cells.join(" & "))
}

/// The content of a cell; a dash if it has no number.
fn cell(row: &Row, place: usize, column: &Column, mark: Option<Mark>) -> String {
    let Some(cell) = row.cell(place) else {
        return "--".to_owned();
    };
    let value = format!("{}{}", shown(cell, column), escape(&column.unit));
    let value = match mark {
        Some(Mark::Best) => format!("\\textbf{{{value}}}"),
        Some(Mark::Second) => format!("\\underline{{{value}}}"),
        None => value,
    };
    match &cell.note {
        Some(note) => format!("{value} {{\\scriptsize {}}}", escape(note)),
        None => value,
    }
}

/// Escapes text so that LaTeX reads no command in it.
fn escape(text: &str) -> String {
    let escape = |c: char| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' => "\\textless{}".to_owned(),
        '>' => "\\textgreater{}".to_owned(),
        '±' => "$\\pm$".to_owned(),
        c => c.to_string(),
    };
    one_line(text).chars().map(escape).collect()
}
