//! POPE: the confusion counts of yes/no answers, and precision, recall and F1 from them.

use super::percent;

/// Confusion counts, with `yes` as the positive class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The model answered yes and the gold is yes.
    pub true_positive: usize,
    /// The model answered yes but the gold is no.
    pub false_positive: usize,
    /// The model did not answer yes and the gold is no.
    pub true_negative: usize,
    /// The model did not answer yes but the gold is yes.
    pub false_negative: usize,
}

impl Counts {
    /// Adds one answer to the counts.
    pub fn add(&mut self, said_yes: bool, is_yes: bool) {
        let place = match (said_yes, is_yes) {
            (true, true) => &mut self.true_positive,
            (true, false) => &mut self.false_positive,
            (false, false) => &mut self.true_negative,
            (false, true) => &mut self.false_negative,
        };
        *place += 1;
    }

    /// The number of answers counted.
    pub fn total(&self) -> usize {
        self.true_positive + self.false_positive + self.true_negative + self.false_negative
    }

    /// The share of yes answers that are right, from 0 to 1; 0 if there is no yes answer.
    pub fn precision(&self) -> f64 {
        percent(self.true_positive, self.true_positive + self.false_positive) / 100.0
    }

    /// The share of yes golds that were answered yes, from 0 to 1; 0 if there is no yes gold.
    pub fn recall(&self) -> f64 {
        percent(self.true_positive, self.true_positive + self.false_negative) / 100.0
    }

    /// The harmonic mean of precision and recall, from 0 to 1; 0 if both are 0.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        }
    }

    /// The share of right answers, from 0 to 1.
    pub fn accuracy(&self) -> f64 {
        percent(self.true_positive + self.true_negative, self.total()) / 100.0
    }

    /// The share of answers that are yes, from 0 to 1.
    pub fn yes_ratio(&self) -> f64 {
        percent(self.true_positive + self.false_positive, self.total()) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn nothing_called_yes_is_zero_and_not_a_fault() {
        let mut counts = Counts::default();
        counts.add(false, true);
        counts.add(false, false);
        assert_eq!((counts.precision(), counts.recall(), counts.f1()), (0.0, 0.0, 0.0));
        assert_eq!((counts.accuracy(), counts.yes_ratio()), (0.5, 0.0));
        assert_eq!(Counts::default().accuracy(), 0.0);
    }
}
