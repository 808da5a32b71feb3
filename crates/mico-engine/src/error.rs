//! Everything that can go wrong between a request and its answer.

use std::path::PathBuf;

use crate::memory::Size;
use mico_model::ModelFiles;
use mico_util::ErrorKind;
use mico_util::text::quoted;
use mico_vision::ParamError;
use mico_vision::decode::DecodeError;
use mico_vision::preprocessor_config::ConfigError;

/// The longest text file beside the weights that is read, other than `tokenizer.json`. Parsed JSON takes up to
/// thirty times its length in memory; published files have less than a tenth of this.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// What this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One line that names the thing at fault, what was found and what is accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model folder cannot be loaded, or a call into the loaded model failed.
    #[error(transparent)]
    Model(mico_model::Error),

    /// A method refuses the model, the budget or a setting when a request is planned, or its selection
    /// fails at a stage.
    #[error(transparent)]
    Select(#[from] mico_select::Error),

    /// An image that came as a file's bytes cannot be decoded.
    #[error("image {index}: {source}")]
    Image {
        /// Number of the image in the request, from 0.
        index: usize,
        /// What the decoder objected to: the format, the size or the bytes.
        source: DecodeError,
    },

    /// An image was decoded, and the family's processor cannot work with its size.
    #[error("image {index}: {source}")]
    Unfit {
        /// Number of the image in the request, from 0.
        index: usize,
        /// Which parameter of the processor does not admit this image, and what it accepts.
        source: ParamError,
    },

    /// A preprocessor file asks for something that cannot be followed, found when an engine is opened.
    #[error("{}: {source}", path.display())]
    Preprocessor {
        /// The `preprocessor_config.json`, or what stands in for it.
        path: PathBuf,
        /// The field at fault, or the parser's message.
        source: ConfigError,
    },

    /// The preprocessing does not fit the tower, found when an engine is opened or switches change it.
    #[error("image preprocessing: {0}")]
    Processor(#[from] ParamError),

    /// A file beside the weights cannot be read, or is not UTF-8 text.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file as it was looked for, folder included.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A JSON file beside the weights does not parse, or holds something else than it should.
    #[error("{}: {message}", path.display())]
    Json {
        /// The file that was parsed, folder included.
        path: PathBuf,
        /// What was found and what is accepted.
        message: String,
    },

    /// The tokenizer file cannot be used, or a text cannot be encoded or decoded with it.
    #[error("tokenizer {}: {message}", path.display())]
    Tokenizer {
        /// The `tokenizer.json`, or the path it would have.
        path: PathBuf,
        /// What the tokenizers library said, or what the file lacks.
        message: String,
    },

    /// The tokenizer file asks for a component, field or pattern that no published model of the supported
    /// families has. Such files are programs, so nothing unknown is run.
    #[error("tokenizer {}: {message}", path.display())]
    UnsupportedTokenizer {
        /// The `tokenizer.json`, or the path it would have.
        path: PathBuf,
        /// The component at fault, by name.
        message: String,
    },

    /// A text of the request is longer than the tokenizer can be trusted with.
    #[error("a text of {bytes} bytes, accepted: at most {longest} (tokenizer {})", path.display())]
    LongText {
        /// Length of the text.
        bytes: u64,
        /// The longest accepted one, by the tokenizer's components.
        longest: u64,
        /// The `tokenizer.json` that decides it.
        path: PathBuf,
    },

    /// Text was asked for, and there is no tokenizer.
    #[error("no tokenizer ({reason}): give token ids, or a model folder with tokenizer.json")]
    NoTokenizer {
        /// Where it was looked for.
        reason: String,
    },

    /// A chat template is missing, does not compile, or fails on the messages of a request.
    #[error("chat template {file}: {message}")]
    Template {
        /// Where the template comes from.
        file: String,
        /// What the renderer said, in one line.
        message: String,
    },

    /// A prompt has more or fewer image placeholders than the request has images.
    #[error(
        "the prompt has {placeholders} image placeholders (token {id}), {images} images were given"
    )]
    Placeholders {
        /// The token that stands for an image.
        id: u32,
        /// Placeholders in the prompt.
        placeholders: usize,
        /// Images in the request.
        images: usize,
    },

    /// A turn would make the conversation longer than the model was made for.
    #[error("the conversation has {tokens} tokens with this prompt, accepted: at most {longest}")]
    TooLong {
        /// Tokens of the conversation before pruning: text and visual, earlier turns included.
        tokens: usize,
        /// Positions the model knows, or its attention window.
        longest: usize,
    },

    /// The tensors of a [`crate::Dump`] cannot be serialized as safetensors.
    #[error("dump: {0}")]
    Dump(String),

    /// A text of the request would have become a special token, which only templates may write.
    #[error("text of the request would become the special token '{}' (id {id})", quoted(token))]
    SpecialInText {
        /// The special token as the vocabulary writes it, such as `<image>`.
        token: String,
        /// The id the tokenizer would have given it.
        id: u32,
    },

    /// An option or argument of a request is outside its range.
    #[error("{what} is {}, accepted: {accepted}", quoted(found))]
    OutOfRange {
        /// The name of the value.
        what: &'static str,
        /// The value given, as text.
        found: String,
        /// The accepted range or values, in words.
        accepted: String,
    },

    /// A name, such as that of a switch or prompt style, is none of those known.
    #[error("unknown {what} '{}', known: {known}", quoted(found))]
    Unknown {
        /// What kind of name.
        what: &'static str,
        /// The name as it was given.
        found: String,
        /// Every accepted name, separated by commas.
        known: String,
    },

    /// The decoder gave a logit that is NaN or infinite, for the prompt or while decoding.
    #[error(
        "the logit of token {id} is {value} after {generated} generated tokens: no weight is, so the computation overflows"
    )]
    NotFinite {
        /// The first token at fault.
        id: usize,
        /// The logit itself: NaN or an infinity.
        value: f32,
        /// Answer tokens generated before it; 0 if the prompt itself gave the logit.
        generated: usize,
    },

    /// The engine broke a contract of its own. Whatever the request was, it is not at fault.
    #[error("internal error: {0}")]
    Internal(String),

    /// A model or a request would take more memory than is free.
    #[error("{what} takes {} of memory ({uses}), {} are free: {help}", Size(*needed), Size(*free))]
    Memory {
        /// The model, or the request.
        what: &'static str,
        /// Bytes that are needed at once.
        needed: u64,
        /// What they are needed for, with the bytes of each use.
        uses: String,
        /// Bytes that are free for this process.
        free: u64,
        /// What would take less.
        help: String,
    },

    /// The caller stopped the work: its [`crate::Sink`] answered a step with a break.
    #[error("cancelled by the caller")]
    Cancelled,

    /// The operating system does not start the threads that an engine was to have.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// The number of threads that was asked for.
        threads: usize,
        /// What the operating system said.
        reason: String,
    },

    /// A turn does not fit its conversation: another engine's, or messages out of order.
    #[error("conversation: {0}")]
    Conversation(String),

    /// The tensor library failed, for example for want of memory on a device.
    #[error("tensor operation failed: {}", mico_model::first_line(.0))]
    Tensor(#[from] candle_core::Error),
}

