//! The `mico` object of a request: how to prune, and what to tell of it.

use std::collections::BTreeMap;

use mico_select::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::Budget;
use serde::Deserialize;
use utoipa::ToSchema;

use super::loose::{Scalar, bounded};
use crate::backend::Returns;
use crate::error::{Code, Result, ServeError};

/// The pruner used when a budget is given without a method.
pub(crate) const DEFAULT_METHOD: &str = "mico";
/// Longest `cache_salt`, in bytes.
const MAX_SALT_BYTES: usize = 128;

/// How to prune one request. At most one of `budget`, `keep`, `image_pruning_rate`, `video_pruning_rate` and `off`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MicoRequest {
    /// Layer-average number of visual tokens per image, or per frame of a video.
    pub budget: Option<u64>,
    /// The same as a share of the unpruned count, in (0, 1].
    pub keep: Option<f64>,
    /// The share that goes instead of the one that stays, in [0, 1).
    pub image_pruning_rate: Option<f64>,
    /// Another name of `image_pruning_rate`.
    pub video_pruning_rate: Option<f64>,
    /// True runs the model untouched, whatever the server's default is.
    pub off: Option<bool>,
    /// The pruning method; `mico` unless said otherwise.
    pub method: Option<String>,
    /// Settings of the method.
    #[schema(value_type = Option<Object>)]
    pub(super) set: Option<BTreeMap<String, Scalar>>,
    /// Decoder block after which tokens go, counted from 1.
    pub refine_layer: Option<u64>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: Option<u64>,
    /// Take the counts that the method's authors give for this budget.
    pub authors_budget: Option<bool>,
    /// What to tell beside the answer: `indices`, `layout`, `overlay`, `ids`.
    #[serde(rename = "return", deserialize_with = "bounded")]
    pub returns: Vec<String>,
    /// `stateless`: the answer is a function of this body alone.
    pub conversation: Option<String>,
    /// Separates what caches keep, in at most 128 bytes.
    pub cache_salt: Option<String>,
    /// Seconds after which the request is given up.
    pub timeout: Option<f64>,
}

/// What one source wants of the pruning.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Wanted {
    /// Nothing: another source decides.
    #[default]
    Unsaid,
    /// The model untouched.
    Off,
    /// A pruned run.
    Pruned(PruningSpec),
}

impl MicoRequest {
    /// What to tell beside the answer.
    pub fn returns(&self) -> Result<Returns> {
        let mut returns = Returns::default();
        for (index, name) in self.returns.iter().enumerate() {
            match name.as_str() {
                "indices" => returns.indices = true,
                "layout" => returns.layout = true,
                "overlay" => returns.overlay = true,
                "ids" => returns.ids = true,
                _ => {
                    let name = mico_util::text::quoted(name);
                    let accepted = "indices, layout, overlay, ids";
                    return Err(ServeError::invalid(
                        format!("mico.return[{index}]"),
                        format!("unknown value '{name}', accepted: {accepted}"),
                    ));
                }
            }
        }
        Ok(returns)
    }

    /// Whether the fields that do not prune are in their ranges.
    pub fn check(&self) -> Result<()> {
        match self.conversation.as_deref() {
            None | Some("stateless") => {}
            Some("continue") => {
                return Err(ServeError::unsupported(
                    "mico.conversation",
                    "conversation 'continue' is not supported: send the whole conversation",
                ));
            }
            Some(other) => {
                let other = mico_util::text::quoted(other);
                let message = format!("conversation is '{other}', accepted: stateless");
                return Err(ServeError::invalid("mico.conversation", message));
            }
        }
        let salt = self.cache_salt.as_deref().unwrap_or_default();
        if salt.len() > MAX_SALT_BYTES {
            let message = format!("cache_salt has {} bytes, accepted: at most 128", salt.len());
            return Err(ServeError::invalid("mico.cache_salt", message));
        }
        self.returns().map(|_| ())
    }

    /// What the object wants; `below` is what the request would get without it, whose budget a lone method takes.
    pub fn wanted(&self, below: &Wanted) -> Result<Wanted> {
        let Some((field, amount)) = self.amount()? else {
            return self.without_amount(below);
        };
        let Amount::Budget(budget) = amount else {
            return match self.overrides() {
                Some(name) => {
                    let message = format!("{name} has no effect beside off");
                    Err(ServeError::invalid(format!("mico.{name}"), message))
                }
                None => Ok(Wanted::Off),
            };
        };
        self.pruned(budget, None).map(Wanted::Pruned).map_err(|error| at_field(&error, field))
    }

