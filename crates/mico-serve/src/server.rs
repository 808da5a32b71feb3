//! Connections: how many, how slow, and how they end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::app::App;
use crate::config::Listen;
use crate::routes::router;
use crate::service;

/// Bytes of a request's head.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// Header lines of a request.
const MAX_HEADERS: usize = 64;
/// How long a client may take to send a request's head, and to begin another.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// What connections have left to write after the model has ended its work.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// After a failed accept, for instance for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Something that accepts connections.
#[derive(Debug)]
pub enum Listener {
    /// On a port.
    Tcp(TcpListener),
    /// On a socket file.
    Unix(UnixListener),
}

impl Listener {
    /// Opens the port or socket file.
    pub async fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Listen::Unix(path) => bind_private(path).map(Self::Unix),
        }
    }

    /// The address, with the port that was chosen.
    pub fn address(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Some),
            Self::Unix(_) => Ok(None),
        }
    }
}

/// A socket file that only its owner can connect to. One that a killed server has left is taken over.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    if is_abandoned(path) {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether this is a socket file that nobody listens on any more.
fn is_abandoned(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Serves connections until `stop` resolves; then drains. Returns whether everything ended by itself.
pub async fn serve(
    app: Arc<App>,
    listener: Listener,
    stop: impl Future<Output = ()>,
) -> io::Result<bool> {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(app.config.max_connections));
    let router = router(Arc::clone(&app));
    let mut stop = std::pin::pin!(stop);
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, place) => accepted,
        };
        match accepted {
            Ok((Stream::Tcp(stream, peer), place)) => {
                // Pieces of a stream are small and must not wait for each other.
                let _ = stream.set_nodelay(true);
                let peer = peer.ip().to_string().into();
                connection(&graceful, (&app, &router), stream, peer, place);
            }
            Ok((Stream::Unix(stream), place)) => {
                connection(&graceful, (&app, &router), stream, "unix".into(), place);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    tracing::info!("shutting down");
    app.drain();
    let patience = app.config.shutdown_timeout + LAST_WORDS;
    Ok(timeout(patience, graceful.shutdown()).await.is_ok())
}

enum Stream {
    Tcp(tokio::net::TcpStream, SocketAddr),
    Unix(tokio::net::UnixStream),
}

/// Waits for a place, then for a connection: without a place nobody is accepted.
async fn accept(
    listener: &Listener,
    place: impl Future<Output = Result<OwnedSemaphorePermit, tokio::sync::AcquireError>>,
) -> io::Result<(Stream, OwnedSemaphorePermit)> {
    let place = place.await.map_err(io::Error::other)?;
    let stream = match listener {
        Listener::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            Stream::Tcp(stream, peer)
        }
        Listener::Unix(listener) => Stream::Unix(listener.accept().await?.0),
    };
    Ok((stream, place))
}

fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    graceful: &GracefulShutdown,
    (app, router): (&Arc<App>, &Router),
    stream: S,
    peer: Arc<str>,
    place: OwnedSemaphorePermit,
) {
    let (app, router) = (Arc::clone(app), router.clone());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (app, router, peer) = (Arc::clone(&app), router.clone(), Arc::clone(&peer));
        async move {
            let request = request.map(Body::new);
            Ok::<_, std::convert::Infallible>(service::answer(app, router, peer, request).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let served = graceful.watch(served);
    tokio::spawn(async move {
        // Whatever a client does to its connection is its own affair.
        let _ = served.await;
        drop(place);
    });
}
