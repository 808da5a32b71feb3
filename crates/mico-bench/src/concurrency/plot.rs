//! What several clients get, over their number.

use mico_chart::{Axis, Chart, Interval, Intervals, Point, Series, Tone};

use super::row::LevelRow;
use crate::report::{Report, Row, Spread, setting_label};

const SIZE: (u32, u32) = (1200, 560);

/// A value of a row.
type Value = fn(&LevelRow) -> Spread;

/// Throughput and the time between tokens; no charts where there were no clients.
pub(crate) fn charts(report: &Report) -> Vec<Chart> {
    if report.rows.iter().all(|row| row.concurrency.is_empty()) {
        return Vec::new();
    }
    let charts: [(&str, &str, Value); 3] = [
        ("Answers to several clients", "requests/s", |level| level.requests_per_second),
        ("Decode steps", "decode tokens/s", |level| level.decode_tokens_per_second),
        ("Waiting for a token", "between tokens, p90 (s)", |level| {
            level.seconds.between_tokens.p90
        }),
    ];
    charts.into_iter().map(|(title, label, of)| chart(report, [title, label], of)).collect()
}

fn chart(report: &Report, [title, label]: [&str; 2], of: Value) -> Chart {
    let mut series: Vec<Series> = report.rows.iter().map(|row| curve(row, of)).collect();
    // Colors go by this order, and the unpruned model needs none.
    series.sort_by_key(|series| series.tone == Tone::Ink);
    let clients = Axis::new("clients at once").doubling().ticks_at_points();
    Chart::new(title, clients, Axis::new(label).including([0.0]))
        .subtitle(report.subtitle())
        .series(series)
        .intervals(Intervals::Whiskers, "min to max of rounds")
        .sized(SIZE.0, SIZE.1)
}

fn curve(row: &Row, of: Value) -> Series {
    let points = row.concurrency.iter().map(|level| {
        let Spread { median, min, max, .. } = of(level);
        let value = Interval { value: median, low: min, high: max };
        Point::new(level.clients as f64, value)
    });
    let tone = if row.budget.is_none() { Tone::Ink } else { Tone::Auto };
    Series::curve(setting_label(row), points).toned(tone)
}
