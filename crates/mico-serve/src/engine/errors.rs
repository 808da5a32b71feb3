//! What errors of the engine and the scheduler mean to a client.

use mico_batch::{Failure, Refusal};
use mico_engine::Error;

use crate::backend::image_error;
use crate::chat::timed_out;
use crate::error::{Code, ServeError};
use crate::wire::pruning_code;

/// The client's fault where it is; `params` are the fields that the images came from.
pub(super) fn engine_error(error: &Error, params: &[String]) -> ServeError {
    let param = |index: usize| params.get(index).map_or("messages", String::as_str);
    let refused = |code: Code, at: &str| ServeError::new(code, error.to_string()).at(at);
    match error {
        Error::Image { index, source } => image_error(param(*index), source),
        Error::Unfit { index, .. } => refused(Code::ImageInvalid, param(*index)),
        Error::Select(source) => selection_error(source),
        Error::TooLong { .. } => refused(Code::ContextLengthExceeded, "messages"),
        Error::OutOfRange { what, .. } => refused(Code::InvalidValue, field(what)),
        Error::Unknown { .. } => refused(Code::InvalidValue, "mico"),
        Error::Placeholders { .. } | Error::SpecialInText { .. } | Error::Conversation(_) => {
            refused(Code::InvalidValue, "messages")
        }
        // The file's path is nobody's business.
        Error::LongText { bytes, longest, .. } => {
            let message = format!("a text of {bytes} bytes, accepted: at most {longest}");
            ServeError::invalid("messages", message)
        }
        Error::Template { message, .. } => {
            let told = "the model's chat template does not take this conversation";
            ServeError::invalid("messages", told).because(message.clone())
        }
        other => ServeError::internal(other.to_string()),
    }
}

fn selection_error(error: &mico_select::Error) -> ServeError {
    use mico_select::Error as E;
    match error {
        E::OutOfRange { what, .. } => ServeError::invalid(field(what), error.to_string()),
        E::UnknownMethod { .. } => ServeError::invalid("mico.method", error.to_string()),
        E::UnknownSetting { .. } | E::BadSetting { .. } => {
            ServeError::invalid("mico.set", error.to_string())
        }
        E::Undefined { .. } | E::Schedule { .. } | E::Refused { .. } => {
            ServeError::new(pruning_code(error), error.to_string()).at("mico")
        }
        other => ServeError::internal(other.to_string()),
    }
}

/// The field of a request that a value of the engine comes from.
fn field(what: &str) -> &'static str {
    match what {
        "refine-layer" => "mico.refine_layer",
        "pool" => "mico.pool",
        "budget" => "mico.budget",
        "keep" => "mico.keep",
        "method" => "mico.method",
        "temperature" => "temperature",
        "top-p" => "top_p",
        "top-k" => "top_k",
        "stop string" => "stop",
        _ => "messages",
    }
}

/// Why a job was not accepted.
pub(super) fn refusal(why: &Refusal) -> ServeError {
    match why {
        Refusal::TooLarge { .. } => ServeError::new(Code::InvalidValue, why.to_string()),
        Refusal::Overloaded { retry_after, .. } => {
            ServeError::new(Code::Overloaded, why.to_string()).retry_after(retry_after.as_secs())
        }
        Refusal::Draining => {
            ServeError::new(Code::Draining, "the server is shutting down").retry_after(5)
        }
        other => ServeError::internal(other.to_string()),
    }
}

/// Why an accepted job was not answered.
pub(super) fn failure(why: &Failure<Error>, params: &[String]) -> ServeError {
    match why {
        Failure::Backend(error) => engine_error(error, params),
        Failure::TimedOut { limit } => timed_out(*limit),
        Failure::Refused(why) => refusal(why),
        Failure::ShutDown => ServeError::new(Code::Draining, "the server is shutting down"),
        other => ServeError::internal(other.to_string()),
    }
}
