//! What a pruner sees when it selects: the signals it declared, and nothing else.

use super::layout::TokenLayout;
use super::model::ModelTraits;
use super::plan::Quota;
use super::signals::{Signals, Stage};
use crate::error::{Error, Result};
use crate::groups::{Group, WholeGroups, select_each};
use crate::inputs::Inputs;
use crate::matrix::{Matrix, Rows};
use crate::selection::Selection;
use crate::selector::{Options, Selector, select};
use crate::signal::Signal;

/// The signals observed for one selection, by name; the caller that runs the model owns the data.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    method: &'static str,
    stage: Stage,
    declared: Signals,
    tokens: usize,
    inputs: Inputs<'a>,
}

impl<'a> Observed<'a> {
    /// An empty set of signals of `tokens` visual tokens, for the method that declared `declared`.
    pub fn new(method: &'static str, stage: Stage, declared: Signals, tokens: usize) -> Self {
        Self { method, stage, declared, tokens, inputs: Inputs::new().with_tokens(tokens) }
    }

    /// Adds a signal; one that was not declared is ignored.
    pub fn with(mut self, signal: Signal, matrix: Matrix<'a>) -> Self {
        if self.declared.has(signal) {
            self.inputs = self.inputs.with(signal, matrix);
        }
        self
    }

    /// Adds a signal with one value per token; one that was not declared is ignored.
    pub fn with_vector(self, signal: Signal, values: &'a [f32]) -> Result<Self> {
        Ok(self.with(signal, Matrix::from_f32(values, values.len(), 1)?))
    }

    /// The signals that were declared and have not been added.
    pub fn missing(&self) -> impl Iterator<Item = Signal> {
        let present = self.inputs.present();
        self.declared.set().iter().filter(move |&signal| !present.has(signal))
    }

    /// The number of visual tokens to select from.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// A signal with one row of values per visual (or text) token. An error if it was not declared.
    pub fn rows(&self, signal: Signal) -> Result<Rows<'a>> {
        self.matrix(signal).map(Rows::all)
    }

    /// A signal with one value per token. An error if it was not declared or is no vector.
    pub fn vector(&self, signal: Signal) -> Result<Vec<f32>> {
        let rows = self.rows(signal)?;
        if !signal.is_vector() {
            return Err(self.broken(signal, "as one value per token, which it is not"));
        }
        Ok(rows.to_dense().values().to_vec())
    }

    /// All signals as the input of a selector.
    pub fn inputs(&self) -> Inputs<'a> {
        self.inputs
    }

    fn matrix(&self, signal: Signal) -> Result<Matrix<'a>> {
        match self.inputs.get(signal) {
            Some(matrix) => Ok(matrix),
            None if self.declared.has(signal) => {
                let reason = format!("{} has none to show to '{}'", self.stage.name(), self.method);
                Err(Error::Missing { signal, reason })
            }
            None => Err(self.broken(signal, "without declaring it")),
        }
    }

    fn broken(&self, signal: Signal, how: &str) -> Error {
        let message = format!("reads {}.{signal} {how}", self.stage.name());
        Error::Contract { method: self.method, message }
    }
}

/// One image before the decoder. Rows are in sequence order; tokens that are no patch have zeros.
#[derive(Debug, Clone, Copy)]
pub struct Stage1View<'a> {
    /// The image's number, counted from the start of the conversation.
    pub image: usize,
    /// The properties of the model that decide how a method runs on it.
    pub model: &'a ModelTraits,
    /// The image's token sequence with its groups and grids.
    pub layout: &'a TokenLayout,
    /// The signals observed of the image's tokens.
    pub observed: Observed<'a>,
}

