//! HallusionBench: accuracy over questions, over figures and over question groups.

use std::collections::BTreeMap;

use super::percent;

/// Where a question belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The sub-category, like `VD_illusion`.
    pub category: String,
    /// The set, the figure and the question, as written.
    pub set: String,
    /// The figure.
    pub figure: String,
    /// The question.
    pub question: String,
}

impl Place {
    /// Reads an index of six fields joined by `_`; the sub-category is in it unless it is given.
    pub fn of(index: &str, category: Option<&str>) -> Option<Self> {
        let fields: Vec<&str> = index.split('_').collect();
        let [_, first, second, set, figure, question, ..] = fields[..] else { return None };
        let category = category.map_or_else(|| format!("{first}_{second}"), str::to_owned);
        let [set, figure, question] = [set, figure, question].map(str::to_owned);
        Some(Self { category, set, figure, question })
    }
}

/// The three accuracies in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    /// Over questions.
    pub all: f64,
    /// Over figures with every question right.
    pub figure: f64,
    /// Over question groups with every figure right.
    pub question: f64,
}

impl Accuracies {
    /// What is reported.
    pub fn mean(&self) -> f64 {
        (self.all + self.figure + self.question) / 3.0
    }
}

/// Counts judged questions.
pub fn accuracies(rows: &[(Place, bool)]) -> Accuracies {
    let share = |groups: BTreeMap<(&str, &str, &str), bool>| {
        percent(groups.values().filter(|right| **right).count(), groups.len())
    };
    let mut figures = BTreeMap::new();
    let mut questions = BTreeMap::new();
    for (place, right) in rows {
        let (category, set) = (place.category.as_str(), place.set.as_str());
        *figures.entry((category, set, place.figure.as_str())).or_insert(true) &= right;
        *questions.entry((category, set, place.question.as_str())).or_insert(true) &= right;
    }
    let all = percent(rows.iter().filter(|(_, right)| *right).count(), rows.len());
    Accuracies { all, figure: share(figures), question: share(questions) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_questions_want_every_row_right() {
        let row = |index, right| (Place::of(index, None).unwrap(), right);
        let rows = [
            row("x_VD_illusion_0_0_0", true),
            row("x_VD_illusion_0_0_1", true),
            row("x_VD_illusion_0_1_0", true),
            row("x_VD_illusion_0_1_1", false),
        ];
        let got = accuracies(&rows);
        assert_eq!((got.all, got.figure, got.question), (75.0, 50.0, 50.0));
        assert!((got.mean() - 58.333_333).abs() < 1e-5);
        assert_eq!(Place::of("a_b_c_0_1", None), None);
    }
}
