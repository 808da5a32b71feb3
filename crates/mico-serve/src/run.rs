//! The whole server: runtime, signals, loading, listening, ending.

use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::backend::Backend;
use crate::config::{Config, LogFormat};
use crate::server::{Listener, serve};

/// Threads for connections; computing has threads of its own.
const WORKERS: usize = 2;
/// Threads for requests being read and prepared.
const BLOCKING_THREADS: usize = 16;
/// What is logged unless `RUST_LOG` says otherwise.
const LOGGED: &str = "info";

/// Why a server could not run, or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The port or socket file cannot be opened, or a thread cannot be started.
    #[error("cannot listen: {0}")]
    Io(#[from] io::Error),
    /// The model cannot be loaded; the text is the loader's.
    #[error("{0}")]
    Load(String),
    /// Requests were still running when the time for them was over.
    #[error("shut down before every request had ended")]
    Unfinished,
}

/// Runs a server until SIGTERM or SIGINT. `listening` is told the address once the port is open; `load` then loads
/// the model on a thread of its own, while health checks are answered already.
pub fn run(
    config: Config,
    listening: impl FnOnce(&str),
    load: impl FnOnce(&Arc<App>) -> Result<Arc<dyn Backend>, String> + Send + 'static,
) -> Result<(), RunError> {
    let runtime = runtime()?;
    let app = Arc::new(App::new(config));
    let result = runtime.block_on(async {
        let listener = Listener::bind(&app.config.listen).await?;
        let stop = Signals::new()?;
        listening(&match listener.address()? {
            Some(address) => format!("http://{address}"),
            None => "unix socket".to_owned(),
        });
        let loading = Arc::clone(&app);
        let mut loader = tokio::task::spawn_blocking(move || {
            let loaded = load(&loading)?;
            loading.set_backend(loaded);
            Ok::<(), String>(())
        });
        let (failed, failure) = tokio::sync::oneshot::channel();
        let watch = tokio::spawn(async move {
            let ended = (&mut loader).await;
            let ended = ended.unwrap_or_else(|_| Err("loading the model panicked".to_owned()));
            if let Err(why) = ended {
                let _ = failed.send(why);
            } else {
                tracing::info!("ready");
            }
        });
        let mut load_failure = None;
        let ended = {
            let until = async {
                tokio::select! {
                    () = stop.first() => {}
                    Ok(why) = failure => load_failure = Some(why),
                }
            };
            let second = stop.second();
            tokio::select! {
                ended = serve(Arc::clone(&app), listener, until) => ended,
                () = second => Ok(false),
            }
        };
        watch.abort();
        match (load_failure, ended?) {
            (Some(why), _) => Err(RunError::Load(why)),
            (None, true) => Ok(()),
            (None, false) => Err(RunError::Unfinished),
        }
    });
    // A thread that prepares a request for nobody, or loads for nobody, is not waited for.
    runtime.shutdown_background();
    result
}

/// The runtime of the server: few threads, since all computing is done elsewhere.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("mico-http")
        .enable_all()
        .build()
}

/// Signals to end: the first drains, the second ends at once. SIGHUP is ignored.
struct Signals {
    count: tokio::sync::watch::Receiver<u32>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let (counter, count) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => continue,
                }
                counter.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { count })
    }

    async fn reached(&self, times: u32) {
        let mut count = self.count.clone();
        // The sender lives as long as the runtime.
        let _ = count.wait_for(|count| *count >= times).await;
    }

    async fn first(&self) {
        self.reached(1).await;
    }

    async fn second(&self) {
        self.reached(2).await;
    }
}

/// Writes log lines to standard error, as `RUST_LOG` asks for them. Only the first call counts.
pub fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second call finds somebody listening already.
    let _ = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
