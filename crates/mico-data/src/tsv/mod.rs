//! Reader for VLMEvalKit's tables: one file per benchmark, with images as base64 inside it or in a
//! folder beside it.

mod images;
mod row;
mod table;

use std::path::{Path, PathBuf};

use mico_score::{Fields, Track};
use serde_json::{Value, json};

use crate::fields::{gold_texts, picture_name};
use crate::samples::{Source, Step};
use crate::{Damaged, Error, Sample, Visual};
use images::Images;
pub(crate) use images::index_key;
use row::Content;
pub(crate) use table::Table;
#[cfg(feature = "xlsx")]
pub(crate) use table::column_name;

/// A VLMEvalKit table as a stream of samples.
pub(crate) struct TsvSource {
    track: Track,
    table: Table,
    index: usize,
    image: Option<usize>,
    image_path: Option<usize>,
    /// The folders to which relative image paths may refer.
    folders: Vec<PathBuf>,
    images: Images,
    dropped: u64,
    outside: u64,
}

impl TsvSource {
    /// Opens `file`; images of a `_local` table are searched for under `<root>/images`.
    pub(crate) fn open(file: &Path, root: &Path, track: Track) -> Result<Self, Error> {
        let table = Table::open(file, b'\t')?;
        let index = table.require("index")?;
        for name in ["question", "answer"] {
            table.require(name)?;
        }
        let image = table.column("image");
        let image_path = table.column("image_path");
        if image.is_none() && image_path.is_none() {
            table.require("image")?;
        }
        let folders = image_folders(file, root);
        let images = Images::default();
        let (dropped, outside) = (0, 0);
        Ok(Self { track, table, index, image, image_path, folders, images, dropped, outside })
    }

    /// Converts the row just read; `None` if it does not belong to the track or has no image.
    fn row(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Result<Option<Step>, Fault> {
        let id = match self.table.text(self.index).map_err(Fault::unnamed)? {
            Some(text) => index_key(text),
            None => return Err(Fault::unnamed("column 'index' is empty")),
        };
        let fault = |reason| Fault { index: Some(id.clone()), reason };
        if !self.images.note(&id, self.table.span()) {
            return Err(fault("another row has the same index".into()));
        }
        if self.image.is_some_and(|image| crate::missing::is_missing(self.table.raw(image))) {
            self.dropped += 1;
            return Ok(None);
        }
        let content = row::content(self.track, &self.table, &id).map_err(fault)?;
        let Content::Item(mut fields) = content else {
            self.outside += 1;
            return Ok(None);
        };
        if !wanted(&id) {
            return Ok(Some(Step::Skipped));
        }
        let path = match self.image_path {
            Some(column) => self.table.text(column).map_err(fault)?.map(str::to_owned),
            None => None,
        };
        let (visuals, owner) = match (self.image, &path) {
            (Some(image), _) => {
                let columns = (self.index, image);
                let images = self.images.of(&self.table, &id, columns).map_err(fault)?;
                // The same image may be stored in several rows, so its hash names the cluster.
                let owner = images.first().map_or_else(|| id.clone(), |bytes| picture_name(bytes));
                (images.into_iter().map(Visual::Encoded).collect(), owner)
            }
            (None, Some(path)) => (self.localised(path), id.clone()),
            (None, None) => {
                self.dropped += 1;
                return Ok(None);
            }
        };
        let picture = path.unwrap_or(owner);
        if self.track == Track::Mme {
            fields.insert("image".into(), json!(picture));
        }
        let cluster = cluster(self.track, &fields, &id, picture);
        Ok(Some(Step::Sample(Box::new(Sample { id, cluster, fields, visuals }))))
    }

    /// The files named by `image_path`: absolute, or relative to the benchmark's image folder. A
    /// missing file is still named, so that its question is not silently left out.
    fn localised(&self, cell: &str) -> Vec<Visual> {
        gold_texts(cell)
            .iter()
            .map(|name| {
                let mut places = self.folders.iter().map(|folder| folder.join(name));
                let found = places.find(|place| place.is_file());
                let first = || self.folders.first().map(|f| f.join(name)).unwrap_or_default();
                Visual::File(found.unwrap_or_else(first))
            })
            .collect()
    }
}

/// Why a row yields no sample, with its id if it could be read.
struct Fault {
    index: Option<String>,
    reason: String,
}

impl Fault {
    fn unnamed(reason: impl Into<String>) -> Self {
        Self { index: None, reason: reason.into() }
    }
}

impl Source for TsvSource {
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>> {
        loop {
            if let Err(damaged) = self.table.read()? {
                return Some(Err(damaged));
            }
            match self.row(wanted) {
                Ok(Some(step)) => return Some(Ok(step)),
                Ok(None) => {}
                Err(Fault { index, reason }) => {
                    return Some(Err(Damaged { index, ..self.table.damaged(reason) }));
                }
            }
        }
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn outside(&self) -> u64 {
        self.outside
    }
}

/// The cluster of a row: rows with the same cluster are resampled together.
fn cluster(track: Track, fields: &Fields, id: &str, picture: String) -> String {
    if track != Track::HallusionBench {
        return picture;
    }
    // Field 3 of the index: questions of one set are about variants of one figure.
    let set = id.split('_').nth(3).unwrap_or(id);
    let category = fields.get("l2_category").and_then(Value::as_str).unwrap_or("");
    format!("{category}/{set}")
}

fn image_folders(file: &Path, root: &Path) -> Vec<PathBuf> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let dataset = stem.strip_suffix("_local").unwrap_or(&stem);
    let family = dataset.split('_').next().unwrap_or(dataset);
    let beside = file.parent().unwrap_or(root);
    let mut folders = Vec::new();
    for base in [root, beside] {
        // All MMBench tables share one image folder.
        let names = if family == "MMBench" { [family, dataset] } else { [dataset, family] };
        for name in names {
            let folder = base.join("images").join(name);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}
