//! Reading a request's body: only JSON, only so much, only so slowly.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use crate::app::App;
use crate::error::{Code, Result, ServeError};

/// From here on a body is one of the large ones, of which only so many are held at once.
const LARGE: usize = 1 << 20;
/// A whole body may take this many times as long as it may pause.
const PAUSES: u32 = 10;

/// A body with the permission to hold it, if it is a large one.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Reads the body of a request.
pub(crate) async fn read(app: &App, request: Request<Body>) -> Result<Held> {
    check_headers(request.headers())?;
    let most = app.config.max_body;
    let too_large = || {
        let message = format!("the body has more than {most} bytes");
        ServeError::new(Code::RequestTooLarge, message)
    };
    if declared(request.headers()).is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let late = |_| {
        let message = "the body did not arrive in time";
        ServeError::new(Code::RequestTimeout, message)
    };
    let pause = app.config.body_timeout;
    let end = Instant::now() + pause * PAUSES;
    let (mut body, mut bytes, mut permit) = (request.into_body(), BytesMut::new(), None);
    loop {
        let frame = timeout_at(end, timeout(pause, body.frame())).await.map_err(late)?;
        let Some(frame) = frame.map_err(late)? else { break };
        let broken = |_| ServeError::new(Code::InvalidJson, "the body broke off");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large());
        }
        if permit.is_none() && bytes.len() + data.len() > LARGE {
            let closed = |_| ServeError::internal("the semaphore of large bodies is closed");
            permit = Some(Arc::clone(&app.large_bodies).acquire_owned().await.map_err(closed)?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Held { bytes: bytes.freeze(), _permit: permit })
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A browser cannot send this type to another site without asking first.
fn check_headers(headers: &HeaderMap) -> Result<()> {
    let refused = |message: &str| Err(ServeError::new(Code::UnsupportedMediaType, message));
    if headers.contains_key(header::CONTENT_ENCODING) {
        return refused("compressed bodies are not accepted");
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    refused("accepted is Content-Type: application/json")
}
