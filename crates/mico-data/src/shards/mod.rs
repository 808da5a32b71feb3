//! Reader for parquet files with the columns of lmms-eval's datasets.

#[cfg(feature = "parquet")]
mod cursor;
#[cfg(feature = "parquet")]
mod images;
#[cfg(feature = "parquet")]
mod item;
#[cfg(feature = "parquet")]
mod row;
#[cfg(feature = "parquet")]
mod size;
#[cfg(feature = "parquet")]
mod source;
#[cfg(feature = "parquet")]
mod video;

use std::path::{Path, PathBuf};

use mico_score::Track;

use crate::names::{shard_folders, shard_names};
use crate::{Error, Samples};

const MAX_DEPTH: usize = 6;
/// The most files that are considered, far above the number of shards of any published dataset.
const MAX_FILES: usize = 20_000;

/// The ending of folder names that hold GQA's separate table of images.
const IMAGE_TABLE: &str = "_images";

/// The parquet files of a track.
#[derive(Debug, Clone)]
pub(crate) struct Shards {
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "read with the rows"))]
    track: Track,
    dir: PathBuf,
    files: Vec<PathBuf>,
    image_files: Vec<PathBuf>,
}

impl Shards {
    /// Searches `<root>/<Name>` and `<root>/<track>` (in any case) at any depth, and `root` itself
    /// if it has such a name.
    pub(crate) fn find(root: &Path, track: Track) -> Result<Option<Self>, Error> {
        let Some(names) = shard_names(track) else { return Ok(None) };
        let wanted = shard_folders(track);
        for dir in candidates(root, &wanted) {
            let mut all = Vec::new();
            walk(&dir, 0, &mut all);
            all.sort();
            let (image_files, tables): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|path| track == Track::Gqa && is_image_table(path, &dir));
            let files = select(tables, &dir, names.parts, names.splits);
            if files.is_empty() {
                continue;
            }
            if track == Track::Gqa && image_files.is_empty() {
                let reason = "no table of images: looked for a folder testdev_balanced_images";
                return Err(Error::format(&dir, reason));
            }
            let image_files = select(image_files, &dir, &["testdev_balanced_images"], &["testdev"]);
            return Ok(Some(Self { track, dir, files, image_files }));
        }
        Ok(None)
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.image_files).cloned().collect()
    }
}

#[cfg(feature = "parquet")]
impl Shards {
    /// The number of rows in the question tables, as stated in their footers.
    pub(crate) fn rows(&self) -> Result<usize, Error> {
        let mut rows: u64 = 0;
        for file in &self.files {
            rows = rows.saturating_add(cursor::Cursor::open(file)?.rows());
        }
        Ok(usize::try_from(rows).unwrap_or(usize::MAX))
    }

    pub(crate) fn samples(&self) -> Result<Samples, Error> {
        Ok(Samples::new(source::ShardSource::open(self)?))
    }
}

/// Without the decoder the files are still found, so that the error can name them.
#[cfg(not(feature = "parquet"))]
impl Shards {
    pub(crate) fn rows(&self) -> Result<usize, Error> {
        Err(self.refused())
    }

    pub(crate) fn samples(&self) -> Result<Samples, Error> {
        Err(self.refused())
    }

    fn refused(&self) -> Error {
        let path = self.files.first().unwrap_or(&self.dir).clone();
        Error::NotBuilt { path, feature: "parquet" }
    }
}

/// The folders that have one of the names, in the order of the names.
fn candidates(root: &Path, names: &[&str]) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    entries.sort();
    entries.push(root.to_owned());
    let is_called = |path: &PathBuf, name: &str| {
        path.file_name().is_some_and(|own| own.to_string_lossy().eq_ignore_ascii_case(name))
    };
    names
        .iter()
        .flat_map(|name| entries.iter().filter(move |p| is_called(p, name)).cloned())
        .collect()
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, depth + 1, found);
            }
        } else if path.extension().is_some_and(|e| e == "parquet") && found.len() < MAX_FILES {
            found.push(path);
        }
    }
}

fn folders<'a>(path: &'a Path, dir: &Path) -> Vec<&'a str> {
    let inner = path.strip_prefix(dir).unwrap_or(path).parent();
    inner.into_iter().flat_map(Path::iter).filter_map(|part| part.to_str()).collect()
}

fn is_image_table(path: &Path, dir: &Path) -> bool {
    folders(path, dir).iter().any(|part| part.ends_with(IMAGE_TABLE))
}

/// The split in a file's name: the part before the first `-` or `.`.
fn label(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    name.split(['-', '.']).next().unwrap_or(name)
}

fn select(files: Vec<PathBuf>, dir: &Path, parts: &[&str], splits: &[&str]) -> Vec<PathBuf> {
    let narrowed = |files: Vec<PathBuf>, fits: &dyn Fn(&Path) -> bool| {
        if files.iter().any(|path| fits(path)) {
            files.into_iter().filter(|path| fits(path)).collect()
        } else {
            files
        }
    };
    let files = narrowed(files, &|path| folders(path, dir).iter().any(|f| parts.contains(f)));
    let mut files = narrowed(files, &|path| splits.contains(&label(path)));
    // Splits in the order in which they are reported, and files of one split by name.
    files.sort_by_key(|path| splits.iter().position(|split| *split == label(path)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracks_files_are_chosen_among_all() {
        let dir = Path::new("d");
        let paths = |names: &[&str]| names.iter().map(|n| dir.join(n)).collect::<Vec<_>>();
        let all = paths(&[
            "cc/test-0.parquet",
            "cn/dev-0.parquet",
            "en/dev-0.parquet",
            "en/test-0.parquet",
        ]);
        assert_eq!(select(all, dir, &["en"], &["dev"]), paths(&["en/dev-0.parquet"]));
        let all =
            paths(&["testA-0.parquet", "testB-0.parquet", "train-0.parquet", "val-0.parquet"]);
        let kept = paths(&["val-0.parquet", "testA-0.parquet", "testB-0.parquet"]);
        assert_eq!(select(all, dir, &[], &["val", "testA", "testB"]), kept);
        let all = paths(&["a.parquet", "b.parquet"]);
        assert_eq!(select(all.clone(), dir, &[], &["test"]), all);
    }
}
