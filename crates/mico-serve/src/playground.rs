//! The page at `/`: three files in this program, and nothing from anywhere else.

use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;

/// Scripts and styles of this server alone; pictures also from the page itself.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// Path, type and content of the files.
const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("playground/index.html")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("playground/app.js")),
    ("/app.css", "text/css; charset=utf-8", include_str!("playground/app.css")),
    ("/icon.svg", "image/svg+xml", include_str!("playground/icon.svg")),
];

/// Adds the page to the routes.
pub(crate) fn routes(router: Router<Arc<App>>) -> Router<Arc<App>> {
    FILES.into_iter().fold(router, |router, (path, kind, content)| {
        router.route(path, get(move || async move { file(kind, content) }))
    })
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, content).into_response()
}
