//! The checks as one picture.

use super::chart::{Frame, HEIGHT, Labels, WIDTH};
use super::{Arm, Diagnosis, Information, Measure, ProbeReport, Relevance, Reliability};
use crate::drawing::{Colour, Drawing, Place, Stroke};

/// Panels beside each other.
const COLUMNS: usize = 2;
const RADIUS: f64 = 3.5;
const SMALL: f64 = 1.8;
const COLOURS: [Colour; 6] = [
    Colour(31, 95, 168),
    Colour(200, 140, 20),
    Colour(20, 150, 165),
    Colour(200, 30, 40),
    Colour(125, 75, 170),
    Colour(40, 140, 60),
];
/// The level at which a concordance says nothing.
const CHANCE: f64 = 0.5;

type Panel<'a> = Box<dyn Fn(&mut Drawing, Place) + 'a>;

impl Diagnosis {
    /// A panel for every check that ran, two for the reliability.
    pub fn drawing(&self) -> Drawing {
        let mut panels: Vec<Panel<'_>> = Vec::new();
        if let Some(found) = &self.information {
            panels.push(Box::new(|drawing, corner| scatter(drawing, corner, found)));
        }
        if let Some(found) = &self.reliability {
            panels.push(Box::new(|drawing, corner| accuracies(drawing, corner, found)));
            panels.push(Box::new(|drawing, corner| concordances(drawing, corner, found)));
        }
        if let Some(found) = &self.relevance {
            panels.push(Box::new(|drawing, corner| calibration(drawing, corner, found)));
        }
        let columns = panels.len().clamp(1, COLUMNS);
        let rows = panels.len().div_ceil(columns).max(1);
        let mut drawing =
            Drawing::new((WIDTH * columns as f64) as u32, (HEIGHT * rows as f64) as u32);
        for (index, panel) in panels.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            panel(&mut drawing, (WIDTH * column as f64, HEIGHT * row as f64));
        }
        drawing
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

fn scatter(drawing: &mut Drawing, corner: Place, found: &Information) {
    let places: Vec<Place> = found.points.iter().map(|p| (p.entropy, p.norm)).collect();
    let frame = Frame::new(corner, &places);
    let rho = found.positions.first().map_or(String::new(), |first| words(&first.rho));
    let note = format!("Spearman {rho}, {} positions", places.len());
    let labels = Labels {
        title: "Information: label entropy and feature norm",
        note: &note,
        axes: ["entropy of labels at the position (nats)", "mean norm"],
    };
    frame.draw(drawing, &labels, true);
    for point in &found.points {
        let colour = COLOURS[point.bin % COLOURS.len()];
        drawing.disc(frame.at((point.entropy, point.norm)), SMALL, colour.paler(0.75));
    }
    if let Some(line) = trend(&places) {
        drawing.line(line.map(|place| frame.at(place)), Stroke::solid(Colour::GREY, 1.6));
    }
    if found.bins.len() > 1 {
        let name = |(index, bin): (usize, &super::InformationBin)| {
            (bin.layout.clone(), COLOURS[index % COLOURS.len()])
        };
        let names: Vec<_> = found.bins.iter().enumerate().take(COLOURS.len()).map(name).collect();
        frame.legend(drawing, &names);
    }
}

/// Ends of the least-squares line over the range of x.
fn trend(places: &[Place]) -> Option<[Place; 2]> {
    let count = places.len() as f64;
    let sum = |of: fn(&Place) -> f64| places.iter().map(of).sum::<f64>();
    let (mean_x, mean_y) = (sum(|p| p.0) / count, sum(|p| p.1) / count);
    let xy: f64 = places.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let xx: f64 = places.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let low = places.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let high = places.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let at = |x: f64| (x, mean_y + xy / xx * (x - mean_x));
    (xx > 0.0).then(|| [at(low), at(high)])
}

fn accuracies(drawing: &mut Drawing, corner: Place, found: &Reliability) {
    let curve = |probe: &ProbeReport, arm: Arm| -> Vec<(f64, Measure)> {
        let covered = probe.accuracy.iter().filter(|accuracy| accuracy.arm == arm);
        let covered = covered.map(|accuracy| (accuracy.strength as f64, accuracy.accuracy));
        std::iter::once((0.0, probe.clean)).chain(covered).collect()
    };
    let mut curves = Vec::new();
    for probe in &found.probes {
        for arm in Arm::ALL {
            let name = format!("{} covered, {} probe", arm.name(), probe.probe.name());
            curves.push((name, COLOURS[curves.len() % COLOURS.len()], curve(probe, arm)));
        }
    }
    // Room for the legend above.
    let mut places = vec![(0.0, 0.0), (100.0, 1.3)];
    places.extend(curves.iter().flat_map(|(_, _, curve)| line(curve)));
    let frame = Frame::new(corner, &places);
    let note = format!(
        "{} test objects, {} categories; bands: 95 % over pictures",
        found.splits.objects[2], found.categories
    );
    let labels = Labels {
        title: "Reliability: accuracy of probes under masking",
        note: &note,
        axes: ["covered, percent of the region", "accuracy"],
    };
    frame.draw(drawing, &labels, true);
    for (_, colour, curve) in &curves {
        let edge = |of: fn(&Measure) -> Option<f64>| {
            let places = curve.iter().filter_map(move |(x, m)| Some((*x, of(m)?)));
            places.map(|place| frame.at(place)).collect::<Vec<Place>>()
        };
        let band = edge(|m| m.high).into_iter().chain(edge(|m| m.low).into_iter().rev());
        drawing.area(band.collect::<Vec<Place>>(), *colour, 0.12);
        let places: Vec<Place> = line(curve).into_iter().map(|place| frame.at(place)).collect();
        places.iter().for_each(|&place| drawing.disc(place, RADIUS, *colour));
        drawing.line(places, Stroke::solid(*colour, 1.6));
    }
    let names: Vec<_> = curves.into_iter().map(|(name, colour, _)| (name, colour)).collect();
    frame.legend(drawing, &names);
}

/// The values of a curve that there are.
fn line(curve: &[(f64, Measure)]) -> Vec<Place> {
    curve.iter().filter_map(|(x, measure)| Some((*x, measure.value?))).collect()
}

fn concordances(drawing: &mut Drawing, corner: Place, found: &Reliability) {
    let rows: Vec<_> = found
        .probes
        .iter()
        .flat_map(|probe| probe.concordance.iter().map(move |each| (probe.probe, each)))
        .collect();
    let mut places = vec![(CHANCE - 0.15, 0.4), (CHANCE + 0.15, rows.len() as f64 - 0.8)];
    for (_, each) in &rows {
        let Measure { value, low, high } = each.concordance;
        places.extend([value, low, high].into_iter().flatten().map(|x| (x, 0.0)));
    }
    let frame = Frame::new(corner, &places);
    let labels = Labels {
        title: "Reliability: concordance with decoding",
        note: "right-wrong pairs that the score orders rightly; dashed: chance",
        axes: ["concordance (95 % over pictures)", ""],
    };
    frame.draw(drawing, &labels, false);
    frame.upright(drawing, CHANCE);
    for (index, (probe, each)) in rows.iter().enumerate() {
        let y = (rows.len() - 1 - index) as f64;
        let text = format!(
            "{}, {}, {}: {}, {} pictures",
            probe.name(),
            each.arm.name(),
            each.score.name(),
            words(&each.concordance),
            each.pictures
        );
        frame.name(drawing, y, &text);
        let colour = COLOURS[index % Arm::ALL.len() * 3];
        if let (Some(low), Some(high)) = (each.concordance.low, each.concordance.high) {
            frame.whisker(drawing, (low, high), y, colour);
        }
        if let Some(value) = each.concordance.value {
            drawing.disc(frame.at((value, y)), RADIUS, colour);
        }
    }
}

fn calibration(drawing: &mut Drawing, corner: Place, found: &Relevance) {
    let bins: Vec<Place> = found.deciles.iter().map(|bin| (bin.attention, bin.target)).collect();
    let mut places = bins.clone();
    places.push((0.0, 0.0));
    let frame = Frame::new(corner, &places);
    let note = format!(
        "mean Spearman {}, {} queries; dashed: equal shares",
        words(&found.rho),
        found.queries
    );
    let labels = Labels {
        title: "Relevance: attention and box, by decile",
        note: &note,
        axes: ["mean share of the attention", "share of the box"],
    };
    frame.draw(drawing, &labels, true);
    let most = |of: fn(&Place) -> f64| places.iter().map(of).fold(0.0, f64::max);
    let high = most(|place| place.0).min(most(|place| place.1));
    let diagonal = [frame.at((0.0, 0.0)), frame.at((high, high))];
    drawing.line(diagonal, Stroke::dashed(Colour::GREY, 1.2));
    let places: Vec<Place> = bins.into_iter().map(|place| frame.at(place)).collect();
    places.iter().for_each(|&place| drawing.disc(place, RADIUS, COLOURS[0]));
    drawing.line(places, Stroke::solid(COLOURS[0], 1.6));
}
