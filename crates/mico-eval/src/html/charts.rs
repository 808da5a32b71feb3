//! Charts as parts of the document.

use mico_chart::{Axis, Chart, Drawing, Point, Reference, ReferenceShape, Series};

use super::RunReport;
use super::text::escape;
use crate::summary::{Estimate, Row};

/// A value of a row that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Acc,
    Track(usize),
}

impl Measure {
    /// Acc if there is one, and every track.
    pub(super) fn all(run: &RunReport<'_>) -> (Option<Self>, Vec<Self>) {
        let acc = run.summary.rows.iter().any(|row| row.acc.is_some()).then_some(Self::Acc);
        (acc, (0..run.summary.rules.len()).map(Self::Track).collect())
    }

    pub(super) fn of(self, row: &Row) -> Option<Estimate> {
        match self {
            Self::Acc => row.acc,
            Self::Track(at) => row.tracks.get(at)?.value,
        }
    }

    pub(super) fn name(self, run: &RunReport<'_>) -> String {
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
    fn chart(&self, run: &RunReport<'_>, measure: Measure) -> Chart {
        let curve = |(name, rows): &(String, Vec<(usize, &Row)>)| {
            let point = |(at, row): &(usize, &Row)| Some(Point::new(*at as f64, measure.of(row)?));
            Series::curve(name.as_str(), rows.iter().filter_map(point))
        };
        let level = |(name, row, of): &(String, &Row, Option<usize>)| {
            let level = Reference::level(name.as_str(), measure.of(row)?.value);
            Some(of.map_or(level.clone(), |series| level.of(series)))
        };
        let across = Axis::new(self.axis).ticks_at_points();
        let across = if self.doubling { across.doubling() } else { across };
        // The title is what the vertical axis counts.
        Chart::new(measure.name(run), across, Axis::new(""))
            .series(self.lines.iter().map(curve))
            .references(self.levels.iter().filter_map(level))
    }

    fn figure(&self, run: &RunReport<'_>, measure: Measure) -> String {
        let chart = self.chart(run, measure);
        let name = measure.name(run);
        let spread = if chart.has_intervals() { ", with 95 % intervals" } else { "" };
        let words = format!("{name} over {}: {}", self.axis, in_words(&chart));
        let caption = format!("{name} over {}{spread}.", self.axis);
        figure(&chart.draw(), &words, &caption)
    }

    /// A chart of Acc, and one of each track folded under it.
    pub(super) fn html(&self, run: &RunReport<'_>) -> String {
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
pub(super) fn references<'a>(run: &'a RunReport<'_>) -> Vec<(String, &'a Row, Option<usize>)> {
    let rows = run.rows().into_iter().filter(|(setting, _)| setting.pruning().is_none());
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
    let curves = chart.series.iter().map(|series| {
        let points: Vec<String> =
            series.points.iter().map(|p| format!("{:.1} at {}", p.y.value, p.x.value)).collect();
        format!("{}: {}", series.name, points.join(", "))
    });
    let levels = chart.references.iter().filter_map(|reference| match reference.shape {
        ReferenceShape::Level(value) => Some(format!("{}: {value:.1}", reference.name)),
        _ => None,
    });
    curves.chain(levels).collect::<Vec<_>>().join("; ")
}
