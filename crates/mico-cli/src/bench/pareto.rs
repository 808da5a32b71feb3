//! Speed-ups as a picture: over the quality that was left, or over what was promised.

use mico_chart::{Better, Chart, Drawing, Interval, Intervals, Point, Reference, Series, Tone};

use super::quality::Quality;
use super::report::{Report, Row};

const UNPRUNED: &str = "unpruned";

/// Realised speed-ups with Rel above them, else with the promised ones. Settings the quality file
/// does not know are left out and named on standard error.
pub(super) fn draw(report: &Report, quality: Option<&Quality>) -> Drawing {
    let mut series: Vec<Series> = Vec::new();
    let mut unknown: Vec<String> = Vec::new();
    for row in &report.rows {
        let y = match quality {
            Some(quality) => quality.rel(row),
            None => Some(row.speedup.as_ref().map_or(1.0, |speedup| speedup.prefill.promised)),
        };
        let Some(y) = y else {
            unknown.push(label(row));
            continue;
        };
        let point = point(row, y);
        let reference = row.budget.is_none();
        let name = if reference { UNPRUNED } else { &row.method };
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => {
                let tone = if reference { Tone::Ink } else { Tone::Auto };
                series.push(Series::curve(name, [point]).toned(tone));
            }
        }
    }
    if !unknown.is_empty() {
        eprintln!("warning: not drawn, since --quality has no Rel of: {}", unknown.join(", "));
    }
    // Colors go by this order, and the reference needs none.
    series.sort_by_key(|series| series.tone == Tone::Ink);
    let (title, vertical) = match quality {
        Some(_) => ("Quality over prefill speed-up", "Rel (% of the unpruned accuracy)"),
        None => ("Prefill speed-up, promised and realised", "promised by the FLOPs (x)"),
    };
    let diagonal = quality.is_none().then(|| Reference::diagonal("realised = promised"));
    Chart::pareto(title, ["realised prefill speed-up (x)", vertical], Better::More)
        .subtitle(report.subtitle())
        .series(series)
        .references(diagonal)
        .intervals(Intervals::Whiskers, "min to max of rounds")
        .draw()
}

fn point(row: &Row, y: f64) -> Point {
    let realised = row.speedup.as_ref().map(|speedup| speedup.prefill.realised);
    let x = realised.map_or(Interval::from(1.0), |realised| Interval {
        value: realised.median,
        low: realised.min,
        high: realised.max,
    });
    Point::new(x, y).labeled(label(row))
}

fn label(row: &Row) -> String {
    row.budget.map_or_else(|| UNPRUNED.to_owned(), |budget| format!("{} {budget}", row.method))
}
