//! Speed-ups as a picture: over the quality that was left, or over what was promised.

use mico_eval::drawing::Drawing;
use mico_eval::scatter::{Point, Scatter, Series};

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
            None => series.push(Series { name: name.to_owned(), reference, points: vec![point] }),
        }
    }
    if !unknown.is_empty() {
        eprintln!("warning: not drawn, since --quality has no Rel of: {}", unknown.join(", "));
    }
    // Colours go by this order, and the reference needs none.
    series.sort_by_key(|series| series.reference);
    let (title, vertical) = match quality {
        Some(_) => ("Quality over prefill speed-up", "Rel (% of the unpruned accuracy)"),
        None => ("Prefill speed-up, promised and realised", "promised by the FLOPs (x)"),
    };
    let scatter = Scatter {
        title: title.to_owned(),
        subtitle: report.subtitle(),
        axes: ["realised prefill speed-up (x)".to_owned(), vertical.to_owned()],
        cost: false,
        series,
        diagonal: quality.is_none().then(|| "realised = promised".to_owned()),
        whiskers: "min to max of rounds".to_owned(),
    };
    scatter.draw()
}

fn point(row: &Row, y: f64) -> Point {
    let realised = row.speedup.as_ref().map(|speedup| speedup.prefill.realised);
    Point {
        x: realised.map_or(1.0, |realised| realised.median),
        y,
        whisker: realised.map_or((1.0, 1.0), |realised| (realised.min, realised.max)),
        upright: (y, y),
        label: label(row),
    }
}

fn label(row: &Row) -> String {
    row.budget.map_or_else(|| UNPRUNED.to_owned(), |budget| format!("{} {budget}", row.method))
}
