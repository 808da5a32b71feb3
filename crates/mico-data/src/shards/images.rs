//! The separate table of images to which GQA's questions refer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::cursor::Cursor;
use super::row::{Failure, Row};
use crate::Error;
use crate::error::excerpt;

const CACHED_BYTES: usize = 32 << 20;

/// The location of every image by id, with a cache of the images fetched last.
pub(super) struct ImageTable {
    files: Vec<PathBuf>,
    places: BTreeMap<String, (usize, u64)>,
    cursor: Option<(usize, Cursor)>,
    cache: Vec<(String, Vec<u8>)>,
}

impl ImageTable {
    /// Reads the ids of all images without decoding any image.
    pub(super) fn open(files: &[PathBuf]) -> Result<Self, Error> {
        let mut places = BTreeMap::new();
        for (number, path) in files.iter().enumerate() {
            let mut cursor = Cursor::open(path)?;
            for name in ["id", "image"] {
                super::source::require(&cursor, name)?;
            }
            while cursor.advance() {
                let id = Row(&mut cursor).need("id");
                let id = id.map_err(|failure| match failure {
                    Failure::Value(reason) | Failure::Structure(reason) => {
                        Error::format(path, format!("row {}: {reason}", cursor.row()))
                    }
                })?;
                places.insert(id, (number, cursor.row()));
            }
        }
        Ok(Self { files: files.to_vec(), places, cursor: None, cache: Vec::new() })
    }

    pub(super) fn fetch(&mut self, id: &str) -> Result<Vec<u8>, String> {
        if let Some((_, bytes)) = self.cache.iter().find(|(name, _)| name == id) {
            return Ok(bytes.clone());
        }
        let place = self.places.get(id).copied();
        let (file, row) =
            place.ok_or_else(|| format!("no image '{}' in the table", excerpt(id)))?;
        let mut cursor = match self.cursor.take() {
            Some((open, cursor)) if open == file => cursor,
            _ => Cursor::open(self.files.get(file).ok_or("no such file")?)
                .map_err(|e| e.to_string())?,
        };
        cursor.seek(row);
        let stored = Row(&mut cursor).pictures("image");
        self.cursor = Some((file, cursor));
        let stored = stored.map_err(|failure| match failure {
            Failure::Value(reason) | Failure::Structure(reason) => {
                format!("image '{}': {reason}", excerpt(id))
            }
        })?;
        let bytes = stored.into_iter().next().and_then(|picture| picture.bytes);
        let bytes = bytes.ok_or_else(|| format!("image '{}' is empty", excerpt(id)))?;
        self.keep(id, &bytes);
        Ok(bytes)
    }

    fn keep(&mut self, id: &str, bytes: &[u8]) {
        if bytes.len() > CACHED_BYTES / 2 {
            return;
        }
        self.cache.push((id.to_owned(), bytes.to_vec()));
        while self.cache.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > CACHED_BYTES {
            self.cache.remove(0);
        }
    }
}
