//! Parsing of single configuration values, with errors that name their field.

use mico_util::text::quoted;
use serde_json::{Map, Value};

use super::{ConfigError, PixelArea, Resize};
use crate::pixels::Size;

/// The largest side or pinpoint a file may state, in pixels.
const MAX_NAMED_SIDE: u64 = 1 << 16;
/// The largest number of resolutions a file may list.
const MAX_PINPOINTS: usize = 4096;

/// The accepted notations of a size, for error messages.
const SIZE_FORMS: &str =
    "a side from 1 to 65536, {\"shortest_edge\"} or {\"height\", \"width\"} of such sides";

/// A value as error messages quote it.
pub(super) fn show(value: &Value) -> String {
    quoted(&value.to_string())
}

pub(super) fn wrong(field: &str, value: &Value, accepted: &'static str) -> ConfigError {
    ConfigError::Field { field: field.to_owned(), found: show(value), accepted }
}

pub(super) fn bool_or(field: &str, value: &Value) -> Result<bool, ConfigError> {
    value.as_bool().ok_or_else(|| wrong(field, value, "true or false"))
}

pub(super) fn positive_number(field: &str, value: &Value) -> Result<f64, ConfigError> {
    let number = value.as_f64().filter(|number| *number > 0.0);
    number.ok_or_else(|| wrong(field, value, "a number above 0"))
}

/// Three numbers, one per channel, or one number for all channels.
pub(super) fn triple(field: &str, value: &Value) -> Result<[f64; 3], ConfigError> {
    let numbers = match value {
        Value::Array(list) => list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
        single => single.as_f64().map(|number| vec![number; 3]),
    };
    numbers
        .and_then(|numbers| <[f64; 3]>::try_from(numbers).ok())
        .ok_or_else(|| wrong(field, value, "a list of 3 numbers, or one number"))
}

fn side(value: &Value) -> Option<u32> {
    let side = value.as_u64().filter(|side| (1..=MAX_NAMED_SIDE).contains(side))?;
    u32::try_from(side).ok()
}

/// A size from `{"height", "width"}` and no other key.
fn height_and_width(object: &Map<String, Value>) -> Option<Size> {
    let size = Size::new(side(object.get("width")?)?, side(object.get("height")?)?);
    (object.len() == 2).then_some(size)
}

/// A whole number above 0.
pub(super) fn count(field: &str, value: &Value) -> Result<u64, ConfigError> {
    let found = value.as_u64().filter(|count| *count > 0);
    found.ok_or_else(|| wrong(field, value, "a whole number above 0"))
}

/// A whole number from 1 to 65536, such as a side in pixels.
pub(super) fn small_count(field: &str, value: &Value) -> Result<u32, ConfigError> {
    side(value).ok_or_else(|| wrong(field, value, "a whole number from 1 to 65536"))
}

/// Whether a size is a pair of areas: `shortest_edge` and `longest_edge` are then pixels of the
/// whole image, whatever their names say.
pub(super) fn area_of(value: &Value) -> bool {
    let names = ["longest_edge", "min_pixels", "max_pixels"];
    value.as_object().is_some_and(|object| names.iter().any(|name| object.contains_key(*name)))
}

/// `{"shortest_edge", "longest_edge"}` or `{"min_pixels", "max_pixels"}`, fewest and most pixels.
pub(super) fn pixel_area(field: &str, value: &Value) -> Result<PixelArea, ConfigError> {
    let mut area = PixelArea::default();
    for (name, value) in value.as_object().into_iter().flatten() {
        match name.as_str() {
            "shortest_edge" | "min_pixels" => area.min = Some(count(field, value)?),
            "longest_edge" | "max_pixels" => area.max = Some(count(field, value)?),
            _ => return Err(wrong(field, value, "`shortest_edge` and `longest_edge`")),
        }
    }
    Ok(area)
}

/// A side, `{"shortest_edge"}`, or `{"height", "width"}`.
pub(super) fn resize(field: &str, value: &Value) -> Result<Resize, ConfigError> {
    let found = match value.as_object() {
        None => side(value).map(Resize::ShortestEdge),
        Some(object) if object.len() == 1 => {
            object.get("shortest_edge").and_then(side).map(Resize::ShortestEdge)
        }
        Some(object) => height_and_width(object).map(Resize::Exact),
    };
    found.ok_or_else(|| wrong(field, value, SIZE_FORMS))
}

/// A side, `{"height", "width"}`, or `{"shortest_edge"}` meaning a square.
pub(super) fn side_or_size(field: &str, value: &Value) -> Result<Size, ConfigError> {
    resize(field, value).map(|resize| match resize {
        Resize::ShortestEdge(side) => Size::square(side),
        Resize::Exact(size) => size,
    })
}

/// A list of pairs, in the file's own order of axes.
pub(super) fn pinpoints(field: &str, value: &Value) -> Result<Vec<[u32; 2]>, ConfigError> {
    let pair = |value: &Value| match value.as_array()?.as_slice() {
        [first, second] => Some([side(first)?, side(second)?]),
        _ => None,
    };
    value
        .as_array()
        .filter(|list| (1..=MAX_PINPOINTS).contains(&list.len()))
        .and_then(|list| list.iter().map(pair).collect())
        .ok_or_else(|| wrong(field, value, "a list of 1 to 4096 pairs of sides from 1 to 65536"))
}
