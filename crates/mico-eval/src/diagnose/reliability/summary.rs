//! From trials to accuracies and concordances.

use super::trials::{ObjectTrials, Stratum, Trial};
use super::{Accuracy, Arm, Concordance, HEADS, HeadReport, Heads, ProbeReport, STRENGTHS, Score};
use crate::diagnose::measure::Measure;
use crate::diagnose::probe::ProbeKind;
use crate::stats::concordance;

/// A report of each kind of probe.
pub(super) fn probes(heads: &Heads, tested: &[ObjectTrials]) -> Vec<ProbeReport> {
    let report = |(index, probe): (usize, ProbeKind)| {
        let own = index * HEADS.len()..(index + 1) * HEADS.len();
        let trained = HEADS.into_iter().zip(&heads.trained[own.clone()]);
        let head = |(seed, trained): (u64, &crate::diagnose::probe::TrainedProbe)| HeadReport {
            seed,
            epoch: trained.epoch,
            training: trained.accuracy[0],
            validation: trained.accuracy[1],
        };
        let clean: Vec<(f64, f64)> = tested
            .iter()
            .map(|each| mean(own.clone().map(|head| f64::from(each.clean[head]))))
            .collect();
        let arms = Arm::ALL.into_iter();
        let accuracy = arms.clone().flat_map(|arm| STRENGTHS.map(|strength| (arm, strength)));
        let scores = arms.flat_map(|arm| Score::ALL.map(|score| (arm, score)));
        let own: Vec<usize> = own.collect();
        ProbeReport {
            probe,
            heads: trained.map(head).collect(),
            clean: Measure::mean(&clean),
            accuracy: accuracy
                .map(|(arm, strength)| accurate(tested, &own, arm, strength))
                .collect(),
            concordance: scores.map(|(arm, score)| concordant(tested, &own, arm, score)).collect(),
        }
    };
    ProbeKind::ALL.into_iter().enumerate().map(report).collect()
}

/// A picture's mean with weight 1; nothing with weight 0.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { (sum / count, 1.0) } else { (0.0, 0.0) }
}

fn accurate(tested: &[ObjectTrials], heads: &[usize], arm: Arm, strength: usize) -> Accuracy {
    let of = |each: &ObjectTrials| {
        let strata = each.strata.iter().filter(|s| s.arm == arm && s.strength == strength);
        let trials = strata.flat_map(|stratum| &stratum.trials);
        mean(trials.flat_map(|trial| heads.iter().map(|&head| f64::from(trial.right[head]))))
    };
    let pictures: Vec<(f64, f64)> = tested.iter().map(of).collect();
    Accuracy { arm, strength, accuracy: Measure::mean(&pictures) }
}

/// Mean over heads, then strengths, then pictures, of what is defined.
fn concordant(tested: &[ObjectTrials], heads: &[usize], arm: Arm, score: Score) -> Concordance {
    let (mut defined, mut undefined) = (0, 0);
    let mut pictures = Vec::with_capacity(tested.len());
    for each in tested {
        let mut strengths = Vec::new();
        for stratum in each.strata.iter().filter(|stratum| stratum.arm == arm) {
            let found: Vec<f64> =
                heads.iter().filter_map(|&head| of_stratum(stratum, head, score)).collect();
            defined += found.len();
            undefined += heads.len() - found.len();
            strengths.push(mean(found.into_iter()));
        }
        let informative = strengths.into_iter().filter(|found| found.1 > 0.0);
        pictures.push(mean(informative.map(|found| found.0)));
    }
    Concordance {
        arm,
        score,
        concordance: Measure::mean(&pictures),
        pictures: pictures.iter().filter(|found| found.1 > 0.0).count(),
        defined,
        undefined,
    }
}

fn of_stratum(stratum: &Stratum, head: usize, score: Score) -> Option<f64> {
    let scored = |trial: &Trial| {
        let value = match score {
            Score::Attention => trial.attention,
            Score::Norm => trial.norm,
        };
        (value, trial.right[head])
    };
    let (scores, right): (Vec<f64>, Vec<bool>) = stratum.trials.iter().map(scored).unzip();
    concordance(&scores, &right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::reliability::trials::ALL_HEADS;

    fn stratum(strength: usize, trials: &[(f64, f64, bool)]) -> Stratum {
        let trial = |&(attention, norm, right): &(f64, f64, bool)| {
            // The last head of each probe is always wrong.
            let mut all = [right; ALL_HEADS];
            (all[2], all[5]) = (false, false);
            Trial { attention, norm, right: all }
        };
        Stratum { arm: Arm::Target, strength, trials: trials.iter().map(trial).collect() }
    }

    #[test]
    fn strata_without_both_outcomes_count_for_nothing() {
        let mixed = stratum(25, &[(0.9, 1.0, true), (0.1, 2.0, false)]);
        let weak = stratum(50, &[(0.5, 3.0, true), (0.5, 1.0, false)]);
        let wrong = stratum(100, &[(0.5, 1.0, false), (0.5, 1.0, false)]);
        let tested = vec![
            ObjectTrials { strata: vec![mixed, weak, wrong.clone()], ..ObjectTrials::default() },
            ObjectTrials { strata: vec![wrong], ..ObjectTrials::default() },
        ];
        let attention = concordant(&tested, &[0, 1, 2], Arm::Target, Score::Attention);
        // Two heads of two strengths: 1 and 1/2.
        assert_eq!(attention.concordance.value, Some(0.75));
        assert_eq!((attention.pictures, attention.defined, attention.undefined), (1, 4, 8));
        let norm = concordant(&tested, &[0, 1, 2], Arm::Target, Score::Norm);
        assert_eq!(norm.concordance.value, Some(0.5));
        let context = concordant(&tested, &[0, 1, 2], Arm::Context, Score::Norm);
        assert_eq!((context.concordance.value, context.pictures), (None, 0));
        let accuracy = accurate(&tested, &[0, 1, 2], Arm::Target, 25).accuracy;
        assert_eq!(accuracy.value, Some(1.0 / 3.0));
        assert_eq!(accurate(&tested, &[0], Arm::Target, 100).accuracy.value, Some(0.0));
    }
}
