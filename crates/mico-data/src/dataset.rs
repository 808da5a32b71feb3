//! Finds a benchmark's data under a folder, whatever its layout, and opens it for reading.

use std::fmt::{self, Display};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use mico_score::Track;
use mico_util::digest::Hasher;

use crate::samples::Samples;
use crate::tsv::TsvSource;
use crate::{Error, coco, llava, names, shards};

/// The on-disk format in which a benchmark is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// VLMEvalKit's table `<Dataset>.tsv` or `<Dataset>_local.tsv`.
    VlmEvalKit,
    /// A folder of LLaVA's `playground/data/eval`.
    LlavaFolder,
    /// Parquet files with the columns of lmms-eval.
    Parquet,
    /// Annotations in COCO format (gRefCOCO).
    Coco,
}

impl Layout {
    /// Every layout, in search order.
    pub const ALL: [Self; 4] = [Self::VlmEvalKit, Self::LlavaFolder, Self::Parquet, Self::Coco];

    /// The name on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::VlmEvalKit => "vlmevalkit",
            Self::LlavaFolder => "llava",
            Self::Parquet => "parquet",
            Self::Coco => "coco",
        }
    }

    /// The file and folder names under which a track is searched for; empty if it is not published
    /// in this layout.
    fn names(self, track: Track) -> Vec<String> {
        match self {
            Self::VlmEvalKit => names::tables(track),
            Self::LlavaFolder => llava::looked_for(track),
            Self::Parquet => names::shard_patterns(track),
            Self::Coco => coco::looked_for(track),
        }
    }
}

impl Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A benchmark's data that was found on disk.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// The benchmark that the data belongs to.
    pub track: Track,
    /// The layout in which it was found.
    pub layout: Layout,
    /// The files that hold questions and gold answers, in reading order. Separate image and video
    /// files are not listed.
    pub files: Vec<PathBuf>,
    /// The number of rows, if the files state it in a header; not all rows need belong to the track.
    pub rows: Option<usize>,
    root: PathBuf,
    plan: Plan,
}

/// The locations that each layout found, kept for reading.
#[derive(Debug, Clone)]
enum Plan {
    Table(PathBuf),
    Llava(llava::Folder),
    Shards(shards::Shards),
    Coco(coco::Folder),
}

/// Searches for a track under `root` in the layouts of [`Layout::ALL`] and takes the first one
/// found. The crate's page lists the names that are searched for.
pub fn open(root: &Path, track: Track) -> Result<Dataset, Error> {
    for layout in Layout::ALL {
        if let Some(dataset) = find(root, track, layout)? {
            return Ok(dataset);
        }
    }
    let names: Vec<String> = Layout::ALL.iter().flat_map(|l| l.names(track)).collect();
    let looked_for = if names.is_empty() {
        "nothing: it is scored from sample logs and has no files of its own".into()
    } else {
        names.join(", ")
    };
    Err(Error::NotFound { track, root: root.to_owned(), looked_for })
}

/// Searches for a track under `root` in one layout only.
pub fn open_as(root: &Path, track: Track, layout: Layout) -> Result<Dataset, Error> {
    if let Some(dataset) = find(root, track, layout)? {
        return Ok(dataset);
    }
    let names = layout.names(track);
    if names.is_empty() {
        let others = Layout::ALL.iter().filter(|l| !l.names(track).is_empty());
        let accepted: Vec<&str> = others.map(|l| l.name()).collect();
        let accepted = if accepted.is_empty() { "none".into() } else { accepted.join(", ") };
        return Err(Error::NoSuchLayout { track, layout, accepted });
    }
    Err(Error::NotFound { track, root: root.to_owned(), looked_for: names.join(", ") })
}

fn find(root: &Path, track: Track, layout: Layout) -> Result<Option<Dataset>, Error> {
    let mut rows = None;
    let (files, plan) = match layout {
        Layout::VlmEvalKit => {
            let mut places = names::tables(track).into_iter().map(|name| root.join(name));
            let Some(file) = places.find(|place| place.exists()) else { return Ok(None) };
            (vec![file.clone()], Plan::Table(file))
        }
        Layout::LlavaFolder => {
            let Some(folder) = llava::Folder::find(root, track)? else { return Ok(None) };
            (folder.files(), Plan::Llava(folder))
        }
        Layout::Parquet => {
            let Some(found) = shards::Shards::find(root, track)? else { return Ok(None) };
            rows = Some(found.rows()?);
            (found.files(), Plan::Shards(found))
        }
        Layout::Coco => {
            let Some(folder) = coco::Folder::find(root, track) else { return Ok(None) };
            (folder.files(), Plan::Coco(folder))
        }
    };
    Ok(Some(Dataset { track, layout, files, rows, root: root.to_owned(), plan }))
}

/// The number of bytes from the start, and as many from the end, of a large file that enter the
/// fingerprint.
const FINGERPRINT_BYTES: u64 = 64 << 20;

impl Dataset {
    /// Starts reading the samples from the beginning.
    pub fn samples(&self) -> Result<Samples, Error> {
        Ok(match &self.plan {
            Plan::Table(file) => Samples::new(TsvSource::open(file, &self.root, self.track)?),
            Plan::Llava(folder) => folder.samples(&self.root)?,
            Plan::Shards(shards) => shards.samples()?,
            Plan::Coco(folder) => Samples::new(folder.samples()?),
        })
    }

    /// SHA-256 in hexadecimal over the files of [`Dataset::files`]: the name relative to the folder
    /// that was searched, the size and the content of each; of a file above 128 MiB only the first
    /// and last 64 MiB. Image and video files beside them are not covered.
    pub fn fingerprint(&self) -> Result<String, Error> {
        let mut hash = Hasher::new();
        for path in &self.files {
            let name = path.strip_prefix(&self.root).unwrap_or(path);
            let name = name.to_string_lossy();
            let mut file = crate::json::open(path)?;
            let size = file.metadata().map_err(|e| Error::io(path, &e))?.len();
            hash.update_part(name.as_bytes());
            hash.update_number(size);
            if size <= 2 * FINGERPRINT_BYTES {
                hash.update_from(file).map_err(|e| Error::io(path, &e))?;
            } else {
                let head = hash.update_from(file.by_ref().take(FINGERPRINT_BYTES));
                let tail = head
                    .and_then(|_| file.seek(SeekFrom::Start(size - FINGERPRINT_BYTES)))
                    .and_then(|_| hash.update_from(file.take(FINGERPRINT_BYTES)));
                tail.map_err(|e| Error::io(path, &e))?;
            }
        }
        Ok(hash.hex())
    }
}
