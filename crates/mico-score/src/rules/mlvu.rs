//! MLVU's multiple-choice tasks: lmms-eval's parsers and the mean over tasks.

use std::collections::BTreeMap;

use super::{mcq, percent};
use crate::text::strip;

/// The seven multiple-choice tasks of the development set.
pub const TASKS: [&str; 7] =
    ["anomaly_reco", "count", "ego", "needle", "order", "plotQA", "topic_reasoning"];

/// The letter by the parser in use since April 2026; empty if there is none.
pub fn current(prediction: &str) -> String {
    mcq::extract(prediction, &['A', 'B', 'C', 'D']).map_or_else(String::new, String::from)
}

/// The parser of March 2025 to April 2026: the character before the first `)`, or the whole text.
pub fn legacy(prediction: &str) -> String {
    let text = strip(prediction);
    match text.split_once(')') {
        Some((before, _)) => before.chars().next_back().map_or_else(String::new, String::from),
        None => text.to_owned(),
    }
}

/// The mean of the seven task accuracies in percent; a task without questions counts as 0.
pub fn macro_percent<'a>(rows: impl IntoIterator<Item = (&'a str, bool)>) -> f64 {
    let mut tasks: BTreeMap<&str, (usize, usize)> = TASKS.map(|task| (task, (0, 0))).into();
    for (task, right) in rows {
        if let Some((rights, all)) = tasks.get_mut(task) {
            *rights += usize::from(right);
            *all += 1;
        }
    }
    tasks.values().map(|(right, all)| percent(*right, *all)).sum::<f64>() / TASKS.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings() {
        assert_eq!((current("B) the kitchen"), legacy("B) the kitchen")), ("B".into(), "B".into()));
        assert_eq!(
            (current("B. the kitchen"), legacy("B. the kitchen")),
            ("B".into(), "B. the kitchen".into())
        );
        assert_eq!(legacy(") x"), "");
    }

    #[test]
    fn empty_tasks_pull_down() {
        assert!((macro_percent([("ego", true), ("unheard_of", true)]) - 100.0 / 7.0).abs() < 1e-12);
    }
}
