//! Runs as one HTML document that needs nothing beside itself: no scripts, no other files.

mod charts;
mod compare;
mod gold;
mod head;
mod items;
mod knobs;
mod pareto;
mod tables;
mod text;

use std::fmt::Write as _;

use crate::condition::Condition;
use crate::error::Result;
use crate::journal::Journal;
use crate::manifest::Manifest;
use crate::record::RecordKey;
use crate::summary::{Column, Row, Summary, columns_of};
use text::escape;

const STYLE: &str = include_str!("style.css");

/// Gives the picture of a record as a JPEG file, if there is one; quick to say that there is none.
pub type PictureLookup<'a> = dyn Fn(&RecordKey) -> Option<Vec<u8>> + 'a;

/// A run to report on.
pub struct RunResults<'a> {
    /// The run's manifest: model, sources and settings.
    pub manifest: &'a Manifest,
    /// The records of the run's answers.
    pub journal: &'a Journal,
    /// What was kept of pictures.
    pub picture: &'a PictureLookup<'a>,
}

impl std::fmt::Debug for RunResults<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunResults").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

/// An HTML document with counts of what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The complete file, styles and pictures included.
    pub html: String,
    /// Items that are shown.
    pub items: usize,
    /// The number of pictures of those items.
    pub pictures: usize,
}

/// A run with its numbers.
struct RunReport<'a> {
    manifest: &'a Manifest,
    summary: Summary,
    columns: Vec<Column>,
    /// What the names of places in the document begin with.
    prefix: String,
    title: String,
}

impl RunReport<'_> {
    /// Rows of the summary with the settings they are of.
    fn rows(&self) -> Vec<(&Condition, &Row)> {
        let mut settings = self.manifest.settings.iter();
        let mut rows = Vec::new();
        // Rows stand in the order of settings; those of incomplete settings are missing.
        for row in &self.summary.rows {
            let own = |setting: &&Condition| {
                setting.tokens() == row.tokens && setting.label == row.setting
            };
            if let Some(setting) = settings.find(own) {
                rows.push((setting, row));
            }
        }
        rows
    }
}

/// A section of a run's report, with its heading and anchor.
struct Section {
    anchor: &'static str,
    heading: &'static str,
    html: String,
}

/// Puts runs into one document, with at most `items` items of each.
pub fn report(runs: &[RunResults<'_>], items: usize) -> Result<Report> {
    let mut reports = Vec::with_capacity(runs.len());
    for (at, results) in runs.iter().enumerate() {
        reports.push(RunReport {
            manifest: results.manifest,
            summary: Summary::new(results.manifest, results.journal)?,
            columns: columns_of(results.manifest, results.journal)?,
            prefix: format!("c{}", at + 1),
            title: head::title(results.manifest),
        });
    }
    let title = match reports.as_slice() {
        [only] => only.title.clone(),
        all => text::counted(all.len(), "evaluation", "evaluations"),
    };
    let (mut contents, mut body) = (String::new(), String::new());
    let mut report = Report { html: String::new(), items: 0, pictures: 0 };
    for (run, results) in reports.iter().zip(runs) {
        let shown = items::select(run, results.picture, items);
        report.items += shown.items();
        report.pictures += shown.pictures();
        let parts = parts(run, &shown);
        let (prefix, name) = (&run.prefix, escape(&run.title));
        let _ = writeln!(contents, "<li><a href=\"#{prefix}\">{name}</a><ul>");
        let _ = write!(
            body,
            "<section class=\"chapter\" id=\"{prefix}\">\n<h2>{name}</h2>\n{}",
            head::facts(run)
        );
        for Section { anchor, heading, html } in parts {
            let _ = writeln!(contents, "<li><a href=\"#{prefix}-{anchor}\">{heading}</a></li>");
            let _ = writeln!(
                body,
                "<section id=\"{prefix}-{anchor}\">\n<h3>{heading}</h3>\n{html}</section>"
            );
        }
        contents.push_str("</ul></li>\n");
        body.push_str("</section>\n");
    }
    report.html = page(&title, &contents, &body);
    Ok(report)
}

/// The sections of a run's report that are not empty.
fn parts(run: &RunReport<'_>, shown: &items::SelectedItems<'_>) -> Vec<Section> {
    let part = |anchor, heading, html| Section { anchor, heading, html };
    let parts = [
        part("table", "Acc and Rel", tables::paper(run)),
        part("compared", "Comparisons", compare::pairs(run)),
        part("budgets", "Against the budget", knobs::budgets(run)),
        part("layers", "Against the refinement block", knobs::layers(run)),
        part("pools", "Against the Stage-1 pool", knobs::pools(run)),
        part("pareto", "Quality against cost", pareto::fronts(run)),
        part("parts", "Tracks in parts", tables::parts(run)),
        part("counts", "Answers that are none", tables::counts(run)),
        part("items", "Items", items::pages(run, shown)),
    ];
    parts.into_iter().filter(|part| !part.html.is_empty()).collect()
}

fn page(title: &str, contents: &str, body: &str) -> String {
    let title = escape(title);
    let colors = mico_chart::theme_css();
    // The policy holds whatever the texts of a run may contain: nothing is loaded, nothing runs.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{colors}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1></header>\n\
         <nav aria-label=\"Contents\"><ul>\n{contents}</ul></nav>\n<main>\n{body}</main>\n\
         </body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests;
