//! A sweep of the refinement block as a picture.

use mico_chart::{Axis, Chart, Drawing, Intervals, Point, Reference, Series, Tone, grid};

use super::{Calibration, Candidate};
use crate::summary::Estimate;

const SIZE: (u32, u32) = (720, 300);

impl Calibration {
    /// Accuracy and ΔKL over the refinement block, one above the other.
    pub fn drawing(&self) -> Drawing {
        let charts = [
            self.chart("Acc (%)", |each| each.acc),
            self.chart("ΔKL to Stage 1 alone (nats, lower is better)", |each| each.delta_kl),
        ];
        grid(&charts, 1)
    }

    fn chart(&self, title: &str, of: fn(&Candidate) -> Estimate) -> Chart {
        let feasible =
            self.candidates.iter().filter_map(|each| Some((each.refine_layer?, of(each))));
        let points = feasible.map(|(layer, value)| (layer, Point::new(layer as f64, value)));
        let points: Vec<(usize, Point)> = points.collect();
        let best = points.iter().find(|(layer, _)| *layer == self.best);
        let star = best.map(|(layer, point)| {
            Series::star(format!("chosen: K = {layer}"), point.clone()).toned(Tone::Slot(0))
        });
        let curve = Series::curve("both stages", points.into_iter().map(|(_, point)| point));
        let title = format!("{title}, T={}, {} items", self.tokens, self.items);
        Chart::new(title, Axis::new("refinement after block K").ticks_at_points(), Axis::new(""))
            .series(std::iter::once(curve).chain(star))
            .references([Reference::level("Stage 1 alone", of(&self.stage1_only).value)])
            .intervals(Intervals::Bands, "95 % interval")
            .sized(SIZE.0, SIZE.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_charts_show_the_sweep_and_the_choice() {
        let estimate = |value: f64| Estimate { value, low: value - 1.0, high: value + 1.0 };
        let candidate = |layer: Option<usize>, acc: f64| Candidate {
            refine_layer: layer,
            layer_average: 64.0,
            acc: estimate(acc),
            kl: 0.1,
            delta_kl: estimate(f64::NAN),
        };
        let mut found = Calibration {
            suite: "a < b".into(),
            items: 9,
            failed: Vec::new(),
            tokens: 64,
            unpruned: estimate(90.0),
            // Stage 1 alone is what the difference is to.
            stage1_only: Candidate { delta_kl: estimate(0.0), ..candidate(None, 60.0) },
            candidates: vec![candidate(Some(1), 50.0), candidate(Some(2), 80.0)],
            refused: Vec::new(),
            best: 2,
            ties: vec![2],
            kl_is: "",
        };
        let text = found.drawing().svg();
        assert_eq!(text.matches(">chosen: K = 2<").count(), 2);
        assert_eq!(text.matches(">Stage 1 alone<").count(), 2, "{text}");
        assert!(text.contains("T=64, 9 items") && !text.contains("NaN"), "{text}");
        found.candidates.clear();
        assert!(found.drawing().svg().contains("</svg>"));
    }
}
