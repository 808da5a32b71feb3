//! Checks of a pruner's selection against its plan, before it is carried out.
//!
//! Selected indices go into gathers and sums without further checks, so a pruner from outside this
//! crate must not be able to name a token that does not exist.

use super::plan::Count;
use crate::error::{Error, Result};
use crate::selection::{Merge, Selection};

/// Checks what the pruner called `method` chose of `tokens` tokens, where the plan says `count`.
///
/// Kept tokens are ascending, in range and of the right number, and some token is kept; `sequence` is
/// empty or holds the same tokens; merges and replacements happen to kept tokens, each at most once,
/// from tokens that are there, with finite coefficients.
pub fn check_selection(
    method: &'static str,
    selection: &Selection,
    count: Count,
    tokens: usize,
) -> Result<()> {
    let fault = kept_fault(selection, count, tokens)
        .or_else(|| sequence_fault(selection))
        .or_else(|| merges_fault(selection, tokens))
        .or_else(|| replacements_fault(selection, tokens));
    match fault {
        None => Ok(()),
        Some(message) => Err(Error::Contract { method, message }),
    }
}

fn kept_fault(selection: &Selection, count: Count, tokens: usize) -> Option<String> {
    let kept = &selection.kept;
    if kept.is_empty() || !count.admits(kept.len()) {
        let kept = kept.len();
        return Some(format!("kept {kept} of {tokens} tokens, the plan says {count:?}"));
    }
    if !ascending(kept) {
        return Some("kept tokens that are not in ascending order, each once".into());
    }
    let last = kept.last().filter(|&&last| last >= tokens);
    last.map(|last| format!("kept token {last} of {tokens}"))
}

fn sequence_fault(selection: &Selection) -> Option<String> {
    if selection.sequence.is_empty() {
        return None;
    }
    let mut sequence = selection.sequence.clone();
    sequence.sort_unstable();
    (sequence != selection.kept).then(|| "put other tokens in sequence than it kept".into())
}

fn merges_fault(selection: &Selection, tokens: usize) -> Option<String> {
    if let Some(fault) = selection.merges.iter().find_map(|merge| merge_fault(merge, tokens)) {
        return Some(fault);
    }
    let targets = selection.merges.iter().map(|merge| merge.target);
    target_fault(targets.collect(), &selection.kept, "merged others into")
}

fn merge_fault(merge: &Merge, tokens: usize) -> Option<String> {
    let Merge { target, own, sources, shares } = merge;
    if sources.len() != shares.len() {
        let (sources, shares) = (sources.len(), shares.len());
        return Some(format!("merged {sources} tokens into {target} with {shares} shares"));
    }
    if let Some(source) = sources.iter().find(|&&source| source >= tokens) {
        return Some(format!("merged token {source} of {tokens} into {target}"));
    }
    if !ascending(sources) || sources.contains(target) {
        return Some(format!(
            "merged tokens into {target} that are not in ascending order, each once, without it"
        ));
    }
    let share = shares.iter().chain([own]).find(|share| !share.is_finite());
    share.map(|share| format!("merged tokens into {target} with a share of {share}"))
}

fn replacements_fault(selection: &Selection, tokens: usize) -> Option<String> {
    if let Some(replaced) = selection.replaced.iter().find(|replaced| replaced.token >= tokens) {
        let (position, token) = (replaced.position, replaced.token);
        return Some(format!("put token {token} of {tokens} in the place of {position}"));
    }
    let positions = selection.replaced.iter().map(|replaced| replaced.position);
    target_fault(positions.collect(), &selection.kept, "put another in the place of")
}

/// The fault if a target is not kept, or occurs twice.
fn target_fault(mut targets: Vec<usize>, kept: &[usize], did: &str) -> Option<String> {
    if let Some(target) = targets.iter().find(|target| kept.binary_search(target).is_err()) {
        return Some(format!("{did} token {target}, which it did not keep"));
    }
    targets.sort_unstable();
    let twice = targets.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map(|pair| format!("{did} token {} twice", pair[0]))
}

