//! The bodies of `/tokenize` and `/detokenize`, in vLLM's shape.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content::Message;
use super::loose::bounded;
use crate::error::{Result, ServeError};

/// A text, or a conversation, to be turned into token ids.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct TokenizeRequest {
    /// A served name.
    #[serde(default)]
    pub model: Option<String>,
    /// The text.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Whether to include what the model puts in front of every prompt.
    #[serde(default)]
    pub add_special_tokens: Option<bool>,
    /// The conversation, in place of the text.
    #[serde(default, deserialize_with = "bounded")]
    pub messages: Vec<Message>,
    /// Whether the conversation ends with the assistant's turn to speak; true.
    #[serde(default)]
    pub add_generation_prompt: Option<bool>,
    /// Whether to tell the text of each token.
    #[serde(default)]
    pub return_token_strs: Option<bool>,
}

/// Reads a body of `/tokenize` and checks what its fields say together.
pub fn parse_tokenize(body: &[u8]) -> Result<TokenizeRequest> {
    let request: TokenizeRequest = super::parse(body)?;
    if request.prompt.is_some() != request.messages.is_empty() {
        let message = "give either prompt or messages";
        return Err(ServeError::invalid("prompt", message));
    }
    if request.add_generation_prompt == Some(false) {
        let message = "add_generation_prompt is false, accepted: true";
        return Err(ServeError::unsupported("add_generation_prompt", message));
    }
    Ok(request)
}

/// Token ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TokenizeResponse {
    /// Number of tokens.
    pub count: usize,
    /// Longest sequence the model was made for.
    pub max_model_len: usize,
    /// The ids.
    pub tokens: Vec<u32>,
    /// The text of each, if it was asked for.
    pub token_strs: Option<Vec<String>>,
}

/// Token ids to be turned into text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct DetokenizeRequest {
    /// A served name.
    #[serde(default)]
    pub model: Option<String>,
    /// The ids.
    #[serde(deserialize_with = "bounded")]
    pub tokens: Vec<u32>,
}

/// The text of token ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DetokenizeResponse {
    /// The text.
    pub prompt: String,
}
