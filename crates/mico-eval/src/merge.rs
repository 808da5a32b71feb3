//! Parts of a run put together.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::manifest::{Manifest, SourceEntry};
use crate::shard::Shard;
use crate::summary::missing_records;

/// Reads the parts in `folders`, puts their records into `journal` and says what the whole is. Parts
/// must be of the same run; one that is missing or was not finished is an error unless `partial`.
pub fn merge(folders: &[PathBuf], journal: &Journal, partial: bool) -> Result<Manifest> {
    let mut whole: Option<Manifest> = None;
    let mut parts: BTreeSet<Shard> = BTreeSet::new();
    for folder in folders {
        let part = Manifest::read(folder)?;
        let incompatible = |reason: String| Error::Incompatible { path: folder.clone(), reason };
        if !part.finished && !partial {
            return Err(incompatible(
                "the run was not finished, accepted: --resume it, or --partial".into(),
            ));
        }
        let again = !parts.insert(part.shard);
        for record in Journal::read(folder)?.records() {
            journal.append(record)?;
        }
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => {
                whole.matches(&part).map_err(|what| {
                    incompatible(format!(
                        "is of another run than {}: {what} differ",
                        folders[0].display()
                    ))
                })?;
                merge_into(whole, part, again);
            }
        }
    }
    let Some(mut whole) = whole else {
        let accepted = "the results of at least one part".into();
        return Err(Error::OutOfRange { what: "folders", found: "none".into(), accepted });
    };
    let missing_shards = missing_shards(&parts);
    let missing_records = match missing_shards.first() {
        Some(first) => {
            Some(format!("part {first} of the run is missing, accepted: all parts, or --partial"))
        }
        None => missing_records(&whole, journal)?
            .map(|reason| format!("{reason}; accepted: all records, or --partial")),
    };
    if let (Some(reason), false) = (&missing_records, partial) {
        return Err(Error::Incompatible { path: folders[0].clone(), reason: reason.clone() });
    }
    whole.finished &= missing_records.is_none();
    if missing_shards.is_empty() {
        whole.shard = Shard::default();
    }
    Ok(whole)
}

/// Parts that cover no item of each other and are not there.
fn missing_shards(parts: &BTreeSet<Shard>) -> Vec<Shard> {
    if parts.iter().any(|shard| shard.is_whole()) {
        return Vec::new();
    }
    let Some(first) = parts.first() else { return Vec::new() };
    first.all().filter(|shard| !parts.contains(shard)).collect()
}

fn merge_into(whole: &mut Manifest, part: Manifest, again: bool) {
    for damaged in part.damaged {
        if !whole.damaged.contains(&damaged) {
            whole.damaged.push(damaged);
        }
    }
    for (SourceEntry { dropped, items, .. }, other) in whole.asked.iter_mut().zip(&part.asked) {
        *dropped = (*dropped).max(other.dropped);
        // A part that comes twice adds nothing.
        for (own, more) in items.iter_mut().zip(&other.items).filter(|_| !again) {
            *own += more;
        }
    }
    whole.finished &= part.finished;
}
