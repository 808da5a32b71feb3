//! Delivers parquet rows as a stream of samples.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use mico_score::Track;
use serde_json::json;

use super::cursor::Cursor;
use super::images::ImageTable;
use super::item::{self, Item, Seen};
use super::row::{Failure, Row, Stored};
use super::size::size;
use super::{Shards, label, video};
use crate::error::excerpt;
use crate::fields::picture_name;
use crate::ids::Ids;
use crate::samples::{Source, Step};
use crate::{Damaged, Error, Sample, Visual};

/// The samples of all shards of a track, one file after the other.
pub(crate) struct ShardSource {
    track: Track,
    dir: PathBuf,
    files: Vec<PathBuf>,
    next_file: usize,
    cursor: Option<Cursor>,
    images: Option<ImageTable>,
    ids: Ids,
    /// The next item's number in lmms-eval's order, which restarts with every split or task.
    doc: u64,
    /// Items of the current row that have not been delivered yet.
    ready: VecDeque<Result<Step, Damaged>>,
    outside: u64,
}

/// Checks that a file has a column.
pub(super) fn require(cursor: &Cursor, name: &str) -> Result<(), Error> {
    let inner = cursor.find(name, Some("bytes"));
    if cursor.find(name, None).or(inner).is_some() {
        return Ok(());
    }
    let found = excerpt(&cursor.columns().join(", "));
    Err(Error::Column { path: cursor.path().to_owned(), name: name.to_owned(), found })
}

impl ShardSource {
    /// Opens every file once, so that an unreadable file or a missing column is reported before any
    /// work is done.
    pub(super) fn open(shards: &Shards) -> Result<Self, Error> {
        for file in &shards.files {
            let cursor = Cursor::open(file)?;
            for name in item::required(shards.track) {
                require(&cursor, name)?;
            }
        }
        let images = match shards.track {
            Track::Gqa => Some(ImageTable::open(&shards.image_files)?),
            _ => None,
        };
        Ok(Self {
            track: shards.track,
            dir: shards.dir.clone(),
            files: shards.files.clone(),
            next_file: 0,
            cursor: None,
            images,
            ids: Ids::default(),
            doc: 0,
            ready: VecDeque::new(),
            outside: 0,
        })
    }

    fn visuals(&mut self, item: &Item) -> Result<Vec<Visual>, Failure> {
        match &item.seen {
            Seen::Image(id) => match &mut self.images {
                Some(table) => Ok(vec![Visual::Encoded(table.fetch(id)?)]),
                None => Err("no table of images".into()),
            },
            Seen::Video { name, folder } => {
                Ok(vec![Visual::Video(video::find(&self.dir, name, *folder))])
            }
            Seen::Columns(columns) => {
                let Some(cursor) = &mut self.cursor else { return Err("no file is open".into()) };
                let mut stored = Vec::new();
                for column in columns {
                    stored.extend(Row(cursor).pictures(column)?);
                }
                let visuals: Result<Vec<_>, _> =
                    stored.into_iter().map(|picture| visual(&self.dir, picture)).collect();
                let visuals = visuals?;
                if visuals.is_empty() {
                    return Err(format!("column '{}' is empty", columns.join(", ")).into());
                }
                Ok(visuals)
            }
        }
    }

    /// Converts the current row to items and appends them to `ready`.
    fn row(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Result<(), Fault> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let label = label(cursor.path()).to_owned();
        let place = cursor.row() - 1;
        let items = item::items(self.track, &mut Row(cursor), &label, place);
        let first = self.doc;
        self.doc += items.as_ref().map_or(1, |items| items.len().max(1) as u64);
        let items = items.map_err(|failure| Fault { index: None, failure })?;
        if items.is_empty() {
            self.outside += 1;
        }
        let mut shared: Option<Vec<Visual>> = None;
        for (number, item) in items.into_iter().enumerate() {
            let id = self.ids.unique(&item.name);
            if !wanted(&id) {
                self.ready.push_back(Ok(Step::Skipped));
                continue;
            }
            let fault = |failure| Fault { index: Some(id.clone()), failure };
            let visuals = match &shared {
                Some(visuals) => visuals.clone(),
                None => self.visuals(&item).map_err(fault)?,
            };
            if item.pixels.is_some() {
                shared = Some(visuals.clone());
            }
            let mut sample = finish(item, id.clone(), visuals).map_err(|e| fault(e.into()))?;
            sample.fields.insert("doc_id".into(), json!(first + number as u64));
            self.ready.push_back(Ok(Step::Sample(Box::new(sample))));
        }
        Ok(())
    }

