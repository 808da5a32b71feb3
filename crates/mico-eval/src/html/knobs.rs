//! Values against what settings differ in: the budget, the refinement block, the pool.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Told;
use super::charts::{Curves, references};
use crate::setting::{Pruned, Setting};
use crate::summary::Row;

/// What the name of a Stage-1-only method ends with.
const STAGE1: &str = "-s1";

/// Values over the budget, a curve for each method.
pub(super) fn budgets(run: &Told<'_>) -> String {
    let mut lines: Vec<(String, Vec<(usize, &Row)>)> = Vec::new();
    for (setting, row) in run.rows() {
        let Some(tokens) = setting.tokens() else { continue };
        match lines.iter_mut().find(|(name, _)| *name == row.setting) {
            Some((_, rows)) => rows.push((tokens, row)),
            None => lines.push((row.setting.clone(), vec![(tokens, row)])),
        }
    }
    for (_, rows) in &mut lines {
        rows.sort_by_key(|(tokens, _)| *tokens);
        rows.dedup_by_key(|(tokens, _)| *tokens);
    }
    // A method that met one budget alone is a point, not a curve.
    if lines.iter().all(|(_, rows)| rows.len() < 2) {
        return String::new();
    }
    let axis = "budget T (visual tokens, averaged over the blocks)";
    Curves { axis, doubling: true, lines, levels: references(run) }.html(run)
}

/// Values over the refinement block, a curve for each budget.
pub(super) fn layers(run: &Told<'_>) -> String {
    let place = |pruned: &Pruned| pruned.refine_layer;
    let others = |pruned: &mut Pruned| pruned.refine_layer = None;
    along(run, "refinement after block K", place, others)
}

/// Values over the pool, a curve for each budget.
pub(super) fn pools(run: &Told<'_>) -> String {
    let place = |pruned: &Pruned| Some(pruned.pool);
    let others = |pruned: &mut Pruned| pruned.pool = 0;
    along(run, "Stage-1 pool as a multiple n of the budget", place, others)
}

/// Settings that are the same but for where they stand on the axis.
struct Family<'a> {
    /// Any of them, without its place and label.
    common: Pruned,
    rows: Vec<(usize, &'a Row)>,
}

fn along(
    run: &Told<'_>,
    axis: &'static str,
    place: impl Fn(&Pruned) -> Option<usize>,
    others: impl Fn(&mut Pruned),
) -> String {
    let mut families: Vec<Family<'_>> = Vec::new();
    let rows = run.rows();
    for (setting, row) in &rows {
        let Setting::Pruned(pruned) = setting else { continue };
        let Some(at) = place(pruned) else { continue };
        let mut common = Pruned { label: None, ..pruned.clone() };
        others(&mut common);
        match families.iter_mut().find(|family| family.common == common) {
            Some(family) => family.rows.push((at, row)),
            None => families.push(Family { common, rows: vec![(at, row)] }),
        }
    }
    families.retain_mut(|family| {
        family.rows.sort_by_key(|(at, _)| *at);
        family.rows.dedup_by_key(|(at, _)| *at);
        family.rows.len() > 1
    });
    if families.is_empty() {
        return String::new();
    }
    // Only what differs between curves is in their names.
    let methods: BTreeSet<&str> =
        families.iter().map(|family| family.common.method.as_str()).collect();
    let pools: BTreeSet<usize> = families.iter().map(|family| family.common.pool).collect();
    let mut levels = references(run);
    let mut lines = Vec::new();
    for (index, family) in families.iter().enumerate() {
        let Pruned { method, tokens, refine_layer, pool, switches, .. } = &family.common;
        let mut name = format!("T={tokens}");
        if methods.len() > 1 {
            name = format!("{method} {name}");
        }
        if let Some(layer) = refine_layer {
            let _ = write!(name, " K={layer}");
        }
        if pools.len() > 1 {
            let _ = write!(name, " n={pool}");
        }
        if !switches.is_empty() {
            let _ = write!(name, " {switches}");
        }
        if let Some(row) = stage1(&rows, &family.common) {
            let of = if methods.len() > 1 { format!("{method} ") } else { String::new() };
            levels.push((format!("{of}Stage 1 alone, T={tokens}"), row, Some(index)));
        }
        lines.push((name, family.rows.clone()));
    }
    Curves { axis, doubling: false, lines, levels }.html(run)
}

/// The same method at the same budget without refinement.
fn stage1<'a>(rows: &[(&Setting, &'a Row)], of: &Pruned) -> Option<&'a Row> {
    let name = of.method.split(':').next().unwrap_or_default();
    let wanted = format!("{name}{STAGE1}");
    let own = |setting: &Setting| match setting {
        Setting::Pruned(pruned) => pruned.method == wanted && pruned.tokens == of.tokens,
        _ => false,
    };
    rows.iter().find(|(setting, _)| own(setting)).map(|(_, row)| *row)
}