impl Error {
    /// Whose fault it is, by which a front end decides what to do.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(error) => model_kind(error),
            Self::Select(error) => select_kind(error),
            Self::Image { source: DecodeError::TooLarge { .. }, .. }
            | Self::TooLong { .. }
            | Self::Memory { .. }
            | Self::LongText { .. } => ErrorKind::TooLarge,
            Self::Image { source: DecodeError::UnknownFormat { .. }, .. }
            | Self::Unfit { .. }
            | Self::UnsupportedTokenizer { .. }
            | Self::NoTokenizer { .. } => ErrorKind::Unsupported,
            Self::Image { .. }
            | Self::Preprocessor { .. }
            | Self::Processor(_)
            | Self::Json { .. }
            | Self::Tokenizer { .. }
            | Self::Template { .. }
            | Self::NotFinite { .. } => ErrorKind::Corrupt,
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::InvalidData => {
                ErrorKind::Corrupt
            }
            Self::Io { .. } | Self::Threads { .. } => ErrorKind::Io,
            Self::OutOfRange { .. } | Self::Unknown { .. } => ErrorKind::Invalid,
            Self::Placeholders { .. } | Self::SpecialInText { .. } | Self::Conversation(_) => {
                ErrorKind::Refused
            }
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Dump(_) | Self::Internal(_) | Self::Tensor(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    pub(crate) fn range(
        what: &'static str,
        found: impl std::fmt::Display,
        accepted: impl Into<String>,
    ) -> Self {
        Self::OutOfRange { what, found: found.to_string(), accepted: accepted.into() }
    }
}

impl From<mico_model::Error> for Error {
    fn from(error: mico_model::Error) -> Self {
        match error {
            mico_model::Error::Cancelled => Self::Cancelled,
            error => Self::Model(error),
        }
    }
}

/// What an error of the model means to someone who asks the engine.
fn model_kind(error: &mico_model::Error) -> ErrorKind {
    use mico_model::Error as E;
    match error {
        E::Io { .. } => ErrorKind::Io,
        E::Json { .. }
        | E::Config { .. }
        | E::Index { .. }
        | E::Shard { .. }
        | E::MissingTensor { .. }
        | E::WrongShape { .. }
        | E::WrongDtype { .. }
        | E::NotFinite { .. } => ErrorKind::Corrupt,
        E::Unsupported { .. } => ErrorKind::Unsupported,
        E::Unknown { .. } => ErrorKind::Invalid,
        E::Cancelled => ErrorKind::Cancelled,
        // The engine makes the calls, so a wrong argument is the engine's fault.
        _ => ErrorKind::Internal,
    }
}

/// What an error of the selector library means to someone who asks the engine.
fn select_kind(error: &mico_select::Error) -> ErrorKind {
    use mico_select::Error as E;
    match error {
        E::OutOfRange { .. }
        | E::UnknownMethod { .. }
        | E::UnknownSetting { .. }
        | E::BadSetting { .. } => ErrorKind::Invalid,
        E::Undefined { .. } | E::Schedule { .. } | E::Refused { .. } => ErrorKind::Refused,
        E::Memory { .. } => ErrorKind::TooLarge,
        // Signals come from the model's weights.
        E::NotFinite { .. } | E::Negative { .. } => ErrorKind::Corrupt,
        _ => ErrorKind::Internal,
    }
}

/// The text of a model's file, if there is one of that name.
pub(crate) fn read_text(files: ModelFiles<'_>, name: &str) -> Result<Option<String>> {
    read_text_up_to(files, name, MAX_TEXT_BYTES)
}

/// [`read_text`] with a limit of its own.
pub(crate) fn read_text_up_to(
    files: ModelFiles<'_>,
    name: &str,
    limit: u64,
) -> Result<Option<String>> {
    let Some(bytes) = files.read(name, limit)? else { return Ok(None) };
    String::from_utf8(bytes.into_owned()).map(Some).map_err(|_| Error::Io {
        path: files.path(name),
        source: std::io::Error::new(std::io::ErrorKind::InvalidData, "not UTF-8 text"),
    })
}
