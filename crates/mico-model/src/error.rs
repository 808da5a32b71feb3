//! Everything that can go wrong with a model folder or a call into the model.

use std::path::PathBuf;

use candle_core::Device;
use mico_util::text::quoted;

/// What this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// One line that names the thing at fault, what was found and what is accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A JSON file is not JSON, or not an object.
    #[error("{}: not a JSON object: {message}", path.display())]
    Json {
        /// The file that was parsed, folder included.
        path: PathBuf,
        /// The parser's message, or what was found in place of an object.
        message: String,
    },

    /// A setting of `config.json` is missing, of the wrong kind or out of range.
    #[error("{file}: `{field}` {message}")]
    Config {
        /// The file the setting was read from (or the preset's name).
        file: String,
        /// Dotted path of the setting.
        field: String,
        /// What was found and what is accepted.
        message: String,
    },

    /// A setting of `config.json` that is well formed and asks for something this crate does not have,
    /// such as an architecture nobody brought.
    #[error("{file}: `{field}` {message}")]
    Unsupported {
        /// The file the setting was read from.
        file: String,
        /// Dotted path of the setting.
        field: String,
        /// What was found and what is accepted.
        message: String,
    },

    /// The shard index is malformed or names something outside the folder.
    #[error("{}: {message}", path.display())]
    Index {
        /// The index at fault, such as `model.safetensors.index.json`.
        path: PathBuf,
        /// What was found and what is accepted.
        message: String,
    },

    /// A safetensors file is truncated or its header is wrong.
    #[error("{}: {message}", path.display())]
    Shard {
        /// The safetensors file at fault.
        path: PathBuf,
        /// What was found and what is accepted.
        message: String,
    },

    /// A tensor the model needs is in none of the files.
    #[error("missing tensor {} of shape {shape:?} in {}", alternatives(names), path.display())]
    MissingTensor {
        /// Every name that was tried.
        names: Vec<String>,
        /// The shape it should have.
        shape: Vec<usize>,
        /// The model folder whose files were searched.
        path: PathBuf,
    },

    /// A tensor does not have the shape the configuration asks for.
    #[error(
        "tensor `{}` has shape {found:?}, the configuration asks for {expected:?}",
        quoted(name)
    )]
    WrongShape {
        /// The tensor's name in its file.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// The shape the configuration implies.
        expected: Vec<usize>,
    },

    /// A weight is NaN or infinite, found while it was read: every answer would be.
    #[error("{}: tensor `{}` holds NaN or infinity, every weight must be finite", path.display(), quoted(name))]
    NotFinite {
        /// The tensor's name in its file.
        name: String,
        /// The safetensors file that holds it.
        path: PathBuf,
    },

    /// A tensor is stored in a number format that is not a weight format.
    #[error("tensor `{}` is stored as {found}; accepted: F32, F16, BF16, F64", quoted(name))]
    WrongDtype {
        /// The tensor's name in its file.
        name: String,
        /// The number format in the file's header, such as `I64`.
        found: String,
    },

    /// A call passed something the model cannot work with.
    #[error("{what}: {message}")]
    Input {
        /// The argument at fault.
        what: &'static str,
        /// What was found and what is accepted.
        message: String,
    },

    /// A name that should be one of a fixed list is not.
    #[error("unknown {what} `{}`; accepted: {accepted}", quoted(found))]
    Unknown {
        /// What kind of name.
        what: &'static str,
        /// The name as it was given.
        found: String,
        /// Every accepted name, separated by commas.
        accepted: String,
    },

    /// The caller stopped the work.
    #[error("cancelled by the caller")]
    Cancelled,

    /// The tensor library failed.
    #[error("tensor operation failed: {}", first_line(.0))]
    Tensor(#[from] candle_core::Error),
}

impl Error {
    pub(crate) fn input(what: &'static str, message: impl Into<String>) -> Self {
        Self::Input { what, message: message.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

/// The first of the names under which a tensor was looked for; families differ only in their prefixes.
fn alternatives(names: &[String]) -> String {
    const SHOWN: usize = 2;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| quoted(name)).collect();
    let more = if names.len() > SHOWN { " | …" } else { "" };
    format!("{}{more}", shown.join(" | "))
}

/// Refuses a tensor whose shape is not `expected`.
pub(crate) fn expect_dims(
    what: &'static str,
    found: &candle_core::Tensor,
    expected: &[usize],
) -> Result<()> {
    if found.dims() == expected {
        return Ok(());
    }
    Err(Error::input(what, format!("shape {:?}, expected {expected:?}", found.dims())))
}

/// Whether the hand-written CPU kernels apply to tensors on this device.
pub(crate) fn on_cpu(device: &Device) -> bool {
    matches!(device, Device::Cpu)
}

/// The first line of an error: the tensor library adds where it came from, if the environment asks
/// for backtraces.
pub fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
