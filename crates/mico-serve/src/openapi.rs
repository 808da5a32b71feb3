//! The description of the routes for programs, made of the wire types.

use utoipa::OpenApi;

use crate::error::ErrorBody;
use crate::wire::{
    ChatRequest, ChatResponse, Chunk, DetokenizeRequest, DetokenizeResponse, InputTokens,
    ModelEntry, ModelList, TokenizeRequest, TokenizeResponse,
};

#[derive(OpenApi)]
#[openapi(
    info(title = "mico serve", description = "An OpenAI-compatible API with a pruning budget per request"),
    components(schemas(
        ChatRequest,
        ChatResponse,
        Chunk<'static>,
        DetokenizeRequest,
        DetokenizeResponse,
        ErrorBody,
        InputTokens,
        ModelEntry,
        ModelList,
        TokenizeRequest,
        TokenizeResponse,
    )),
    paths(chat, input_tokens, tokenize, detokenize, models, model)
)]
struct Document;

/// The whole description.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

#[utoipa::path(post, path = "/v1/chat/completions", request_body = ChatRequest, responses(
    (status = 200, description = "The answer; with `stream`, chunks as server-sent events", body = ChatResponse),
    (status = "4XX", description = "The request is refused", body = ErrorBody),
    (status = "5XX", description = "The server failed, is loading or is shutting down", body = ErrorBody),
))]
#[allow(dead_code)]
fn chat() {}

#[utoipa::path(post, path = "/v1/chat/completions/input_tokens", request_body = ChatRequest, responses(
    (status = 200, description = "What the request would take", body = InputTokens),
    (status = "4XX", description = "The request is refused", body = ErrorBody),
))]
#[allow(dead_code)]
fn input_tokens() {}

#[utoipa::path(post, path = "/tokenize", request_body = TokenizeRequest, responses(
    (status = 200, description = "Token ids", body = TokenizeResponse),
    (status = "4XX", description = "The request is refused", body = ErrorBody),
))]
#[allow(dead_code)]
fn tokenize() {}

#[utoipa::path(post, path = "/detokenize", request_body = DetokenizeRequest, responses(
    (status = 200, description = "Text", body = DetokenizeResponse),
    (status = "4XX", description = "The request is refused", body = ErrorBody),
))]
#[allow(dead_code)]
fn detokenize() {}

#[utoipa::path(get, path = "/v1/models", responses(
    (status = 200, description = "The names under which the model is served", body = ModelList),
))]
#[allow(dead_code)]
fn models() {}

#[utoipa::path(get, path = "/v1/models/{id}", params(("id" = String, Path, description = "A name")), responses(
    (status = 200, description = "One name", body = ModelEntry),
    (status = 404, description = "No such name", body = ErrorBody),
))]
#[allow(dead_code)]
fn model() {}
