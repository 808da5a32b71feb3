//! Templates of a post-processor: which tokens stand around a text.

use mico_util::text::quoted;
use serde_json::{Map, Value};

use super::Fault;
use super::vocabulary::Vocabulary;

/// Most pieces of a template, and most tokens that templates name.
const MAX_PIECES: usize = 64;

/// The template for one text: that text once, and tokens that are described.
pub(super) fn check_single(
    value: &Value,
    fields: &Map<String, Value>,
    place: &str,
) -> Result<(), Fault> {
    if check_pieces(value, fields, place, &["A"])? != 1 {
        return Err(Fault::Corrupt(format!("{place}: `single` must have the sequence A once")));
    }
    Ok(())
}

/// The template for two texts.
pub(super) fn check_pair(
    value: &Value,
    fields: &Map<String, Value>,
    place: &str,
) -> Result<(), Fault> {
    check_pieces(value, fields, place, &["A", "B"]).map(|_| ())
}

/// The number of sequences among the pieces.
fn check_pieces(
    value: &Value,
    fields: &Map<String, Value>,
    place: &str,
    sequences: &[&str],
) -> Result<usize, Fault> {
    let Some(pieces) = value.as_array().filter(|pieces| pieces.len() <= MAX_PIECES) else {
        let message = format!("{place}: a template is not a list of at most {MAX_PIECES} pieces");
        return Err(Fault::Corrupt(message));
    };
    let tokens = fields.get("special_tokens").and_then(Value::as_object);
    let mut found = 0;
    for piece in pieces {
        let entry =
            piece.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        let named = entry.and_then(|(kind, piece)| {
            let type_id = piece.get("type_id")?.as_u64().filter(|id| u32::try_from(*id).is_ok());
            type_id.and(Some((kind.as_str(), piece.get("id")?.as_str()?)))
        });
        match named {
            Some(("Sequence", id)) if sequences.contains(&id) => found += 1,
            Some(("SpecialToken", id)) if tokens.is_some_and(|tokens| tokens.contains_key(id)) => {}
            _ => {
                let message = format!(
                    "{place}: piece {} is neither the sequence {} nor one of `special_tokens`",
                    quoted(&piece.to_string()),
                    sequences.join(" or ")
                );
                return Err(Fault::Corrupt(message));
            }
        }
    }
    Ok(found)
}

/// The tokens that templates name: each with as many ids as texts, all of the vocabulary.
pub(super) fn check_tokens(
    value: &Value,
    vocabulary: &Vocabulary<'_>,
    place: &str,
) -> Result<(), Fault> {
    let Some(tokens) = value.as_object().filter(|tokens| tokens.len() <= MAX_PIECES) else {
        let message =
            format!("{place}: `special_tokens` is not an object of at most {MAX_PIECES} tokens");
        return Err(Fault::Corrupt(message));
    };
    for (name, token) in tokens {
        let list = |key: &str| token.get(key).and_then(Value::as_array);
        let known = |id: &Value| id.as_u64().is_some_and(|id| vocabulary.contains(id));
        let good = list("ids").zip(list("tokens")).is_some_and(|(ids, texts)| {
            (1..=MAX_PIECES).contains(&ids.len())
                && ids.len() == texts.len()
                && ids.iter().all(known)
                && texts.iter().all(Value::is_string)
        });
        if !good || token.get("id").and_then(Value::as_str) != Some(name) {
            let message = format!(
                "{place}: special token '{}' does not list ids of the vocabulary and their tokens",
                quoted(name)
            );
            return Err(Fault::Corrupt(message));
        }
    }
    Ok(())
}
