//! Records that a run should have and does not.

use mico_util::text::quoted;

use super::Column;
use crate::condition::Condition;
use crate::manifest::{Manifest, SourceEntry};

/// What records there should be and are not, if any: of every setting that lacks one, how many, and which is the
/// first. A setting without a record must not disappear from the tables.
pub(super) fn missing_of(manifest: &Manifest, columns: &[Column]) -> Option<String> {
    let expected: Vec<Option<usize>> = manifest.asked.iter().flat_map(expected_items).collect();
    let short = manifest.settings.iter().enumerate().filter_map(|(at, setting)| {
        let of_track = columns.iter().zip(&expected);
        let (found, asked) =
            of_track.clone().fold((0, 0_usize), |(found, asked), (column, expected)| {
                let items = expected.unwrap_or(0).max(column.items.len());
                (found + column.answered(at), asked.saturating_add(items))
            });
        let first = of_track
            .clone()
            .find_map(|(column, expected)| first_missing(column, at, expected.unwrap_or(0)))?;
        Some(format!(
            "{}: {} of {asked} records missing, the first is {first}",
            title(setting),
            asked - found
        ))
    });
    let short: Vec<String> = short.collect();
    let (first, others) = short.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        more => format!("{first}; {more} more settings lack some"),
    })
}

/// How many items each track of a source has, if the run came to its end.
fn expected_items(asked: &SourceEntry) -> impl Iterator<Item = Option<usize>> {
    let known = asked.items.iter().copied().map(Some);
    known.chain(std::iter::repeat(None)).take(asked.tracks.len())
}

/// The first item of a track without a record of a setting. One that no setting has a record of has no name.
fn first_missing(column: &Column, setting: usize, expected: usize) -> Option<String> {
    let track = quoted(&column.spec.name);
    let named = column.answers[setting].iter().position(Option::is_none);
    let named = named.map(|at| format!("{track}/item {}", quoted(&column.items[at].id)));
    named.or_else(|| {
        let unknown = expected.checked_sub(column.items.len()).filter(|count| *count > 0)?;
        Some(format!("one of {unknown} {track} items that no setting has a record of"))
    })
}

/// A setting as tables call it.
fn title(setting: &Condition) -> String {
    match setting.tokens() {
        Some(tokens) => format!("{} T={tokens}", quoted(&setting.label)),
        None => quoted(&setting.label),
    }
}