    fn damaged(&mut self, fault: Fault) -> Damaged {
        let (file, row) = match &self.cursor {
            Some(cursor) => (cursor.path().to_owned(), cursor.row()),
            None => (self.dir.clone(), 0),
        };
        let Fault { index, failure } = fault;
        match failure {
            Failure::Value(reason) => Damaged { file, row, index, lost: 1, reason },
            Failure::Structure(reason) => {
                let rest = self.cursor.as_mut().map_or(0, Cursor::abandon);
                self.doc = self.doc.saturating_add(rest);
                let lost = rest.saturating_add(1);
                let reason = match rest {
                    0 => reason,
                    _ => format!("{reason}; {rest} rows after it in the same group are lost"),
                };
                Damaged { file, row, index, lost, reason }
            }
        }
    }
}

/// Why a row yields no sample, with its id if it could be read.
struct Fault {
    index: Option<String>,
    failure: Failure,
}

/// The image stored in the row, or the file that it names in the dataset's folder.
fn visual(dir: &Path, picture: Stored) -> Result<Visual, String> {
    match (picture.bytes, picture.path) {
        (Some(bytes), _) => Ok(Visual::Encoded(bytes)),
        (None, path) => {
            let name = path.unwrap_or_default();
            let mut places = ["", "images"].iter().map(|folder| dir.join(folder).join(&name));
            if name.is_empty() {
                return Err("no image".to_owned());
            }
            let found = places.find(|place| place.is_file());
            Ok(Visual::File(found.unwrap_or_else(|| dir.join(&name))))
        }
    }
}

fn finish(item: Item, id: String, visuals: Vec<Visual>) -> Result<Sample, String> {
    let Item { cluster, mut fields, pixels, .. } = item;
    let cluster = cluster.unwrap_or_else(|| match visuals.first() {
        Some(Visual::Encoded(bytes)) => picture_name(bytes),
        Some(Visual::File(path) | Visual::Video(path)) => {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        }
        None => id.clone(),
    });
    if let Some([left, top, width, height]) = pixels {
        let Some(Visual::Encoded(bytes)) = visuals.first() else {
            return Err("its image is not in the file".into());
        };
        let (w, h) = size(bytes).ok_or("the image's size is unknown: PNG and JPEG are accepted")?;
        let (wide, high) = (f64::from(w), f64::from(h));
        let fractions = [left / wide, top / high, (left + width) / wide, (top + height) / high];
        fields.insert("box".into(), json!(fractions));
        fields.insert("width".into(), json!(w));
        fields.insert("height".into(), json!(h));
    }
    Ok(Sample { id, cluster, fields, visuals })
}

impl Source for ShardSource {
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(step);
            }
            if self.cursor.as_mut().is_none_or(|cursor| !cursor.advance()) {
                let file = self.files.get(self.next_file)?;
                let previous = self.next_file.checked_sub(1).and_then(|n| self.files.get(n));
                if previous.is_some_and(|previous| label(previous) != label(file)) {
                    self.doc = 0;
                }
                self.next_file += 1;
                match Cursor::open(file) {
                    Ok(cursor) => self.cursor = Some(cursor),
                    Err(error) => {
                        self.cursor = None;
                        let (file, reason) = (file.clone(), error.to_string());
                        return Some(Err(Damaged { file, row: 0, index: None, lost: 1, reason }));
                    }
                }
                continue;
            }
            if let Err(fault) = self.row(wanted) {
                let damaged = self.damaged(fault);
                self.ready.push_back(Err(damaged));
            }
        }
    }

    fn outside(&self) -> u64 {
        self.outside
    }
}
