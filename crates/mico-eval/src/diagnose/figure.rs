//! The checks as one picture.

use mico_chart::{
    Axis, Chart, Drawing, Interval, Intervals, Point, Reference, Row, Series, Tone, grid,
};

use super::{Arm, Diagnosis, Information, Measure, ProbeReport, Relevance, Reliability, Score};

/// Charts beside each other, and the size of each.
const COLUMNS: usize = 2;
const SIZE: (u32, u32) = (760, 440);
/// Layouts that have a color of their own.
const MOST_LAYOUTS: usize = 8;
/// The level at which a concordance says nothing, and how much around it is shown at least.
const CHANCE: f64 = 0.5;
const AROUND_CHANCE: f64 = 0.15;

impl Diagnosis {
    /// A chart for every check that ran, two for the reliability.
    pub fn drawing(&self) -> Drawing {
        let mut charts = Vec::new();
        charts.extend(self.information.as_ref().map(information));
        if let Some(found) = &self.reliability {
            charts.extend([accuracies(found), concordances(found)]);
        }
        charts.extend(self.relevance.as_ref().map(relevance));
        let charts: Vec<Chart> =
            charts.into_iter().map(|chart| chart.sized(SIZE.0, SIZE.1)).collect();
        grid(&charts, COLUMNS)
    }
}

/// A number with its interval, in few words.
fn words(measure: &Measure) -> String {
    match (measure.value, measure.low, measure.high) {
        (Some(value), Some(low), Some(high)) => format!("{value:.3} ({low:.3} to {high:.3})"),
        (Some(value), ..) => format!("{value:.3}"),
        _ => "undefined".into(),
    }
}

/// The number as a place with an interval, if there is one.
fn interval(measure: &Measure) -> Option<Interval> {
    let value = measure.value?;
    Some(Interval { value, low: measure.low.unwrap_or(value), high: measure.high.unwrap_or(value) })
}

fn information(found: &Information) -> Chart {
    let rho = found.positions.first().map_or(String::new(), |first| words(&first.rho));
    let shown = found.bins.len().clamp(1, MOST_LAYOUTS);
    let clouds = (0..shown).map(|slot| {
        let own = found.points.iter().filter(|point| point.bin % shown == slot);
        // The name of a single layout would say nothing.
        let bins = found.bins.get(slot).filter(|_| found.bins.len() > 1);
        let name = bins.map_or("", |bin| bin.layout.as_str());
        Series::cloud(name, own.map(|point| Point::new(point.entropy, point.norm)))
    });
    let places: Vec<(f64, f64)> = found.points.iter().map(|p| (p.entropy, p.norm)).collect();
    let trend = trend(&places).map(|ends| Reference::segment("least squares", ends));
    Chart::new(
        "Information: label entropy and feature norm",
        Axis::new("entropy of labels at the position (nats)"),
        Axis::new("mean norm"),
    )
    .subtitle(format!("Spearman {rho}, {} positions", places.len()))
    .series(clouds)
    .references(trend)
}

/// Ends of the least-squares line over the range of x.
fn trend(places: &[(f64, f64)]) -> Option<[(f64, f64); 2]> {
    let count = places.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>();
    let (mean_x, mean_y) = (sum(|p| p.0) / count, sum(|p| p.1) / count);
    let xy: f64 = places.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let xx: f64 = places.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let low = places.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let high = places.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let at = |x: f64| (x, mean_y + xy / xx * (x - mean_x));
    (xx > 0.0).then(|| [at(low), at(high)])
}

fn accuracies(found: &Reliability) -> Chart {
    let curve = |probe: &ProbeReport, arm: Arm| {
        let covered = probe.accuracy.iter().filter(|accuracy| accuracy.arm == arm);
        let covered = covered.map(|accuracy| (accuracy.strength as f64, accuracy.accuracy));
        let all = std::iter::once((0.0, probe.clean)).chain(covered);
        let points = all.filter_map(|(x, measure)| Some(Point::new(x, interval(&measure)?)));
        let name = format!("{} covered, {} probe", arm.name(), probe.probe.name());
        Series::curve(name, points.collect::<Vec<_>>())
    };
    let arms = |probe| Arm::ALL.into_iter().map(move |arm| curve(probe, arm));
    Chart::new(
        "Reliability: accuracy of probes under masking",
        Axis::new("covered, percent of the region").ticks_at_points().including([0.0, 100.0]),
        Axis::share("accuracy").including([0.0, 1.0]),
    )
    .subtitle(format!("{} test objects, {} categories", found.splits.objects[2], found.categories))
    .series(found.probes.iter().flat_map(arms))
    .intervals(Intervals::Bands, "95 % over pictures")
}

fn concordances(found: &Reliability) -> Chart {
    let each = found
        .probes
        .iter()
        .flat_map(|probe| probe.concordance.iter().map(move |each| (probe.probe, each)));
    let rows = each.clone().map(|(probe, each)| Row {
        name: format!("{}, {}, {}", probe.name(), each.arm.name(), each.score.name()),
        note: format!("{}, {} pictures", words(&each.concordance), each.pictures),
    });
    // Rows name their scores, so colors repeat what is written and need no legend.
    let mut series: Vec<(Score, Series)> = Vec::new();
    for (index, (_, each)) in each.clone().enumerate() {
        let place = interval(&each.concordance).map(|x| Point::new(x, -(index as f64)));
        match series.iter_mut().find(|(score, _)| *score == each.score) {
            Some((_, series)) => series.points.extend(place),
            None => series.push((each.score, Series::markers("", place))),
        }
    }
    Chart::new(
        "Reliability: concordance with decoding",
        Axis::share("concordance (95 % over pictures)")
            .including([CHANCE - AROUND_CHANCE, CHANCE + AROUND_CHANCE]),
        Axis::rows(rows),
    )
    .subtitle("right-wrong pairs that the score orders rightly; dashed: chance")
    .series(series.into_iter().map(|(_, series)| series))
    .references([Reference::upright("", CHANCE)])
    .intervals(Intervals::Whiskers, "")
}

fn relevance(found: &Relevance) -> Chart {
    let deciles = found.deciles.iter().map(|bin| Point::new(bin.attention, bin.target));
    Chart::new(
        "Relevance: attention and box, by decile",
        Axis::share("mean share of the attention").including([0.0]),
        Axis::share("share of the box").including([0.0]),
    )
    .subtitle(format!("mean Spearman {}, {} queries", words(&found.rho), found.queries))
    .series([Series::curve("deciles of tokens", deciles).toned(Tone::Slot(0))])
    .references([Reference::diagonal("equal shares")])
}
