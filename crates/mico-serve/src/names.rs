//! Model names: how a request chooses a budget by the name it asks for, and which pruning finally holds.
//!
//! A name is `NAME[@SPEC[:METHOD]]`; SPEC is a number of tokens, a share with a decimal point, `none`, or a profile.
//! Most clients can choose a model and nothing else, so this is how they choose a budget.

use std::collections::BTreeMap;

use mico_select::pruner::{MethodSpec, PruningSpec};
use mico_select::schedule::Budget;
use mico_util::text::quoted;

use crate::error::{Code, Result, ServeError};
use crate::wire::{Detail, MediaUse, MicoRequest, Source, Wanted};

/// Parts of names on which evaluation toolkits send other fields than for other models.
const SWITCHING: [&str; 4] = ["o1", "o3", "o4", "gpt-5"];

/// The names that are served, and what pruning they and the server's flags imply.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Names {
    /// The names without a budget; the first one is meant by requests that give none.
    pub served: Vec<String>,
    /// Named prunings.
    pub profiles: BTreeMap<String, Wanted>,
    /// Whether a name that is not served means the first one that is.
    pub any_model: bool,
    /// What holds for requests that say nothing.
    pub default: Wanted,
    /// What `detail` means; empty means nothing.
    pub detail: BTreeMap<Detail, DetailMeaning>,
    /// The smallest and largest budget that requests may ask for.
    pub bounds: (Option<usize>, Option<usize>),
}

/// What a value of `detail` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailMeaning {
    /// What the server does anyway.
    Default,
    /// No pruning.
    Unpruned,
    /// A budget in tokens.
    Tokens(usize),
}

/// The pruning that holds for a request, and who decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The name that the response repeats.
    pub model: String,
    /// How to prune; `None` for not at all.
    pub pruning: Option<PruningSpec>,
    /// Who decided it.
    pub source: Source,
    /// What the person who asks should know.
    pub warnings: Vec<String>,
}

impl Names {
    /// One served name, unpruned unless requests ask for it.
    pub fn of(name: impl Into<String>) -> Self {
        Self { served: vec![name.into()], ..Self::default() }
    }

    /// Whether a name can be served: clients split lists of arguments at `=` and `,`, and `@` begins a budget.
    pub fn check_name(name: &str) -> std::result::Result<(), String> {
        let unfit = |c: char| c.is_whitespace() || c.is_control() || "=,@".contains(c);
        if name.is_empty() || name.len() > 256 || name.contains(unfit) {
            let name = quoted(name);
            return Err(format!("name '{name}', accepted: up to 256 characters without = , @"));
        }
        Ok(())
    }

    /// What to tell the operator about a name that makes toolkits behave differently.
    pub fn warning(name: &str) -> Option<String> {
        let part = SWITCHING.into_iter().find(|part| name.contains(part))?;
        let name = quoted(name);
        Some(format!(
            "name '{name}' contains '{part}', for which lmms-eval and VLMEvalKit change what they send"
        ))
    }

    /// Every name with what requests under it get: the served ones, then each with every profile.
    pub fn listed(&self) -> Vec<(String, &Wanted)> {
        let plain = self.served.iter().map(|name| (name.clone(), &self.default));
        let profiles = self.served.iter().flat_map(|name| {
            self.profiles.iter().map(move |(profile, wanted)| (format!("{name}@{profile}"), wanted))
        });
        plain.chain(profiles).collect()
    }

    /// Whether `/v1/models/{id}` has such an entry.
    pub fn is_listed(&self, id: &str) -> bool {
        self.listed().iter().any(|(name, _)| name == id)
    }

    /// Which pruning holds for a request.
    pub fn resolve(
        &self,
        model: Option<&str>,
        media: &[MediaUse],
        mico: Option<&MicoRequest>,
    ) -> Result<Resolved> {
        let (name, from_name) = self.by_name(model)?;
        let (from_detail, warnings) = self.by_detail(media);
        let (mut wanted, mut source) = (self.default.clone(), Source::Default);
        for (other, its) in [(from_detail, Source::Detail), (from_name, Source::Model)] {
            if other != Wanted::Unsaid {
                (wanted, source) = (other, its);
            }
        }
        if let Some(mico) = mico {
            let asked = mico.wanted(&wanted)?;
            if asked != Wanted::Unsaid {
                (wanted, source) = (asked, Source::Request);
            }
        }
        self.check_bounds(&wanted, source)?;
        let pruning = match wanted {
            Wanted::Pruned(spec) => Some(spec),
            Wanted::Off | Wanted::Unsaid => None,
        };
        let source =
            if pruning.is_none() && source == Source::Default { Source::Off } else { source };
        let warnings = if source == Source::Detail { warnings } else { Vec::new() };
        Ok(Resolved { model: name, pruning, source, warnings })
    }

    /// Whether a budget in tokens is one that requests may ask for.
    pub fn check_tokens(&self, tokens: usize, param: &str) -> Result<()> {
        let (least, most) = self.bounds;
        let accepted = match (least, most) {
            (Some(least), _) if tokens < least => format!("at least {least}"),
            (_, Some(most)) if tokens > most => format!("at most {most}"),
            _ => return Ok(()),
        };
        let message = format!("budget is {tokens} tokens, accepted by this server: {accepted}");
        Err(ServeError::invalid(param, message))
    }

