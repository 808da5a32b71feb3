//! Charts as parts of the document.

use super::Told;
use super::text::escape;
use crate::curves::{Chart, Level, Line};
use crate::drawing::Drawing;
use crate::setting::Setting;
use crate::summary::{Estimate, Row};

/// A value of a row that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Acc,
    Track(usize),
}

impl Measure {
    /// Acc if there is one, and every track.
    pub(super) fn all(run: &Told<'_>) -> (Option<Self>, Vec<Self>) {
        let acc = run.summary.rows.iter().any(|row| row.acc.is_some()).then_some(Self::Acc);
        (acc, (0..run.summary.rules.len()).map(Self::Track).collect())
    }

    pub(super) fn of(self, row: &Row) -> Option<Estimate> {
        match self {
            Self::Acc => row.acc,
            Self::Track(at) => row.tracks.get(at)?.value,
        }
    }

    pub(super) fn name(self, run: &Told<'_>) -> String {
        match self {
            Self::Acc => "Acc".to_owned(),
            Self::Track(at) => {
                run.summary.rules.get(at).map_or_else(String::new, |(name, _)| name.clone())
            }
        }
    }
}

/// Curves of some rows, whatever the measure.
pub(super) struct Curves<'a> {
    /// What the horizontal axis counts.
    pub(super) axis: &'static str,
    pub(super) doubling: bool,
    /// Names with rows and where they are.
    pub(super) lines: Vec<(String, Vec<(usize, &'a Row)>)>,
    /// Rows to compare with, and the curve each belongs to.
    pub(super) levels: Vec<(String, &'a Row, Option<usize>)>,
}

impl Curves<'_> {
    fn chart(&self, run: &Told<'_>, measure: Measure) -> Chart {
        let line = |(name, rows): &(String, Vec<(usize, &Row)>)| Line {
            name: name.clone(),
            points: rows
                .iter()
                .filter_map(|(at, row)| Some((*at as f64, measure.of(row)?)))
                .collect(),
        };
        let level = |(name, row, of): &(String, &Row, Option<usize>)| {
            let value = measure.of(row)?.value;
            Some(Level { name: name.clone(), value, of: *of })
        };
        Chart {
            title: measure.name(run),
            // The title is what the vertical axis counts.
            axes: [self.axis.to_owned(), String::new()],
            doubling: self.doubling,
            lines: self.lines.iter().map(line).collect(),
            levels: self.levels.iter().filter_map(level).collect(),
        }
    }

    fn figure(&self, run: &Told<'_>, measure: Measure) -> String {
        let chart = self.chart(run, measure);
        let name = measure.name(run);
        let spread = if chart.has_intervals() { ", with 95 % intervals" } else { "" };
        let words = format!("{name} over {}: {}", self.axis, in_words(&chart));
        let caption = format!("{name} over {}{spread}.", self.axis);
        figure(&chart.draw(), &words, &caption)
    }

    /// A chart of Acc, and one of each track folded under it.
    pub(super) fn html(&self, run: &Told<'_>) -> String {
        let (acc, tracks) = Measure::all(run);
        let all = |measures: &[Measure]| -> String {
            measures.iter().map(|measure| self.figure(run, *measure)).collect()
        };
        let tracks = format!("<div class=\"charts\">\n{}</div>\n", all(&tracks));
        match acc {
            Some(acc) => format!(
                "{}<details><summary>Track by track</summary>\n{tracks}</details>\n",
                self.figure(run, acc)
            ),
            None => tracks,
        }
    }
}

/// The rows that every curve is compared with: the unpruned model, and what it says without a picture.
pub(super) fn references<'a>(run: &'a Told<'_>) -> Vec<(String, &'a Row, Option<usize>)> {
    let rows = run
        .rows()
        .into_iter()
        .filter(|(setting, _)| matches!(setting, Setting::Unpruned | Setting::Blank));
    rows.map(|(_, row)| (row.setting.clone(), row, None)).collect()
}

/// A drawing with what it shows in words and a line under it.
pub(super) fn figure(drawing: &Drawing, words: &str, caption: &str) -> String {
    format!(
        "<figure>\n{}<figcaption>{}</figcaption></figure>\n",
        drawing.inline_svg(words),
        escape(caption)
    )
}

/// The numbers of a chart for those who do not see it.
fn in_words(chart: &Chart) -> String {
    let lines = chart.lines.iter().map(|line| {
        let points: Vec<String> =
            line.points.iter().map(|(at, e)| format!("{:.1} at {at}", e.value)).collect();
        format!("{}: {}", line.name, points.join(", "))
    });
    let levels = chart.levels.iter().map(|level| format!("{}: {:.1}", level.name, level.value));
    lines.chain(levels).collect::<Vec<_>>().join("; ")
}
