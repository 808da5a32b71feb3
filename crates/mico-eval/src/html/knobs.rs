//! Values against what settings differ in: the budget, the refinement block, the pool.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mico_engine::Setting;
use mico_engine::pruner::PruningSpec;
use mico_select::schedule::Budget;

use super::RunReport;
use super::charts::{Curves, references};
use crate::condition::{Condition, differing_words, pool};
use crate::summary::Row;

/// What the name of a Stage-1-only method ends with.
const STAGE1: &str = "-s1";

/// Values over the budget, a curve for each method.
pub(super) fn budgets(run: &RunReport<'_>) -> String {
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
pub(super) fn layers(run: &RunReport<'_>) -> String {
    let place = |pruning: &PruningSpec| pruning.refine_layer;
    let others = |pruning: &mut PruningSpec| pruning.refine_layer = None;
    curves_along(run, "refinement after block K", place, others)
}

/// Values over the pool, a curve for each budget.
pub(super) fn pools(run: &RunReport<'_>) -> String {
    let place = |pruning: &PruningSpec| Some(pool(pruning));
    let others = |pruning: &mut PruningSpec| pruning.pool = Some(0);
    curves_along(run, "Stage-1 pool as a multiple n of the budget", place, others)
}

/// Settings that are the same but for where they stand on the axis.
struct Family<'a> {
    /// Any of them, without its place.
    common: Setting,
    pruning: PruningSpec,
    rows: Vec<(usize, &'a Row)>,
}

fn curves_along(
    run: &RunReport<'_>,
    axis: &'static str,
    place: impl Fn(&PruningSpec) -> Option<usize>,
    others: impl Fn(&mut PruningSpec),
) -> String {
    let mut families: Vec<Family<'_>> = Vec::new();
    let rows = run.rows();
    for (condition, row) in &rows {
        let Some(mut pruning) = condition.pruning().cloned() else { continue };
        let Some(at) = place(&pruning) else { continue };
        pruning.pool = Some(pool(&pruning));
        others(&mut pruning);
        let common = condition.setting.with_pruning(Some(pruning.clone()));
        match families.iter_mut().find(|family| family.common == common) {
            Some(family) => family.rows.push((at, row)),
            None => families.push(Family { common, pruning, rows: vec![(at, row)] }),
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
    let levels = references(run);
    let (lines, levels) = named(&rows, families, levels);
    Curves { axis, doubling: false, lines, levels }.html(run)
}

type Lines<'a> = Vec<(String, Vec<(usize, &'a Row)>)>;
type Levels<'a> = Vec<(String, &'a Row, Option<usize>)>;

/// The curves under names in which only what differs between them is said, with their Stage 1 alone.
fn named<'a>(
    rows: &[(&Condition, &'a Row)],
    families: Vec<Family<'a>>,
    mut levels: Levels<'a>,
) -> (Lines<'a>, Levels<'a>) {
    let methods: BTreeSet<String> =
        families.iter().map(|family| family.pruning.method.to_string()).collect();
    let pools: BTreeSet<usize> = families.iter().map(|family| pool(&family.pruning)).collect();
    let unpruned = rows.iter().find(|(condition, _)| condition.is_unpruned());
    let base = unpruned.map(|(condition, _)| condition.setting.clone()).unwrap_or_default();
    let mut lines = Vec::new();
    for (index, family) in families.into_iter().enumerate() {
        let pruning = &family.pruning;
        let method = pruning.method.to_string();
        let budget = budget(pruning);
        let mut name = budget.clone();
        if methods.len() > 1 {
            name = format!("{method} {name}");
        }
        if let Some(layer) = pruning.refine_layer {
            let _ = write!(name, " K={layer}");
        }
        if pools.len() > 1 {
            let _ = write!(name, " n={}", pool(pruning));
        }
        let words = differing_words(&family.common, &base);
        if !words.is_empty() {
            let _ = write!(name, " {words}");
        }
        if let Some(row) = stage1(rows, pruning) {
            let of = if methods.len() > 1 { format!("{method} ") } else { String::new() };
            levels.push((format!("{of}Stage 1 alone, {budget}"), row, Some(index)));
        }
        lines.push((name, family.rows));
    }
    (lines, levels)
}

fn budget(pruning: &PruningSpec) -> String {
    match pruning.budget {
        Budget::Tokens(tokens) => format!("T={tokens}"),
        Budget::Share(share) => format!("keep={share}"),
    }
}

/// The same method at the same budget without refinement.
fn stage1<'a>(rows: &[(&Condition, &'a Row)], of: &PruningSpec) -> Option<&'a Row> {
    let wanted = format!("{}{STAGE1}", of.method.name());
    let own = |condition: &Condition| {
        condition.pruning().is_some_and(|pruning| {
            pruning.method.to_string() == wanted && pruning.budget == of.budget
        })
    };
    rows.iter().find(|(condition, _)| own(condition)).map(|(_, row)| *row)
}
