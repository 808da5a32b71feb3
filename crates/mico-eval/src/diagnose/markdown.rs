//! The checks as text.

use std::fmt::Write as _;

use mico_util::text::printable;

use super::{DamagedImage, Diagnosis, Information, Measure, Relevance, Reliability};

/// Damaged pictures that are named; the JSON has all.
const NAMED: usize = 10;

impl Diagnosis {
    /// Tables of every check that ran.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.source);
        if let Some(found) = &self.information {
            information(&mut text, found);
        }
        if let Some(found) = &self.reliability {
            reliability(&mut text, found);
        }
        if let Some(found) = &self.relevance {
            relevance(&mut text, found);
        }
        // Names of pictures, classes and folders are their files' own.
        printable(&text)
    }
}

/// A number with its interval.
fn shown(measure: &Measure) -> String {
    match (measure.value, measure.low, measure.high) {
        (Some(value), Some(low), Some(high)) => format!("{value:.4} ({low:.4} to {high:.4})"),
        (Some(value), ..) => format!("{value:.4}"),
        _ => "undefined".into(),
    }
}

/// What an interval says about a value that would mean nothing.
fn verdict(measure: &Measure, nothing: f64) -> &'static str {
    match measure.value {
        None => "undefined",
        Some(value) if measure.excludes(nothing) && value > nothing => "above",
        Some(_) if measure.excludes(nothing) => "below",
        Some(_) => "not told apart",
    }
}

fn information(text: &mut String, found: &Information) {
    let [a, b] = found.pictures;
    let _ = writeln!(
        text,
        "\n## Information amount\n\nEntropy of {} classes in {a} pictures (A) against the mean feature norm in {b} others (B), by position.\n\n| positions | n | Spearman (95 %) | against 0 |\n|---|---:|---:|---|",
        found.classes
    );
    for each in &found.positions {
        let (rho, said) = (shown(&each.rho), verdict(&each.rho, 0.0));
        let _ = writeln!(text, "| {} | {} | {rho} | {said} |", each.trim, each.n);
    }
    let _ = writeln!(
        text,
        "\nWith B alone drawn again: {}. Each token of B by itself: {} (n = {}).",
        shown(&found.norms_alone),
        shown(&found.tokens.rho),
        found.tokens.n
    );
    if found.bins.len() > 1 {
        text.push_str("\n| layout | pictures A | pictures B | positions | Spearman |\n|---|---:|---:|---:|---:|\n");
        for bin in &found.bins {
            let rho = bin.rho.map_or("undefined".into(), |rho| format!("{rho:.4}"));
            let [a, b] = bin.pictures;
            let _ = writeln!(text, "| {} | {a} | {b} | {} | {rho} |", bin.layout, bin.positions);
        }
    }
    damaged(text, &found.damaged);
}

fn reliability(text: &mut String, found: &Reliability) {
    let ([a, b, c], [d, e, f]) = (found.splits.pictures, found.splits.objects);
    let _ = writeln!(
        text,
        "\n## Reliability\n\n{} categories; {d} objects of {a} pictures to train on, {e} of {b} to validate, {f} of {c} to test. Signal: {}.\n\n| probe | arm | nothing | 25 % | 50 % | 75 % | 100 % |\n|---|---|---:|---:|---:|---:|---:|",
        found.categories, found.signal
    );
    let percent = |measure: &Measure| {
        measure.value.map_or("undefined".into(), |value| format!("{:.1}", 100.0 * value))
    };
    for probe in &found.probes {
        for accuracies in probe.accuracy.chunk_by(|a, b| a.arm == b.arm) {
            let arm = accuracies.first().map_or("", |first| first.arm.name());
            let cells: Vec<String> =
                accuracies.iter().map(|each| percent(&each.accuracy)).collect();
            let (name, clean) = (probe.probe.name(), percent(&probe.clean));
            let _ = writeln!(text, "| {name} | {arm} | {clean} | {} |", cells.join(" | "));
        }
    }
    text.push_str("\n(accuracy in %)\n\n| probe | arm | score | concordance (95 %) | against 0.5 | pictures | strata defined / not |\n|---|---|---|---:|---|---:|---:|\n");
    for probe in &found.probes {
        for each in &probe.concordance {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} / {} |",
                probe.probe.name(),
                each.arm.name(),
                each.score.name(),
                shown(&each.concordance),
                verdict(&each.concordance, 0.5),
                each.pictures,
                each.defined,
                each.undefined
            );
        }
    }
    let _ = writeln!(
        text,
        "\nLeft out: {} for categories without a training object, {} strengths without room beside the box.",
        found.unseen, found.no_room
    );
    damaged(text, &found.damaged);
}

fn relevance(text: &mut String, found: &Relevance) {
    let block = found.block.map_or("no block".into(), |block| format!("block {block}"));
    let _ = writeln!(
        text,
        "\n## Relevance\n\nT={}, attention at {block} over {:.1} tokens that Stage 1 left.\n\nMean Spearman of {} queries about {} pictures: {}, against 0: {}; above 0 for {:.1} % of them.",
        found.budget,
        found.survivors,
        found.queries,
        found.pictures,
        shown(&found.rho),
        verdict(&found.rho, 0.0),
        100.0 * found.positive.unwrap_or(0.0)
    );
    let undefined = found.undefined;
    let _ = writeln!(
        text,
        "Undefined: {} without overlap, {} constant, {} not pruned.",
        undefined.no_overlap, undefined.constant, undefined.not_pruned
    );
    text.push_str("\n| decile of attention | tokens | share of attention | share of the box |\n|---:|---:|---:|---:|\n");
    for (index, bin) in found.deciles.iter().enumerate() {
        let (number, tokens) = (index + 1, bin.tokens);
        let _ =
            writeln!(text, "| {number} | {tokens} | {:.5} | {:.5} |", bin.attention, bin.target);
    }
    damaged(text, &found.damaged);
}

fn damaged(text: &mut String, damaged: &[DamagedImage]) {
    if damaged.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{} left out as damaged:\n", damaged.len());
    for DamagedImage { picture, reason } in damaged.iter().take(NAMED) {
        let _ = writeln!(text, "* {picture}: {reason}");
    }
    if damaged.len() > NAMED {
        let _ = writeln!(text, "* and {} more", damaged.len() - NAMED);
    }
}
