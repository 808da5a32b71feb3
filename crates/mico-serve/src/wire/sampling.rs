//! The fields that decide how an answer is drawn, and their ranges.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::chat::ChatRequest;
use super::loose::list;
use crate::backend::Sampling;
use crate::error::{Result, ServeError};

/// Most stop strings of a request.
const MAX_STOPS: usize = 16;
/// Longest stop string, in bytes.
const MAX_STOP_BYTES: usize = 256;
/// Most probabilities told beside each token.
const MAX_TOP_LOGPROBS: u64 = 20;
/// Seeds that every JSON reader keeps exactly.
const SEED_BITS: u32 = 53;

/// One stop string or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopStrings(pub Vec<String>);

struct StopVisitor;

impl<'de> Visitor<'de> for StopVisitor {
    type Value = StopStrings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<StopStrings, E> {
        Ok(StopStrings(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<StopStrings, A::Error> {
        list(sequence).map(StopStrings)
    }
}

impl<'de> Deserialize<'de> for StopStrings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StopVisitor)
    }
}

/// The defaults and bounds that the server's flags set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenLimits {
    pub(super) most: usize,
    pub(super) default: usize,
}

/// How the answer is to be made. A drawn answer without a seed gets one from the operating system.
pub(super) fn sampling(request: &ChatRequest, limits: TokenLimits) -> Result<Sampling> {
    let temperature = within("temperature", request.temperature, 0.0, |t| {
        (0.0..=2.0).contains(&t) && t.is_sign_positive()
    })?
    .map_err(|found| out_of_range("temperature", found, "0 to 2"))?;
    let top_p = within("top_p", request.top_p, 1.0, |p| p > 0.0 && p <= 1.0)?
        .map_err(|found| out_of_range("top_p", found, "a probability in (0, 1]"))?;
    let top_k = match request.top_k {
        Some(0) => return Err(out_of_range("top_k", 0, "at least 1")),
        top_k => top_k.map(|k| usize::try_from(k).unwrap_or(usize::MAX)),
    };
    let seed = match request.seed {
        Some(seed) => seed.cast_unsigned(),
        None if temperature > 0.0 => drawn_seed()?,
        None => 0,
    };
    Ok(Sampling {
        max_tokens: max_tokens(request, limits)?,
        temperature: temperature as f32,
        top_p: top_p as f32,
        top_k,
        seed,
        stop: stops(request)?,
        logprobs: logprobs(request)?,
    })
}

type Checked = std::result::Result<f64, f64>;

fn within(
    name: &str,
    value: Option<f64>,
    default: f64,
    accepts: impl Fn(f64) -> bool,
) -> Result<Checked> {
    let value = value.unwrap_or(default);
    if !value.is_finite() {
        return Err(out_of_range(name, value, "a finite number"));
    }
    Ok(if accepts(value) { Ok(value) } else { Err(value) })
}

fn out_of_range(name: &str, found: impl fmt::Display, accepted: &str) -> ServeError {
    ServeError::invalid(name, format!("{name} is {found}, accepted: {accepted}"))
}

fn max_tokens(request: &ChatRequest, limits: TokenLimits) -> Result<usize> {
    let (name, asked) = match (request.max_completion_tokens, request.max_tokens) {
        (Some(tokens), _) => ("max_completion_tokens", tokens),
        (None, Some(tokens)) => ("max_tokens", tokens),
        (None, None) => return Ok(limits.default.min(limits.most)),
    };
    if asked == 0 {
        return Err(out_of_range(name, 0, "at least 1"));
    }
    Ok(usize::try_from(asked).unwrap_or(usize::MAX).min(limits.most))
}

fn stops(request: &ChatRequest) -> Result<Vec<String>> {
    let Some(StopStrings(stops)) = &request.stop else { return Ok(Vec::new()) };
    if stops.is_empty() || stops.len() > MAX_STOPS {
        let found = format!("{} texts", stops.len());
        return Err(out_of_range("stop", found, "1 to 16 texts"));
    }
    match stops.iter().position(|stop| stop.is_empty() || stop.len() > MAX_STOP_BYTES) {
        Some(index) => {
            let name = format!("stop[{index}]");
            let found = format!("{} bytes long", stops[index].len());
            Err(out_of_range(&name, found, "1 to 256 bytes"))
        }
        None => Ok(stops.clone()),
    }
}

fn logprobs(request: &ChatRequest) -> Result<Option<usize>> {
    match (request.logprobs.unwrap_or(false), request.top_logprobs) {
        (_, Some(top)) if top > MAX_TOP_LOGPROBS => {
            Err(out_of_range("top_logprobs", top, "0 to 20"))
        }
        (false, Some(top)) if top > 0 => {
            let message = "top_logprobs needs logprobs to be true";
            Err(ServeError::invalid("top_logprobs", message))
        }
        (false, _) => Ok(None),
        (true, top) => Ok(Some(top.unwrap_or(0) as usize)),
    }
}

fn drawn_seed() -> Result<u64> {
    let drawn = getrandom::u64()
        .map_err(|error| ServeError::internal(format!("no random numbers: {error}")))?;
    Ok(drawn >> (u64::BITS - SEED_BITS))
}
