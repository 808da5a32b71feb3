//! What happens to every request before and after its handler: Host, origin, key, request id, log, and panics.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tower::ServiceExt as _;

use crate::app::App;
use crate::auth::Caller;
use crate::chat::ClientName;
use crate::error::{Result, ServeError};
use crate::host::allowed_origin;
use crate::request_id::{REQUEST_ID, request_id};
use crate::routes::{METRICS, OPEN, route_of};

/// Answers one request. `peer` tells clients apart that have no key.
pub async fn answer(
    app: Arc<App>,
    router: Router,
    peer: Arc<str>,
    request: Request<Body>,
) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    let (method, route) = (request.method().clone(), route_of(request.uri().path()));
    let origin = allowed_origin(&app.config.cors_origins, request.headers()).cloned();
    let handled = guarded(&app, router, &peer, request);
    let mut response = match contained(handled).await {
        Some(result) => result.unwrap_or_else(ServeError::into_response),
        None => ServeError::internal("a handler panicked").into_response(),
    };
    let status = response.status();
    app.metrics.answered(route, method.as_str(), status.as_u16());
    let error = response.extensions_mut().remove::<ServeError>();
    tracing::info!(
        request = %id,
        method = %method,
        route,
        status = status.as_u16(),
        milliseconds = began.elapsed().as_millis() as u64,
        code = error.as_ref().map_or("", |error| error.code.name()),
        cause = error.as_ref().and_then(|error| error.cause.as_deref()).unwrap_or(""),
        "request"
    );
    decorate(response.headers_mut(), &id, origin);
    response
}

/// The headers that every response has.
fn decorate(headers: &mut HeaderMap, id: &str, origin: Option<HeaderValue>) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}

async fn guarded(
    app: &Arc<App>,
    router: Router,
    peer: &str,
    mut request: Request<Body>,
) -> Result<Response> {
    app.config.hosts.check(request.uri(), request.headers())?;
    if let Some(response) = preflight(app, &request) {
        return Ok(response);
    }
    let caller = match app.config.keys.check(request.headers()) {
        Err(error) if !is_open(app, request.uri().path()) => return Err(error),
        caller => caller.unwrap_or(Caller::Anonymous),
    };
    request.extensions_mut().insert(ClientName(match caller {
        Caller::Key(number) => format!("key {number}"),
        Caller::Anonymous => format!("peer {peer}"),
    }));
    router.oneshot(request).await.map_err(|never| match never {})
}

/// Whether a path asks for no key: by the very text of the path, so that no other spelling of one passes.
fn is_open(app: &App, path: &str) -> bool {
    OPEN.contains(&path) || (path == METRICS && app.config.public_metrics)
}

/// The answer to a browser that asks whether a page may send a request; only listed origins get one.
fn preflight(app: &App, request: &Request<Body>) -> Option<Response> {
    let asks = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    allowed_origin(&app.config.cors_origins, request.headers())?;
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, x-api-key, x-request-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    Some((StatusCode::NO_CONTENT, headers).into_response())
}

/// `None` if the work panicked.
async fn contained<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}
