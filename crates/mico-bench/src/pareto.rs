//! Speed-ups as a picture: over the quality that was left, or over what was promised.

use mico_chart::{Better, Chart, Drawing, Interval, Intervals, Point, Reference, Series, Tone};

use crate::concurrency;
use crate::quality::Quality;
use crate::report::{Report, Row};

const UNPRUNED: &str = "unpruned";

/// Realised speed-ups as a picture.
#[derive(Debug)]
#[non_exhaustive]
pub struct Pareto {
    /// The plot, ready to be written as SVG or PNG.
    pub drawing: Drawing,
    /// Conditions that are left out of it, since nothing is known of their quality.
    pub unknown: Vec<String>,
}

impl Pareto {
    /// Realised speed-ups with Rel above them, else with the promised ones; below them, what several clients
    /// at once got, if there were any.
    pub fn draw(report: &Report, quality: Option<&Quality>) -> Self {
        let mut series: Vec<Series> = Vec::new();
        let mut unknown: Vec<String> = Vec::new();
        for row in &report.rows {
            let y = match quality {
                Some(quality) => quality.rel(row),
                None => Some(row.speedup.as_ref().map_or(1.0, |speedup| speedup.prefill.promised)),
            };
            match y {
                Some(y) => add(&mut series, row, y),
                None => unknown.push(label(row)),
            }
        }
        // Colors go by this order, and the reference needs none.
        series.sort_by_key(|series| series.tone == Tone::Ink);
        let (title, vertical) = match quality {
            Some(_) => ("Quality over prefill speed-up", "Rel (% of the unpruned accuracy)"),
            None => ("Prefill speed-up, promised and realised", "promised by the FLOPs (x)"),
        };
        let diagonal = quality.is_none().then(|| Reference::diagonal("realised = promised"));
        let speedups =
            Chart::pareto(title, ["realised prefill speed-up (x)", vertical], Better::More)
                .subtitle(report.subtitle())
                .series(series)
                .references(diagonal)
                .intervals(Intervals::Whiskers, "min to max of rounds");
        let all: Vec<Chart> =
            std::iter::once(speedups).chain(concurrency::charts(report)).collect();
        Self { drawing: mico_chart::grid(&all, 1), unknown }
    }
}

/// Adds a row's point to the curve of its method.
fn add(series: &mut Vec<Series>, row: &Row, y: f64) {
    let point = point(row, y);
    let (name, tone) = match row.budget {
        None => (UNPRUNED, Tone::Ink),
        Some(_) => (row.method.as_str(), Tone::Auto),
    };
    match series.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => series.push(Series::curve(name, [point]).toned(tone)),
    }
}

fn point(row: &Row, y: f64) -> Point {
    let realized = row.speedup.as_ref().map(|speedup| speedup.prefill.realized);
    let x = realized.map_or(Interval::from(1.0), |realized| Interval {
        value: realized.median,
        low: realized.min,
        high: realized.max,
    });
    Point::new(x, y).labeled(label(row))
}

fn label(row: &Row) -> String {
    row.budget.map_or_else(|| UNPRUNED.to_owned(), |budget| format!("{} {budget}", row.method))
}
