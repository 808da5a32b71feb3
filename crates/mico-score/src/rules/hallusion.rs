//! HallusionBench: accuracy over questions, over figures and over question groups.

use std::collections::BTreeMap;

use super::percent;

/// The identifiers by which a HallusionBench question is grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The sub-category of the question, such as `VD_illusion`.
    pub category: String,
    /// The id of the question set; ids are compared as text.
    pub set: String,
    /// The id of the figure within its set.
    pub figure: String,
    /// The id of the question within its set; several figures share one question.
    pub question: String,
}

impl Place {
    /// Parses an index of six fields joined by `_`; `None` if it has fewer. The sub-category is
    /// read from the index unless it is given.
    pub fn of(index: &str, category: Option<&str>) -> Option<Self> {
        let fields: Vec<&str> = index.split('_').collect();
        let [_, first, second, set, figure, question, ..] = fields[..] else { return None };
        let category = category.map_or_else(|| format!("{first}_{second}"), str::to_owned);
        let [set, figure, question] = [set, figure, question].map(str::to_owned);
        Some(Self { category, set, figure, question })
    }
}

/// HallusionBench's three accuracies, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    /// aAcc: the share of single questions that are right.
    pub all: f64,
    /// fAcc: the share of figures with every question right.
    pub figure: f64,
    /// qAcc: the share of questions that are right for every figure of their set.
    pub question: f64,
}

impl Accuracies {
    /// The mean of the three, which the tables report.
    pub fn mean(&self) -> f64 {
        (self.all + self.figure + self.question) / 3.0
    }
}

/// Computes the three accuracies from questions marked right or wrong.
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
