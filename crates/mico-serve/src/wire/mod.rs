//! The JSON of requests and responses. Nothing here knows of a model or of HTTP.

mod chat;
mod check;
mod content;
mod loose;
mod models;
mod pruning;
mod response;
mod sampling;
mod tokenize;

pub use chat::ChatRequest;
pub use check::{ChatCall, CheckLimits, Detail, MediaKind, MediaUse, VideoSampling, turns};
pub use content::{Content, MediaUrl, Message, Part};
pub use loose::Loose;
pub use models::{ModelEntry, ModelList, ModelMico};
pub(crate) use pruning::{DEFAULT_METHOD, pruning_code};
pub use pruning::{MicoRequest, Wanted};
pub(crate) use response::Circumstances;
pub use response::{
    ChatResponse, Choice, Chunk, ChunkChoice, Delta, InputDetails, InputTokens, Logprobs,
    MicoReport, ResponseMessage, Source, Usage,
};
pub use sampling::StopStrings;
pub use tokenize::{
    DetokenizeRequest, DetokenizeResponse, TokenizeRequest, TokenizeResponse, parse_tokenize,
};

use serde::de::DeserializeOwned;

use crate::error::{Code, Result, ServeError};

/// Most characters of the parser's message, which may quote the request.
const MAX_MESSAGE: usize = 400;

/// Reads a request's JSON. An error names the field at fault by its path.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    loose::with_list_budget(|| {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            refused(error.inner(), Some(path).filter(|path| path != "."))
        })?;
        reader.end().map_err(|error| refused(&error, None))?;
        Ok(value)
    })
}

/// What the parser objects to. Its words name types, positions and this crate's own fields.
fn refused(error: &serde_json::Error, param: Option<String>) -> ServeError {
    let code = if error.is_data() { Code::InvalidValue } else { Code::InvalidJson };
    let message = mico_util::text::escaped(&error.to_string());
    let message: String = message.chars().take(MAX_MESSAGE).collect();
    let error = ServeError::new(code, message);
    match param {
        Some(param) => error.at(param),
        None => error,
    }
}
