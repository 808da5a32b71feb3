//! The server's flags: their names, defaults and ranges, for the command line, variables and the configuration file
//! alike. Flags of the model and of the default pruning are the command line's own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where the server listens, whom it lets in, and what one request may cost.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct ServeFlags {
    /// A TOML file with flags by their names; flags and variables win over it.
    #[arg(long, value_name = "FILE", env = "MICO_SERVE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print every setting and where it comes from, and end.
    #[arg(long, env = "MICO_SERVE_PRINT_CONFIG")]
    pub print_config: bool,
    /// Check every setting without loading a model, and end.
    #[arg(long, env = "MICO_SERVE_CHECK")]
    pub check: bool,
    /// Print the address as one line of JSON on standard output.
    #[arg(long, env = "MICO_SERVE_JSON")]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub listen: ListenFlags,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub access: AccessFlags,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub naming: NamingFlags,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub request: RequestFlags,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub capacity: CapacityFlags,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub media: MediaFlags,
}

/// Where the server listens, and what it writes.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct ListenFlags {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1", env = "MICO_SERVE_HOST")]
    pub host: String,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8000, env = "MICO_SERVE_PORT")]
    pub port: u16,
    /// Listen on a socket file in place of a port; only its owner can connect.
    #[arg(long, value_name = "PATH", env = "MICO_SERVE_UNIX_SOCKET")]
    pub unix_socket: Option<PathBuf>,
    /// How log lines are written.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "MICO_SERVE_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Seconds that running requests have to finish after SIGTERM.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "MICO_SERVE_SHUTDOWN_TIMEOUT")]
    pub shutdown_timeout: u64,
    /// Seconds that one step of the model may take before `/health` fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..), env = "MICO_SERVE_STALL")]
    pub stall: u64,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Whom the server lets in.
#[derive(Clone, Args)]
#[non_exhaustive]
pub struct AccessFlags {
    /// A key that requests must carry; repeatable.
    #[arg(long, value_name = "KEY", env = "MICO_API_KEY", hide_env_values = true)]
    pub api_key: Vec<String>,
    /// A file with one key per line, readable by its owner alone.
    #[arg(long, value_name = "FILE", env = "MICO_SERVE_API_KEY_FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Listen beyond this machine without asking for a key.
    #[arg(long, env = "MICO_SERVE_ALLOW_NO_AUTH")]
    pub allow_no_auth: bool,
    /// A further name that requests to a loopback address may have as Host; repeatable.
    #[arg(long, value_name = "HOST", env = "MICO_SERVE_ALLOWED_HOST")]
    pub allowed_host: Vec<String>,
    /// An origin whose web pages may read answers, such as <https://example.org>; repeatable.
    #[arg(long, value_name = "ORIGIN", env = "MICO_SERVE_CORS_ORIGIN")]
    pub cors_origin: Vec<String>,
    /// Serve `/metrics` without a key.
    #[arg(long, env = "MICO_SERVE_PUBLIC_METRICS")]
    pub public_metrics: bool,
    /// Serve no page at `/`.
    #[arg(long, env = "MICO_SERVE_NO_PLAYGROUND")]
    pub no_playground: bool,
}

impl std::fmt::Debug for AccessFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessFlags").field("api_keys", &self.api_key.len()).finish_non_exhaustive()
    }
}

/// Names of the model and what they imply.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct NamingFlags {
    /// Names of the model in requests, separated by commas; the first one is meant when none is given.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "MICO_SERVE_SERVED_MODEL_NAME")]
    pub served_model_name: Vec<String>,
    /// Accept every model name.
    #[arg(long, env = "MICO_SERVE_ANY_MODEL")]
    pub any_model: bool,
    /// A named pruning, requested as MODEL@NAME: fast=budget:64,method:mico; repeatable.
    #[arg(long, value_name = "NAME=SPEC", env = "MICO_SERVE_PROFILE")]
    pub profile: Vec<String>,
    /// What `detail` of an image means: low=64,auto=default,high=none; nothing unless given.
    #[arg(long, value_name = "WORD=MEANING", value_delimiter = ',', env = "MICO_SERVE_DETAIL")]
    pub detail: Vec<String>,
    /// Smallest budget that requests may ask for.
    #[arg(long, value_name = "T", env = "MICO_SERVE_MIN_BUDGET")]
    pub min_budget: Option<usize>,
    /// Largest budget that requests may ask for; unpruned requests are then refused.
    #[arg(long, value_name = "T", env = "MICO_SERVE_MAX_BUDGET")]
    pub max_budget: Option<usize>,
}

