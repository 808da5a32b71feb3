//! Quality against what it costs.

use mico_chart::{Better, Chart, Intervals, Point, Series, Tone};

use super::RunReport;
use super::charts::{Measure, figure};
use super::text::counted;
use crate::summary::{Estimate, Row};

/// With more points than this, only budgets stand at them: colours name the methods.
const NAMED: usize = 24;

/// What an answer costs.
struct Cost {
    title: &'static str,
    axis: &'static str,
    of: fn(&Row) -> f64,
}

const COSTS: [Cost; 2] = [
    Cost {
        title: "visual tokens",
        axis: "visual tokens, averaged over the blocks",
        of: |row| row.layer_average,
    },
    Cost {
        title: "time",
        axis: "seconds per answer in the decoder, pruning included, as measured in the run",
        of: |row| row.seconds,
    },
];

/// Quality against tokens and against time, with the front that nothing beats.
pub(super) fn fronts(run: &RunReport<'_>) -> String {
    let rows = &run.summary.rows;
    if rows.iter().filter(|row| row.tokens.is_some()).count() < 2 {
        return String::new();
    }
    let mut html = String::from(
        "<p>A ring marks settings that no other beats in one respect without losing in the other, by the \
         values as measured; whether neighbours differ significantly is in the comparisons. Times are \
         those of this run on its machine, other work on it included.</p>\n",
    );
    if rows.iter().any(|row| row.rel.is_some()) {
        html.push_str(&both(run, "Rel", "Rel (% of the unpruned Acc)", |row| row.rel));
        return html;
    }
    let (acc, tracks) = Measure::all(run);
    for measure in acc.map_or(tracks, |acc| vec![acc]) {
        let name = measure.name(run);
        html.push_str(&both(run, &name, &name, |row| measure.of(row)));
    }
    html
}

fn both(
    run: &RunReport<'_>,
    name: &str,
    axis: &str,
    of: impl Fn(&Row) -> Option<Estimate>,
) -> String {
    let draw = |cost: &Cost| {
        let chart = chart(run, cost, [name, axis], &of);
        let points: usize = chart.series.iter().map(|series| series.points.len()).sum();
        if points == 0 {
            return String::new();
        }
        let settings = counted(points, "setting", "settings");
        let on = format!("On the front: {}.", chart.front_labels().join(", "));
        let words = format!("{}. {settings}. {on}", chart.title);
        figure(&chart.draw(), &words, &on)
    };
    COSTS.iter().map(draw).collect()
}

fn chart(
    run: &RunReport<'_>,
    cost: &Cost,
    [name, axis]: [&str; 2],
    of: &impl Fn(&Row) -> Option<Estimate>,
) -> Chart {
    // Without its picture the model is cheap and knows nothing: no setting one could choose.
    let blank = crate::condition::BLANK;
    let rows = run.summary.rows.iter().filter(|row| row.setting != blank || row.tokens.is_some());
    let rows: Vec<(&Row, Estimate)> = rows.filter_map(|row| Some((row, of(row)?))).collect();
    let mut series: Vec<Series> = Vec::new();
    for (row, value) in &rows {
        let x = (cost.of)(row);
        let label = match row.tokens {
            None => row.setting.clone(),
            Some(tokens) if rows.len() > NAMED => tokens.to_string(),
            Some(tokens) => format!("{} {tokens}", row.setting),
        };
        let point = Point::new(x, *value).labeled(label);
        if let Some(series) = series.iter_mut().find(|series| series.name == row.setting) {
            series.points.push(point);
        } else {
            let tone = if row.tokens.is_none() { Tone::Ink } else { Tone::Auto };
            series.push(Series::curve(row.setting.as_str(), [point]).toned(tone));
        }
    }
    // Colors go by this order, and the reference needs none.
    series.sort_by_key(|series| series.tone == Tone::Ink);
    let items = counted(run.summary.items, "item", "items");
    Chart::pareto(format!("{name} against {}", cost.title), [cost.axis, axis], Better::Less)
        .subtitle(format!("{items}; {}", run.manifest.model))
        .series(series)
        .intervals(Intervals::Whiskers, "95 % interval")
}