    fn check_bounds(&self, wanted: &Wanted, source: Source) -> Result<()> {
        let param = match source {
            Source::Request => "mico.budget",
            Source::Model => "model",
            // The operator's own choices are not bounded.
            _ => return Ok(()),
        };
        match (wanted, self.bounds) {
            (Wanted::Off | Wanted::Unsaid, (_, Some(most))) => {
                let message = format!("unpruned, accepted by this server: at most {most} tokens");
                Err(ServeError::invalid(param, message))
            }
            (Wanted::Pruned(PruningSpec { budget: Budget::Tokens(tokens), .. }), _) => {
                self.check_tokens(*tokens, param)
            }
            _ => Ok(()),
        }
    }

    fn by_name(&self, model: Option<&str>) -> Result<(String, Wanted)> {
        let first = self.served.first().cloned().unwrap_or_default();
        let Some(asked) = model.filter(|name| !name.is_empty()) else {
            return Ok((first, Wanted::Unsaid));
        };
        let (name, spec) = match asked.split_once('@') {
            Some((name, spec)) => (name, Some(spec)),
            None => (asked, None),
        };
        if !self.served.iter().any(|served| served == name) {
            return if self.any_model {
                Ok((asked.to_owned(), Wanted::Unsaid))
            } else {
                Err(self.not_found(asked))
            };
        }
        let wanted = match spec {
            None => Wanted::Unsaid,
            Some(spec) => self.by_spec(asked, spec)?,
        };
        Ok((asked.to_owned(), wanted))
    }

    fn by_spec(&self, asked: &str, spec: &str) -> Result<Wanted> {
        let (amount, method) = match spec.split_once(':') {
            Some((amount, method)) => (amount, Some(method)),
            None => (spec, None),
        };
        let numeric = !amount.is_empty() && amount.chars().all(|c| c.is_ascii_digit() || c == '.');
        let budget = match (numeric, amount.contains('.')) {
            (true, true) => amount.parse().ok().map(Budget::Share),
            (true, false) => amount.parse().ok().map(Budget::Tokens),
            (false, _) => {
                let named = match amount {
                    "none" => Some(&Wanted::Off),
                    profile => self.profiles.get(profile),
                };
                return match (named, method) {
                    (Some(wanted), None) => Ok(wanted.clone()),
                    _ => Err(self.not_found(asked)),
                };
            }
        };
        let budget = budget.ok_or_else(|| self.not_found(asked))?;
        let method = method.unwrap_or(crate::wire::DEFAULT_METHOD);
        let built = method.parse::<MethodSpec>().and_then(|method| {
            let spec = PruningSpec::new(method, budget);
            spec.build().map(|_| spec)
        });
        let refused = |error: mico_select::Error| {
            ServeError::new(crate::wire::pruning_code(&error), error.to_string()).at("model")
        };
        built.map(Wanted::Pruned).map_err(refused)
    }

    fn not_found(&self, asked: &str) -> ServeError {
        let known = self.listed().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        let asked = quoted(asked);
        let message = format!("model '{asked}' is not served, known: {known}");
        ServeError::new(Code::ModelNotFound, message).at("model")
    }

    /// The most generous of what the images' details mean, and a warning if they differ.
    fn by_detail(&self, media: &[MediaUse]) -> (Wanted, Vec<String>) {
        let generosity = |meaning: DetailMeaning| match (meaning, &self.default) {
            (DetailMeaning::Tokens(tokens), _) => tokens as f64,
            (DetailMeaning::Default, Wanted::Pruned(spec)) => match spec.budget {
                Budget::Tokens(tokens) => tokens as f64,
                Budget::Share(_) => f64::MAX,
            },
            (DetailMeaning::Default | DetailMeaning::Unpruned, _) => f64::INFINITY,
        };
        let meanings = media.iter().filter_map(|image| self.detail.get(&image.detail).copied());
        let meanings: Vec<DetailMeaning> = meanings.collect();
        let most = meanings
            .iter()
            .copied()
            .max_by(|one, other| generosity(*one).total_cmp(&generosity(*other)));
        let Some(most) = most else { return (Wanted::Unsaid, Vec::new()) };
        let wanted = match most {
            DetailMeaning::Default => Wanted::Unsaid,
            DetailMeaning::Unpruned => Wanted::Off,
            DetailMeaning::Tokens(tokens) => {
                let method = MethodSpec::new(crate::wire::DEFAULT_METHOD, []);
                match method {
                    Ok(method) => Wanted::Pruned(PruningSpec::new(method, Budget::Tokens(tokens))),
                    Err(_) => Wanted::Unsaid,
                }
            }
        };
        let differ = meanings.iter().any(|meaning| *meaning != most);
        let warning = "images have different details; the most generous one holds for all";
        (wanted, if differ { vec![warning.to_owned()] } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests;
