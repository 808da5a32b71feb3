//! What could be scored without looking, on the generated scenes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Column;
use crate::scorer::Scorer;
use crate::scoring::Scoring;

/// What the most frequent answer to each form of question would get right, in percent.
pub(super) fn of(column: &Column) -> Option<(String, f64)> {
    let Scoring::Scenes { scorer } = column.spec.scoring else { return None };
    let mut forms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in &column.items {
        let text = |name: &str| item.fields.get(name).and_then(Value::as_str).unwrap_or_default();
        forms.entry(text("form")).or_default().push(text("answer"));
    }
    let right: usize = forms.values().map(|golds| best_constant(scorer, golds)).sum();
    let share = 100.0 * right as f64 / column.items.len().max(1) as f64;
    Some((column.spec.name.clone(), share))
}

/// How often the answer that is right most often is right; of equals the first in the alphabet.
fn best_constant(scorer: Scorer, golds: &[&str]) -> usize {
    let hits = |said: &str| golds.iter().filter(|gold| scorer.right(said, gold)).count();
    let best = golds.iter().copied().max_by_key(|said| (hits(said), Reverse(*said)));
    best.map_or(0, hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_best_constant() {
        assert_eq!(best_constant(Scorer::Exact, &["yes", "no", "no", "no"]), 3);
        assert_eq!(best_constant(Scorer::Cell, &["1 1", "2 2", "3 3", "9 9"]), 3);
        assert_eq!(best_constant(Scorer::Exact, &[]), 0);
    }
}