fn ascending(tokens: &[usize]) -> bool {
    tokens.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Replacement;

    const TOKENS: usize = 6;

    /// Keeps 1, 3 and 4 and pours 0 and 5 into 3.
    fn good() -> Selection {
        let merge = Merge { target: 3, own: 0.5, sources: vec![0, 5], shares: vec![0.25; 2] };
        let mut selection = Selection::keeping(vec![1, 3, 4]);
        selection.sequence = vec![4, 1, 3];
        selection.merges = vec![merge];
        selection.replaced = vec![Replacement { position: 4, token: 2 }];
        selection
    }

    fn fault(spoil: impl Fn(&mut Selection)) -> String {
        let mut selection = good();
        spoil(&mut selection);
        let checked = check_selection("third", &selection, Count::Exactly(3), TOKENS);
        let error = checked.unwrap_err();
        assert!(matches!(error, Error::Contract { method: "third", .. }));
        error.to_string()
    }

    #[test]
    fn a_selection_as_agreed_passes() {
        for count in [Count::Exactly(3), Count::AtMost(3), Count::AtMost(5)] {
            check_selection("third", &good(), count, TOKENS).unwrap();
        }
        let plain = Selection::everything(TOKENS);
        check_selection("third", &plain, Count::Exactly(TOKENS), TOKENS).unwrap();
    }

    #[test]
    fn kept_tokens_are_counted_ordered_and_there() {
        let text = fault(|selection| selection.kept = vec![1, 3]);
        assert_eq!(text, "pruner 'third': kept 2 of 6 tokens, the plan says Exactly(3)");
        assert!(fault(|selection| selection.kept = Vec::new()).contains("kept 0 of 6"));
        assert!(fault(|selection| selection.kept = vec![3, 1, 4]).contains("ascending"));
        assert!(fault(|selection| selection.kept = vec![1, 1, 4]).contains("each once"));
        assert!(fault(|selection| selection.kept = vec![1, 3, 6]).contains("kept token 6 of 6"));
        let empty = check_selection("third", &Selection::default(), Count::AtMost(3), TOKENS);
        assert!(empty.is_err());
    }

    #[test]
    fn a_sequence_is_a_permutation() {
        for sequence in [vec![1, 3], vec![1, 1, 3], vec![1, 3, 5], vec![1, 3, 4, 4]] {
            let text = fault(|selection| selection.sequence.clone_from(&sequence));
            assert!(text.contains("in sequence"), "{text}");
        }
    }

    #[test]
    fn merges_name_tokens_that_are_there() {
        let merged = |spoil: fn(&mut Merge)| fault(|selection| spoil(&mut selection.merges[0]));
        assert!(merged(|merge| merge.target = 2).contains("token 2, which it did not keep"));
        assert!(merged(|merge| merge.target = usize::MAX).contains("did not keep"));
        assert!(merged(|merge| merge.sources = vec![0, 6]).contains("token 6 of 6 into 3"));
        assert!(merged(|merge| merge.sources = vec![5, 0]).contains("ascending"));
        assert!(merged(|merge| merge.sources = vec![0, 0]).contains("each once"));
        assert!(merged(|merge| merge.sources = vec![0, 3]).contains("without it"));
        assert!(merged(|merge| merge.sources.push(5)).contains("3 tokens into 3 with 2 shares"));
        assert!(merged(|merge| merge.shares[1] = f64::NAN).contains("share of NaN"));
        assert!(merged(|merge| merge.own = f64::INFINITY).contains("share of inf"));
        let twice = fault(|selection| selection.merges.push(selection.merges[0].clone()));
        assert!(twice.contains("token 3 twice"), "{twice}");
    }

    #[test]
    fn replacements_name_tokens_that_are_there() {
        let replaced = |position, token| {
            fault(|selection| selection.replaced.push(Replacement { position, token }))
        };
        assert!(replaced(1, 6).contains("token 6 of 6 in the place of 1"));
        assert!(replaced(2, 0).contains("token 2, which it did not keep"));
        assert!(replaced(4, 0).contains("token 4 twice"));
    }
}
