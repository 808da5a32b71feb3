//! Values, what they are made of, and answers that are none.

use std::fmt::Write as _;

use mico_score::table::{Cell, Table};

use super::RunReport;
use super::text::{counted, escape};
use crate::summary::{Estimate, Row, paper_table};

/// The table in the paper's manner, with intervals, and its texts to copy.
pub(super) fn paper(run: &RunReport<'_>) -> String {
    let summary = &run.summary;
    if summary.rows.is_empty() {
        return String::new();
    }
    let table = paper_table(summary, &run.manifest.title);
    let shown = with_intervals(run, table.clone());
    let mut html = String::from(
        "<p>The best value of each budget is <strong>bold</strong>, the second best <u>underlined</u>, \
         as they are shown; small figures are 95 % intervals. Which differences are significant is \
         said under the table and in the comparisons.</p>\n",
    );
    let _ = writeln!(
        html,
        "<div class=\"wide paper\" tabindex=\"0\" role=\"region\" aria-label=\"Values\">\n{}</div>",
        shown.html()
    );
    if !summary.chance.is_empty() {
        let chance: Vec<String> = summary
            .chance
            .iter()
            .map(|(track, value)| format!("{} {value:.1}", escape(track)))
            .collect();
        let _ = writeln!(
            html,
            "<p class=\"muted\">Always giving the most frequent answer to a form of question would \
             score: {}.</p>",
            chance.join(", ")
        );
    }
    let texts = [("LaTeX", table.latex()), ("Markdown", table.markdown()), ("CSV", table.csv())];
    for (name, text) in texts {
        let _ = writeln!(
            html,
            "<details><summary>The table in {name}</summary><pre tabindex=\"0\">{}</pre></details>",
            escape(&text.replace("\r\n", "\n"))
        );
    }
    html
}

/// The same table with intervals as notes; its rows are those of the summary.
fn with_intervals(run: &RunReport<'_>, mut table: Table) -> Table {
    table.title = String::new();
    let of = |row: &Row| -> Vec<Option<Estimate>> {
        row.tracks.iter().map(|track| track.value).chain([row.acc, row.rel]).collect()
    };
    let mut rows: Vec<(&Row, bool)> = run.summary.rows.iter().map(|row| (row, false)).collect();
    for group in &mut table.groups {
        for shown in &mut group.rows {
            let same = |(row, taken): &&mut (&Row, bool)| {
                let value = |e: &Option<Estimate>| e.map(|e| e.value);
                let cells: Vec<Option<f64>> =
                    shown.cells.iter().map(|cell| cell.as_ref().map(|cell| cell.value)).collect();
                !*taken
                    && row.setting == shown.label
                    && of(row).iter().map(value).collect::<Vec<_>>() == cells
            };
            let Some((row, taken)) = rows.iter_mut().find(same) else { continue };
            *taken = true;
            for (cell, estimate) in shown.cells.iter_mut().zip(of(row)) {
                if let (Some(Cell { note, .. }), Some(estimate)) = (cell, estimate) {
                    *note = Some(format!("{:.1}–{:.1}", estimate.low, estimate.high));
                }
            }
        }
    }
    table
}

fn setting(row: &Row) -> String {
    let budget = row.tokens.map_or_else(String::new, |tokens| tokens.to_string());
    format!("<th scope=\"row\">{}</th><td class=\"number\">{budget}</td>", escape(&row.setting))
}

/// What the values of tracks are made of, where they are made of anything.
pub(super) fn parts(run: &RunReport<'_>) -> String {
    let mut html = String::new();
    for (at, (track, _)) in run.summary.rules.iter().enumerate() {
        let rows = run.summary.rows.iter().filter_map(|row| Some((row, row.tracks.get(at)?)));
        let mut names: Vec<&str> = Vec::new();
        for (_, score) in rows.clone() {
            for (name, _) in &score.parts {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        if names.is_empty() {
            continue;
        }
        let mut heads = String::new();
        for name in &names {
            let _ = write!(heads, "<th scope=\"col\" class=\"number\">{}</th>", escape(name));
        }
        let _ = writeln!(
            html,
            "<details><summary>{track}</summary><div class=\"wide\" tabindex=\"0\" role=\"region\" \
             aria-label=\"Parts of {track}\">\n<table><thead><tr><th scope=\"col\">setting</th>\
             <th scope=\"col\" class=\"number\">T</th>{heads}</tr></thead>\n<tbody>",
            track = escape(track)
        );
        for (row, score) in rows {
            let _ = write!(html, "<tr>{}", setting(row));
            for name in &names {
                let value = score.parts.iter().find(|(known, _)| known == name);
                let value =
                    value.map_or_else(|| "–".to_owned(), |(_, value)| format!("{value:.1}"));
                let _ = write!(html, "<td class=\"number\">{value}</td>");
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div></details>\n");
    }
    html
}

/// Answers that were empty, could not be read, could not be asked for or were cut.
pub(super) fn counts(run: &RunReport<'_>) -> String {
    if run.summary.rows.is_empty() {
        return String::new();
    }
    let mut lines = String::new();
    for row in &run.summary.rows {
        for track in &row.tracks {
            let counts = [track.empty, track.unreadable, track.failed, track.cut];
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            let mut cells = String::new();
            for count in [track.asked].iter().chain(&counts) {
                let _ = write!(cells, "<td class=\"number\">{count}</td>");
            }
            let _ = writeln!(
                lines,
                "<tr>{}<td>{}</td>{cells}</tr>",
                setting(row),
                escape(&track.track)
            );
        }
    }
    let settings = counted(run.summary.rows.len(), "setting", "settings");
    if lines.is_empty() {
        let none = "no answer was empty, unreadable, cut or could not be asked for";
        return format!("<p>Under {settings}, {none}.</p>\n");
    }
    format!(
        "<p>All of them are in the denominators; only tracks with any are listed.</p>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Counts\">\n<table><thead><tr>\
         <th scope=\"col\">setting</th><th scope=\"col\" class=\"number\">T</th><th scope=\"col\">track</th>\
         <th scope=\"col\" class=\"number\">asked</th><th scope=\"col\" class=\"number\">empty</th>\
         <th scope=\"col\" class=\"number\">unreadable</th>\
         <th scope=\"col\" class=\"number\">not asked (counted as wrong)</th>\
         <th scope=\"col\" class=\"number\">cut</th></tr></thead>\n<tbody>\n{lines}</tbody></table></div>\n"
    )
}
