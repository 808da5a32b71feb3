//! The routes and what answers them. Every route is listed here; what is not listed does not exist.

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::app::App;
use crate::body;
use crate::chat::{self, ClientName};
use crate::error::{Code, Result, ServeError};
use crate::openapi;
use crate::version::{COMMIT, VERSION};
use crate::wire::{
    self, DetokenizeRequest, DetokenizeResponse, ModelEntry, ModelList, ModelMico,
    TokenizeResponse, Wanted,
};

type Shared = State<Arc<App>>;

/// Routes that ask for no key.
pub const OPEN: [&str; 7] = ["/health", "/ping", "/ready", "/", "/app.js", "/app.css", "/icon.svg"];
/// The route that asks for none if the operator says so.
pub const METRICS: &str = "/metrics";

/// Every route with its methods, as tests and metrics name them.
pub const ROUTES: [(&str, &str); 18] = [
    ("POST", "/v1/chat/completions"),
    ("POST", "/chat/completions"),
    ("POST", "/v1/chat/completions/input_tokens"),
    ("POST", "/tokenize"),
    ("POST", "/detokenize"),
    ("GET", "/v1/models"),
    ("GET", "/models"),
    ("GET", "/v1/models/{id}"),
    ("GET", "/health"),
    ("GET", "/ping"),
    ("GET", "/ready"),
    ("GET", METRICS),
    ("GET", "/version"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("GET", "/app.js"),
    ("GET", "/app.css"),
    ("GET", "/icon.svg"),
];

/// The name of a path in metrics: the route, or `other`.
pub fn route_of(path: &str) -> &'static str {
    let known = ROUTES.iter().find(|(_, route)| *route == path).map(|(_, route)| *route);
    let model = || path.strip_prefix("/v1/models/").filter(|id| !id.is_empty());
    known.or_else(|| model().map(|_| "/v1/models/{id}")).unwrap_or("other")
}

/// All routes.
pub fn router(app: Arc<App>) -> Router {
    let router = Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/chat/completions", post(complete))
        .route("/v1/chat/completions/input_tokens", post(count))
        .route("/tokenize", post(tokenize))
        .route("/detokenize", post(detokenize))
        .route("/v1/models", get(models))
        .route("/models", get(models))
        .route("/v1/models/{*id}", get(model))
        .route("/health", get(health))
        .route("/ping", get(health))
        .route("/ready", get(ready))
        .route(METRICS, get(metrics))
        .route("/version", get(version))
        .route("/openapi.json", get(openapi));
    let router = if app.config.playground { crate::playground::routes(router) } else { router };
    router.method_not_allowed_fallback(wrong_method).fallback(not_found).with_state(app)
}

async fn not_found() -> ServeError {
    ServeError::new(Code::NotFound, "there is no such route")
}

async fn wrong_method() -> ServeError {
    ServeError::new(Code::MethodNotAllowed, "the route does not take this method")
}

async fn complete(
    State(app): Shared,
    Extension(client): Extension<ClientName>,
    request: Request<Body>,
) -> Result<Response> {
    chat::complete(app, client, request).await
}

async fn count(State(app): Shared, request: Request<Body>) -> Result<Response> {
    chat::count(app, request).await
}

async fn tokenize(State(app): Shared, request: Request<Body>) -> Result<Response> {
    let backend = Arc::clone(app.backend()?);
    let held = body::read(&app, request).await?;
    let work = move || {
        let request = wire::parse_tokenize(&held.bytes)?;
        app.config.names.resolve(request.model.as_deref(), &[], None)?;
        let tokens = match &request.prompt {
            Some(prompt) => backend.tokenize(prompt, request.add_special_tokens.unwrap_or(true))?,
            None => backend.tokenize_turns(&wire::turns(request.messages, &app.config.check)?)?,
        };
        let strings = tokens.iter().map(|id| backend.detokenize(&[*id])).collect::<Result<_>>();
        let token_strs =
            request.return_token_strs.unwrap_or(false).then_some(strings).transpose()?;
        let max_model_len = backend.model().max_model_len;
        Ok(TokenizeResponse { count: tokens.len(), max_model_len, tokens, token_strs })
    };
    chat::json(&off_the_workers(work).await?)
}

