//! Every way a request can be refused or fail, and the one table from it to HTTP.
//!
//! Messages are this crate's own sentences with numbers in them. What a decoder, a resolver or the engine said inside
//! goes to the log under the request's id, never to the client.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// What this crate returns.
pub type Result<T, E = ServeError> = std::result::Result<T, E>;

/// The cause of an error in one word, as clients compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// The body is no JSON.
    InvalidJson,
    /// A field has the wrong type, or a value outside its range.
    InvalidValue,
    /// A field asks for something that this server does not do.
    UnsupportedParameter,
    /// A part of a message is of a kind that the server or the model does not take.
    UnsupportedContent,
    /// An image cannot be decoded.
    ImageInvalid,
    /// An image, or all images together, exceed a limit.
    ImageTooLarge,
    /// The method is not defined for the model, or no schedule meets the budget.
    PruningRefused,
    /// The prompt is longer than the model was made for.
    ContextLengthExceeded,
    /// No key, or a wrong one.
    InvalidApiKey,
    /// The host of a URL is none of those allowed.
    HostNotAllowed,
    /// No served model has this name.
    ModelNotFound,
    /// There is no such route.
    NotFound,
    /// The route exists, for other methods.
    MethodNotAllowed,
    /// The client took too long to send its request.
    RequestTimeout,
    /// The body exceeds its limit.
    RequestTooLarge,
    /// The body is not declared as plain JSON.
    UnsupportedMediaType,
    /// The Host header names somebody else.
    WrongHost,
    /// Media behind a URL could not be fetched.
    MediaFetchFailed,
    /// As many requests are waiting as may wait.
    Overloaded,
    /// The server's own fault.
    InternalError,
    /// The model is still being loaded.
    Loading,
    /// The server is shutting down.
    Draining,
    /// The request was not answered within its time.
    Timeout,
}

const INVALID: &str = "invalid_request_error";

impl Code {
    /// Status, `type` and `code` of an error body.
    fn row(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::InvalidJson => (S::BAD_REQUEST, INVALID, "invalid_json"),
            Self::InvalidValue => (S::BAD_REQUEST, INVALID, "invalid_value"),
            Self::UnsupportedParameter => (S::BAD_REQUEST, INVALID, "unsupported_parameter"),
            Self::UnsupportedContent => (S::BAD_REQUEST, INVALID, "unsupported_content"),
            Self::ImageInvalid => (S::BAD_REQUEST, INVALID, "image_invalid"),
            Self::ImageTooLarge => (S::BAD_REQUEST, INVALID, "image_too_large"),
            Self::PruningRefused => (S::BAD_REQUEST, INVALID, "pruning_refused"),
            Self::ContextLengthExceeded => (S::BAD_REQUEST, INVALID, "context_length_exceeded"),
            Self::InvalidApiKey => (S::UNAUTHORIZED, "authentication_error", "invalid_api_key"),
            Self::HostNotAllowed => (S::FORBIDDEN, "permission_error", "host_not_allowed"),
            Self::ModelNotFound => (S::NOT_FOUND, INVALID, "model_not_found"),
            Self::NotFound => (S::NOT_FOUND, INVALID, "not_found"),
            Self::MethodNotAllowed => (S::METHOD_NOT_ALLOWED, INVALID, "method_not_allowed"),
            Self::RequestTimeout => (S::REQUEST_TIMEOUT, INVALID, "request_timeout"),
            Self::RequestTooLarge => (S::PAYLOAD_TOO_LARGE, INVALID, "request_too_large"),
            Self::UnsupportedMediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, INVALID, "unsupported_media_type")
            }
            Self::WrongHost => (S::MISDIRECTED_REQUEST, INVALID, "wrong_host"),
            Self::MediaFetchFailed => (S::UNPROCESSABLE_ENTITY, INVALID, "media_fetch_failed"),
            Self::Overloaded => (S::TOO_MANY_REQUESTS, "rate_limit_error", "overloaded"),
            Self::InternalError => (S::INTERNAL_SERVER_ERROR, "server_error", "internal_error"),
            Self::Loading => (S::SERVICE_UNAVAILABLE, "server_error", "loading"),
            Self::Draining => (S::SERVICE_UNAVAILABLE, "server_error", "draining"),
            Self::Timeout => (S::GATEWAY_TIMEOUT, "server_error", "timeout"),
        }
    }

    /// The word as it stands in error bodies and metrics.
    pub fn name(self) -> &'static str {
        self.row().2
    }
}

/// A request that is not answered, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ServeError {
    /// The cause in one word.
    pub code: Code,
    /// One sentence for the person at the other end.
    pub message: String,
    /// The field at fault, as a path such as `messages[0].content[1].image_url.url`.
    pub param: Option<String>,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
    /// What happened inside; for the log alone.
    pub cause: Option<String>,
}

impl ServeError {
    /// An error without a field.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), param: None, retry_after: None, cause: None }
    }

    /// A value that is not accepted, by the name of its field.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidValue, message).at(param)
    }

    /// Something this server does not do, by the name of its field.
    pub fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::UnsupportedParameter, message).at(param)
    }

    /// The server's own fault. The client reads a fixed sentence, the log the cause.
    pub fn internal(cause: impl Into<String>) -> Self {
        let message = "internal error; the server's log has the cause under this request's id";
        Self { cause: Some(cause.into()), ..Self::new(Code::InternalError, message) }
    }

    /// The same at a field.
    pub fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// The same with a cause for the log.
    pub fn because(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// The same with the seconds after which to try again, within what clients obey.
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds.clamp(1, 60)), ..self }
    }

    /// The JSON document that clients get.
    pub fn body(&self) -> ErrorBody {
        let (_, kind, code) = self.code.row();
        ErrorBody {
            error: ErrorObject {
                message: self.message.clone(),
                kind,
                param: self.param.clone(),
                code,
            },
        }
    }
}

/// The HTTP status of an error: the only place that decides one.
pub fn status_of(error: &ServeError) -> StatusCode {
    error.code.row().0
}

/// An error as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorObject,
}

/// What went wrong, in the shape of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorObject {
    /// One sentence.
    pub message: String,
    /// The class of errors, such as `invalid_request_error`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The field at fault, or null.
    pub param: Option<String>,
    /// The cause in one word.
    pub code: &'static str,
}

impl IntoResponse for ServeError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let json = HeaderValue::from_static("application/json");
        let mut response = (status_of(&self), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, json);
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::InvalidApiKey {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // For the access log, which is written further out.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_keeps_its_cause_to_itself() {
        let error = ServeError::internal("tensor 'a' at 0xdead");
        let body = serde_json::to_string(&error.body()).unwrap();
        assert!(!body.contains("dead"), "{body}");
        assert_eq!(status_of(&error), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(error.cause.as_deref(), Some("tensor 'a' at 0xdead"));
    }

    #[test]
    fn delays_stay_within_what_clients_obey() {
        for (asked, told) in [(0, 1), (7, 7), (3600, 60)] {
            let error = ServeError::new(Code::Overloaded, "full").retry_after(asked);
            let response = error.into_response();
            assert_eq!(response.headers()[header::RETRY_AFTER], told.to_string());
            assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        }
    }
}
