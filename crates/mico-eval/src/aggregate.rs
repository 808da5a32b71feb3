//! The paper's aggregates: Acc, the mean of tracks, and Rel, its share of the unpruned model's.

/// Mean of the tracks' scores in percent; `None` of no tracks.
pub fn acc(tracks: &[f64]) -> Option<f64> {
    (!tracks.is_empty()).then(|| tracks.iter().sum::<f64>() / tracks.len() as f64)
}

/// Acc in percent of the unpruned Acc, both unrounded; `None` if that is 0.
pub fn rel(acc: f64, unpruned: f64) -> Option<f64> {
    (unpruned > 0.0).then(|| acc / unpruned * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproduces_a_row_of_the_paper() {
        // LLaVA-1.5-13B's unpruned row and a pruned one, MME divided by 20.
        let vanilla = [64.4, 73.1, 63.2, 85.3, 1539.5 / 20.0, 68.5, 61.2, 71.6, 70.1, 35.7];
        let pruned = [64.3, 73.2, 61.9, 87.0, 1573.9 / 20.0, 69.0, 63.4, 71.4, 70.2, 37.2];
        let (vanilla, pruned) = (acc(&vanilla).unwrap(), acc(&pruned).unwrap());
        assert!((vanilla - 67.0075).abs() < 1e-9 && (pruned - 67.6295).abs() < 1e-9);
        assert!((rel(pruned, vanilla).unwrap() - 100.928_254).abs() < 1e-5);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(acc(&[]), None);
        assert_eq!(rel(1.0, 0.0), None);
    }
}
