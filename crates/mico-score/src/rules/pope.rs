//! POPE: counts of yes and no.

use super::percent;

/// How answers and labels meet, `yes` positive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Said yes, is yes.
    pub true_positive: usize,
    /// Said yes, is no.
    pub false_positive: usize,
    /// Did not say yes, is no.
    pub true_negative: usize,
    /// Did not say yes, is yes.
    pub false_negative: usize,
}

impl Counts {
    /// Counts one answer.
    pub fn add(&mut self, said_yes: bool, is_yes: bool) {
        let place = match (said_yes, is_yes) {
            (true, true) => &mut self.true_positive,
            (true, false) => &mut self.false_positive,
            (false, false) => &mut self.true_negative,
            (false, true) => &mut self.false_negative,
        };
        *place += 1;
    }

    /// All answers.
    pub fn total(&self) -> usize {
        self.true_positive + self.false_positive + self.true_negative + self.false_negative
    }

    /// Of those called yes, the share that is; 0 if nothing was.
    pub fn precision(&self) -> f64 {
        percent(self.true_positive, self.true_positive + self.false_positive) / 100.0
    }

    /// Of those that are yes, the share called so.
    pub fn recall(&self) -> f64 {
        percent(self.true_positive, self.true_positive + self.false_negative) / 100.0
    }

    /// The harmonic mean of both; 0 if both are.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        }
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> f64 {
        percent(self.true_positive + self.true_negative, self.total()) / 100.0
    }

    /// The share of yes among the answers.
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