impl Stage1View<'_> {
    /// Keeps what `quota` asks for by one rule, group by group where it says so. The groups draw from
    /// seeds of their own, counted up from `seed`.
    pub fn select(&self, selector: &dyn Selector, quota: &Quota, seed: u64) -> Result<Selection> {
        self.select_with(quota, seed, &|_| selector)
    }

    /// Like [`Stage1View::select`], where `rule` returns the rule of a group by its number.
    pub fn select_with<'s>(
        &self,
        quota: &Quota,
        seed: u64,
        rule: &(dyn Sync + Fn(usize) -> &'s dyn Selector),
    ) -> Result<Selection> {
        let all: Vec<usize>;
        let parts: Vec<(&[usize], usize)> = match quota {
            Quota::Everything => return Ok(Selection::everything(self.layout.len())),
            Quota::Groups(counts) => {
                let members = (0..self.layout.groups()).map(|group| self.layout.members(group));
                members.zip(counts.iter().copied()).collect()
            }
            Quota::Image(count) => {
                let grouped = |&token: &usize| self.layout.group_of(token).is_some();
                all = (0..self.layout.len()).filter(grouped).collect();
                vec![(&all, *count)]
            }
        };
        let groups: Vec<Group<'_>> = parts
            .into_iter()
            .zip(0_u64..)
            .map(|((members, keep), group)| Group { members, keep, seed: seed.wrapping_add(group) })
            .collect();
        let inputs = self.observed.inputs();
        select_each(&inputs, &groups, rule, &Options::default(), WholeGroups::Taken)
    }
}

/// The visual tokens left after a decoder block, in sequence order over all images.
#[derive(Debug, Clone, Copy)]
pub struct Stage2View<'a> {
    /// The decoder block whose output is pruned, counted from 1.
    pub block: usize,
    /// The properties of the model that decide how a method runs on it.
    pub model: &'a ModelTraits,
    /// The signals observed of the remaining visual tokens.
    pub observed: Observed<'a>,
}

impl Stage2View<'_> {
    /// The number of visual tokens that remain.
    pub fn tokens(&self) -> usize {
        self.observed.tokens()
    }

    /// Keeps `keep` of the tokens by a rule; `seed` is used only by random rules.
    pub fn select(&self, selector: &dyn Selector, keep: usize, seed: u64) -> Result<Selection> {
        select(selector, &self.observed.inputs(), keep, &Options::default().with_seed(seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::{FastV, Random};
    use crate::pruner::layout::{TokenGrid, TokenPlace};
    use crate::pruner::signals::TextAttention;

    #[test]
    fn only_what_was_declared_is_shown() {
        let attention = [0.1, 0.7, 0.2];
        let declared = Signals::attention_of(TextAttention::LastToken).with(Signal::Keys);
        let observed = Observed::new("third", Stage::AfterBlock, declared, 3)
            .with_vector(Signal::Relevance, &attention)
            .unwrap()
            .with_vector(Signal::Excluded, &attention)
            .unwrap();
        assert_eq!(observed.vector(Signal::Relevance).unwrap(), attention);
        assert_eq!(observed.missing().collect::<Vec<_>>(), [Signal::Keys]);
        for (signal, text) in [
            (Signal::Excluded, "pruner 'third': reads stage2.excluded without declaring it"),
            (Signal::Keys, "missing tensor 'keys': stage2 has none to show to 'third'"),
        ] {
            assert_eq!(observed.rows(signal).unwrap_err().to_string(), text);
        }
        let model = ModelTraits::new(vec![true]);
        let view = Stage2View { block: 1, model: &model, observed };
        assert_eq!(view.select(&FastV, 2, 0).unwrap().order, [1, 2]);
    }

    #[test]
    fn a_rule_that_reads_nothing_draws_from_each_group() {
        let grids = vec![TokenGrid { rows: 1, columns: 4 }; 2];
        let place = |group, local| Some(TokenPlace { group, local });
        let mut places: Vec<_> = (0..4).map(|local| place(0, local)).collect();
        places.push(None);
        places.extend((0..4).map(|local| place(1, local)));
        let layout = TokenLayout::new(grids, places).unwrap();
        let model = ModelTraits::new(vec![true]);
        let stage = Stage::BeforeDecoder;
        let observed = Observed::new("random", stage, Signals::default(), layout.len());
        let view = Stage1View { image: 0, model: &model, layout: &layout, observed };
        let kept = |quota: Quota| view.select(&Random, &quota, 7).unwrap().kept;
        let groups = kept(Quota::Groups(vec![2, 4]));
        assert_eq!((groups.len(), &groups[2..]), (6, &[5, 6, 7, 8][..]));
        let image = kept(Quota::Image(3));
        assert!(image.len() == 3 && !image.contains(&4), "{image:?}");
        assert_eq!(kept(Quota::Everything).len(), 9);
    }
}