async fn detokenize(State(app): Shared, request: Request<Body>) -> Result<Response> {
    let backend = Arc::clone(app.backend()?);
    let held = body::read(&app, request).await?;
    let work = move || {
        let request: DetokenizeRequest = wire::parse(&held.bytes)?;
        app.config.names.resolve(request.model.as_deref(), &[], None)?;
        Ok(DetokenizeResponse { prompt: backend.detokenize(&request.tokens)? })
    };
    chat::json(&off_the_workers(work).await?)
}

async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let joined = spawn_blocking(work).await;
    joined.unwrap_or_else(|_| Err(ServeError::internal("a thread for blocking work panicked")))
}

async fn models(State(app): Shared) -> Result<Response> {
    chat::json(&ModelList { object: "list", data: entries(&app)? })
}

async fn model(State(app): Shared, Path(id): Path<String>) -> Result<Response> {
    let entry = entries(&app)?.into_iter().find(|entry| entry.id == id);
    let missing = || {
        let id = mico_util::text::quoted(&id);
        let message = format!("model '{id}' is not served");
        ServeError::new(Code::ModelNotFound, message).at("model")
    };
    chat::json(&entry.ok_or_else(missing)?)
}

fn entries(app: &App) -> Result<Vec<ModelEntry>> {
    let info = app.backend()?.model();
    let video = info.takes_video.then_some("video");
    let entry = |(id, wanted): (String, &Wanted)| ModelEntry {
        id,
        object: "model",
        created: app.started,
        owned_by: "mico",
        root: info.root.clone(),
        max_model_len: info.max_model_len,
        mico: ModelMico {
            family: info.family.clone(),
            layers: info.layers,
            refine_layer: info.refine_layer,
            methods: mico_select::methods::METHODS.iter().map(|method| method.name).collect(),
            default: match wanted {
                Wanted::Pruned(spec) => Some(spec.to_string()),
                Wanted::Off | Wanted::Unsaid => None,
            },
            modalities: ["text", "image"].into_iter().chain(video).collect(),
        },
    };
    Ok(app.config.names.listed().into_iter().map(entry).collect())
}

/// How the server is, as probes read it.
#[derive(Debug, Serialize)]
struct Status {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
}

async fn health(State(app): Shared) -> Response {
    let (code, status) = if app.is_healthy() {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "stalled")
    };
    (code, axum::Json(Status { status, progress: None })).into_response()
}

async fn ready(State(app): Shared) -> Response {
    let status = match app.backend() {
        Ok(_) => {
            return axum::Json(Status { status: "ready", progress: None }).into_response();
        }
        Err(error) if error.code == Code::Loading => {
            Status { status: "loading", progress: Some(app.progress()) }
        }
        Err(_) => Status { status: "draining", progress: None },
    };
    let again = [(header::RETRY_AFTER, HeaderValue::from_static("5"))];
    (StatusCode::SERVICE_UNAVAILABLE, again, axum::Json(status)).into_response()
}

async fn metrics(State(app): Shared) -> Response {
    let load = app.loaded().map(|backend| backend.load());
    let text = app.metrics.text(load.as_ref(), app.backend().is_ok());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What runs.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the field is called so")]
struct Version<'a> {
    version: &'static str,
    commit: &'static str,
    features: &'a [&'static str],
    engine: Option<&'a serde_json::Value>,
}

async fn version(State(app): Shared) -> Result<Response> {
    chat::json(&Version {
        version: VERSION,
        commit: COMMIT,
        features: if app.config.playground { &["playground"] } else { &[] },
        engine: app.loaded().map(|backend| &backend.model().description),
    })
}

async fn openapi() -> Result<Response> {
    chat::json(&openapi::document())
}
