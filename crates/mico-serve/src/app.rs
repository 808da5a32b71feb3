//! What every handler shares: settings, the model once it is loaded, counters, and whether the server is ending.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;

use crate::backend::Backend;
use crate::config::Config;
use crate::error::{Code, Result, ServeError};
use crate::metrics::Metrics;
use crate::version::VERSION;

/// Requests whose images are fetched over the network at once.
const FETCHES: usize = 4;
/// Requests with a large body that are read and prepared at once.
const LARGE_BODIES: usize = 16;
/// Panics within [`PANIC_WINDOW`] that make the server count as ill.
const PANICS: u64 = 3;
const PANIC_WINDOW: Duration = Duration::from_mins(1);
/// Seconds after which to try again while the model is loaded or the server ends.
const TRY_AGAIN: u64 = 5;

/// What every handler shares.
pub struct App {
    /// The settings.
    pub config: Config,
    /// Everything that is counted.
    pub metrics: Arc<Metrics>,
    /// When the server was started, in seconds since 1970.
    pub started: u64,
    backend: OnceLock<Arc<dyn Backend>>,
    progress: AtomicU64,
    draining: AtomicBool,
    panics: Mutex<PanicWatch>,
    pub(crate) fetches: Semaphore,
    pub(crate) large_bodies: Arc<Semaphore>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The last panics, by when they were first noticed.
#[derive(Debug, Default)]
struct PanicWatch {
    count: u64,
    noticed: Vec<Instant>,
}

impl App {
    /// A server without a model yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            metrics: Arc::default(),
            started: unix_time(),
            backend: OnceLock::new(),
            progress: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            panics: Mutex::default(),
            fetches: Semaphore::new(FETCHES),
            large_bodies: Arc::new(Semaphore::new(LARGE_BODIES)),
        }
    }

    /// Puts the model in place; requests are accepted from now on. Only the first one counts.
    pub fn set_backend(&self, backend: Arc<dyn Backend>) {
        if self.backend.set(backend).is_ok() && self.is_draining() {
            self.drain();
        }
    }

    /// Notes how much of the model is loaded, from 0 to 1.
    pub fn set_progress(&self, share: f64) {
        self.progress.store((share.clamp(0.0, 1.0) * 1000.0) as u64, Ordering::Relaxed);
    }

    /// How much of the model is loaded, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.progress.load(Ordering::Relaxed) as f64 / 1000.0
    }

    /// The model, if requests are accepted.
    pub fn backend(&self) -> Result<&Arc<dyn Backend>> {
        if self.is_draining() {
            let error = ServeError::new(Code::Draining, "the server is shutting down");
            return Err(error.retry_after(TRY_AGAIN));
        }
        self.loaded().ok_or_else(|| {
            let error = ServeError::new(Code::Loading, "the model is still being loaded");
            error.retry_after(TRY_AGAIN)
        })
    }

    /// The model, once it is loaded.
    pub fn loaded(&self) -> Option<&Arc<dyn Backend>> {
        self.backend.get()
    }

    /// Accepts no further requests; those that wait are refused, and running ones may finish.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        if let Some(backend) = self.loaded() {
            backend.close(self.config.shutdown_timeout);
        }
    }

    /// Whether the server is ending.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Whether the computing thread moves and does not panic again and again.
    pub fn is_healthy(&self) -> bool {
        let Some(load) = self.loaded().map(|backend| backend.load()) else { return true };
        let mut watch = self.panics.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let new = load.panics.saturating_sub(watch.count).min(PANICS);
        watch.count = load.panics;
        watch.noticed.extend((0..new).map(|_| now));
        watch.noticed.retain(|noticed| now.duration_since(*noticed) < PANIC_WINDOW);
        load.stalled < self.config.stall && (watch.noticed.len() as u64) < PANICS
    }

    /// What equal answers have in common: the version, and a digest of what decides them.
    pub fn fingerprint(&self) -> String {
        let digest = self.loaded().map_or("", |backend| backend.model().fingerprint.as_str());
        let digest = digest.get(..6).unwrap_or(digest);
        format!("mico-{VERSION}-{digest}")
    }
}

/// Seconds since 1970.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