    /// Nothing says how much to keep.
    fn without_amount(&self, below: &Wanted) -> Result<Wanted> {
        match (self.overrides(), below) {
            (None, _) => Ok(Wanted::Unsaid),
            (Some(_), Wanted::Pruned(spec)) => self
                .pruned(spec.budget, Some(spec))
                .map(Wanted::Pruned)
                .map_err(|error| at_field(&error, "budget")),
            (Some("method"), _) if self.method.as_deref() == Some("none") => Ok(Wanted::Off),
            (Some(name), _) => {
                let message = format!("{name} needs a budget: budget, keep or image_pruning_rate");
                Err(ServeError::invalid(format!("mico.{name}"), message))
            }
        }
    }

    fn pruned(
        &self,
        budget: Budget,
        below: Option<&PruningSpec>,
    ) -> mico_select::Result<PruningSpec> {
        let given = below.map(|spec| spec.method.name());
        let name = self.method.as_deref().or(given).unwrap_or(DEFAULT_METHOD);
        let settings = self.set.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone()));
        let inherited = below.filter(|spec| spec.method.name() == name);
        let settings: Vec<(String, String)> = match (&self.set, inherited) {
            (None, Some(spec)) => spec.method.settings().clone().into_iter().collect(),
            _ => settings.collect(),
        };
        let mut spec = PruningSpec::new(MethodSpec::new(name, settings)?, budget);
        spec.refine_layer =
            self.refine_layer.map(index).or(inherited.and_then(|spec| spec.refine_layer));
        spec.pool = self.pool.map(index).or(inherited.and_then(|spec| spec.pool));
        spec.authors = self.authors_budget.unwrap_or(inherited.is_some_and(|spec| spec.authors));
        for (what, value) in [("pool", spec.pool), ("refine-layer", spec.refine_layer)] {
            if value == Some(0) {
                let (found, accepted) = ("0".to_owned(), "at least 1".to_owned());
                return Err(mico_select::Error::OutOfRange { what, found, accepted });
            }
        }
        spec.build()?;
        Ok(spec)
    }

    /// The first field that changes how something is pruned.
    fn overrides(&self) -> Option<&'static str> {
        let given = [
            ("method", self.method.is_some()),
            ("set", self.set.is_some()),
            ("refine_layer", self.refine_layer.is_some()),
            ("pool", self.pool.is_some()),
            ("authors_budget", self.authors_budget == Some(true)),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// How much is to stay, by the one field that says so.
    fn amount(&self) -> Result<Option<(&'static str, Amount)>> {
        let rate = |rate: Option<f64>| rate.map(|rate| Amount::Budget(Budget::Share(1.0 - rate)));
        let said = [
            ("budget", self.budget.map(|tokens| Amount::Budget(Budget::Tokens(index(tokens))))),
            ("keep", self.keep.map(|share| Amount::Budget(Budget::Share(share)))),
            ("image_pruning_rate", rate(self.image_pruning_rate)),
            ("video_pruning_rate", rate(self.video_pruning_rate)),
            ("off", self.off.filter(|off| *off).map(|_| Amount::Off)),
        ];
        let mut said = said.into_iter().filter_map(|(name, amount)| Some((name, amount?)));
        let (first, second) = (said.next(), said.next());
        if let (Some((one, _)), Some((other, _))) = (&first, second) {
            let message = format!("{one} and {other} contradict each other, give one of them");
            return Err(ServeError::invalid(format!("mico.{other}"), message));
        }
        for (name, rate) in [
            ("image_pruning_rate", self.image_pruning_rate),
            ("video_pruning_rate", self.video_pruning_rate),
        ] {
            if let Some(rate) = rate.filter(|rate| !(0.0..1.0).contains(rate)) {
                let message = format!("{name} is {rate}, accepted: a share in [0, 1)");
                return Err(ServeError::invalid(format!("mico.{name}"), message));
            }
        }
        Ok(first)
    }
}

enum Amount {
    Budget(Budget),
    Off,
}

/// A count of a request; what does not fit is out of every range anyway.
fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The selector library's error at the field of the request that it is about.
fn at_field(error: &mico_select::Error, amount: &str) -> ServeError {
    use mico_select::Error as E;
    let field = match error {
        E::UnknownMethod { .. } | E::OutOfRange { what: "method", .. } => "method",
        E::UnknownSetting { .. } | E::BadSetting { .. } => "set",
        E::OutOfRange { what: "refine-layer", .. } => "refine_layer",
        E::OutOfRange { what: "pool", .. } => "pool",
        _ => amount,
    };
    let code = pruning_code(error);
    ServeError::new(code, error.to_string()).at(format!("mico.{field}"))
}

/// Whether a pruning is out of range or refused.
pub(crate) fn pruning_code(error: &mico_select::Error) -> Code {
    use mico_select::Error as E;
    match error {
        E::Undefined { .. } | E::Schedule { .. } | E::Refused { .. } => Code::PruningRefused,
        _ => Code::InvalidValue,
    }
}