/// What one request may ask for.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct RequestFlags {
    /// Most messages of a conversation.
    #[arg(long, value_name = "N", default_value_t = 256, env = "MICO_SERVE_MAX_MESSAGES")]
    pub max_messages: usize,
    /// Most bytes of text in all messages.
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = mico_util::size::parse, env = "MICO_SERVE_MAX_TEXT")]
    pub max_text: usize,
    /// Most tokens of an answer; larger requests are cut to it.
    #[arg(long, value_name = "N", default_value_t = 4096, env = "MICO_SERVE_MAX_TOKENS")]
    pub max_tokens: usize,
    /// Tokens of an answer unless a request says otherwise.
    #[arg(long, value_name = "N", default_value_t = 1024, env = "MICO_SERVE_DEFAULT_MAX_TOKENS")]
    pub default_max_tokens: usize,
    /// Seconds after which a request is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..), env = "MICO_SERVE_REQUEST_TIMEOUT")]
    pub request_timeout: u64,
    /// Unsupported fields to ignore in place of refusing: tools, `response_format`.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = ["tools", "response_format"], env = "MICO_SERVE_LENIENT")]
    pub lenient: Vec<String>,
}

/// What all requests together may take.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct CapacityFlags {
    /// Most bytes of a request's body.
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = mico_util::size::parse, env = "MICO_SERVE_MAX_BODY")]
    pub max_body: usize,
    /// Seconds without a byte after which a body is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..), env = "MICO_SERVE_BODY_TIMEOUT")]
    pub body_timeout: u64,
    /// Most connections at once.
    #[arg(long, value_name = "N", default_value_t = 512, env = "MICO_SERVE_MAX_CONNECTIONS")]
    pub max_connections: usize,
    /// Most requests that wait; further ones are refused with status 429.
    #[arg(long, value_name = "N", default_value_t = 256, env = "MICO_SERVE_MAX_QUEUE")]
    pub max_queue: usize,
    /// Most answers that are made at once.
    #[arg(long, value_name = "N", default_value_t = 8, env = "MICO_SERVE_MAX_SEQUENCES")]
    pub max_sequences: usize,
    /// Most bytes of keys and values of all running requests; a quarter of the machine's memory unless given.
    #[arg(long, value_name = "BYTES", value_parser = mico_util::size::parse, env = "MICO_SERVE_KV_MEMORY")]
    pub kv_memory: Option<usize>,
    /// Most bytes of encoded images that are kept for further requests; 0 keeps none.
    #[arg(long, value_name = "BYTES", default_value = "512MB", value_parser = cache_size, env = "MICO_SERVE_ENCODER_CACHE")]
    pub encoder_cache: usize,
}

/// An amount of memory, or 0 for none.
fn cache_size(text: &str) -> Result<usize, String> {
    if text.trim() == "0" { Ok(0) } else { mico_util::size::parse(text) }
}

/// Where images may come from, and how large they may be.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct MediaFlags {
    /// Most images of a request.
    #[arg(long, value_name = "N", default_value_t = 16, env = "MICO_SERVE_MAX_IMAGES")]
    pub max_images: usize,
    /// Most encoded bytes of an image.
    #[arg(long, value_name = "BYTES", default_value = "20MiB", value_parser = mico_util::size::parse, env = "MICO_SERVE_MAX_IMAGE_BYTES")]
    pub max_image_bytes: usize,
    /// Most pixels of an image as it is sent.
    #[arg(long, value_name = "N", default_value_t = mico_vision::decode::MAX_PIXELS, env = "MICO_SERVE_MAX_IMAGE_PIXELS")]
    pub max_image_pixels: u64,
    /// Most pixels of all images of a request as they are sent.
    #[arg(long, value_name = "N", default_value_t = 128 << 20, env = "MICO_SERVE_MAX_TOTAL_PIXELS")]
    pub max_total_pixels: u64,
    /// A host from which images are fetched: HOST, HOST:PORT or *.HOST; repeatable.
    #[arg(long, value_name = "HOST", env = "MICO_SERVE_ALLOW_MEDIA_HOST")]
    pub allow_media_host: Vec<String>,
    /// Seconds that fetching one image may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..), env = "MICO_SERVE_MEDIA_TIMEOUT")]
    pub media_timeout: u64,
    /// A folder below which `file:` URLs may point.
    #[arg(long, value_name = "DIR", env = "MICO_SERVE_MEDIA_ROOT")]
    pub media_root: Option<PathBuf>,
}
