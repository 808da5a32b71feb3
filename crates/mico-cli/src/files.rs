//! Where a verb writes: decided in one place and before any work, so that no output destroys an input or
//! another output.
//!
//! A verb tells [`Outputs`] what it reads and asks it for every file and folder that it writes. What it gets is
//! the only way to write a file in this crate.

mod place;

use std::path::{Path, PathBuf};

use mico_util::files::{make_folder, resolve, write_atomic};

use crate::failure::Failure;
use place::{Folder, Place};

/// What a run reads and writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outputs {
    inputs: Vec<Input>,
    taken: Vec<Taken>,
}

/// Something that is read.
#[derive(Debug, Clone)]
struct Input {
    /// The flag and its value, for messages.
    name: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    File(Place),
    /// A folder in which nothing may be written.
    Sealed(Folder),
    /// A folder whose files stay as they are; new ones may appear, and earlier results may be replaced.
    #[cfg_attr(not(feature = "eval"), expect(dead_code, reason = "no other verb reads data"))]
    Data(Folder),
}

/// A file that will be written.
#[derive(Debug, Clone)]
struct Taken {
    name: String,
    place: Place,
    /// The file by which a folder of earlier results is known.
    results: Option<&'static str>,
}

/// A file that may be written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    flag: &'static str,
    path: PathBuf,
    target: PathBuf,
}

/// A folder in which files may be written.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    flag: &'static str,
    path: PathBuf,
}

impl Outputs {
    /// Nothing but the streams that the process was started with, where these are files.
    pub(crate) fn new() -> Self {
        let mut outputs = Self::default();
        for (name, stream) in
            [("standard output", "/dev/stdout"), ("standard error", "/dev/stderr")]
        {
            let stream = Path::new(stream);
            if std::fs::metadata(stream).is_ok_and(|found| found.is_file()) {
                let name = name.to_owned();
                outputs.taken.push(Taken { name, place: Place::of(stream), results: None });
            }
        }
        outputs
    }

    /// A file that is read, or a folder of which every file is. `-` is standard input.
    pub(crate) fn reads(&mut self, flag: &str, path: &Path) -> Result<(), Failure> {
        let name = format!("{flag} {}", path.display());
        let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
        let source = if path.is_dir() {
            Source::Sealed(Folder::of(path))
        } else {
            Source::File(Place::of(path))
        };
        self.input(Input { name, source })
    }

    /// A folder that is read, or will be once it is there.
    pub(crate) fn reads_folder(&mut self, flag: &str, folder: &Path) -> Result<(), Failure> {
        let name = format!("{flag} {}", folder.display());
        self.input(Input { name, source: Source::Sealed(Folder::of(folder)) })
    }

    /// Standard input, which may come from a file.
    pub(crate) fn reads_stdin(&mut self) -> Result<(), Failure> {
        let source = Source::File(Place::of(Path::new("/dev/stdin")));
        self.input(Input { name: "standard input".to_owned(), source })
    }

    /// A folder of data. Results may be written below it, but none of its files may be replaced.
    #[cfg(feature = "eval")]
    pub(crate) fn reads_data(&mut self, flag: &str, folder: &Path) -> Result<(), Failure> {
        let name = format!("{flag} {}", folder.display());
        self.input(Input { name, source: Source::Data(Folder::of(folder)) })
    }

    fn input(&mut self, input: Input) -> Result<(), Failure> {
        self.taken.iter().try_for_each(|taken| apart(&input, taken))?;
        self.inputs.push(input);
        Ok(())
    }

    /// A file that is written.
    pub(crate) fn file(&mut self, flag: &'static str, path: &Path) -> Result<OutputFile, Failure> {
        self.named(flag, format!("{flag} {}", path.display()), path)
    }

    /// A file that is written because of a flag, under a name that the flag does not give.
    #[cfg(feature = "eval")]
    pub(crate) fn beside(
        &mut self,
        flag: &'static str,
        path: &Path,
        what: &str,
    ) -> Result<OutputFile, Failure> {
        self.named(flag, format!("{} ({what} of {flag})", path.display()), path)
    }

    fn named(
        &mut self,
        flag: &'static str,
        name: String,
        path: &Path,
    ) -> Result<OutputFile, Failure> {
        let target = resolve(path).map_err(|error| unwritable(flag, path, &error))?;
        self.take(Taken { name, place: Place::of(&target), results: None })?;
        Ok(OutputFile { flag, path: path.to_owned(), target })
    }

    /// A folder, made if need be, in which the files of these names are written. The first of them tells a
    /// folder of earlier results.
    pub(crate) fn folder(
        &mut self,
        flag: &'static str,
        path: &Path,
        names: &[&'static str],
    ) -> Result<OutputFolder, Failure> {
        for name in names {
            let file = path.join(name);
            let taken = Taken {
                name: format!("{flag} {} (its {name})", path.display()),
                place: Place::of(&file),
                results: names.first().copied(),
            };
            self.take(taken)?;
        }
        make_folder(path).map_err(|error| unwritable(flag, path, &error))?;
        Ok(OutputFolder { flag, path: path.to_owned() })
    }

    fn take(&mut self, taken: Taken) -> Result<(), Failure> {
        self.inputs.iter().try_for_each(|input| apart(input, &taken))?;
        if let Some(other) = self.taken.iter().find(|other| other.place.is_same(&taken.place)) {
            let message = format!("{} and {} are the same file", other.name, taken.name);
            return Err(Failure::misused(message));
        }
        self.taken.push(taken);
        Ok(())
    }
}

/// Refuses an output that would change an input.
fn apart(input: &Input, output: &Taken) -> Result<(), Failure> {
    let conflict = match &input.source {
        Source::File(place) if place.is_same(&output.place) => "is the same file as",
        Source::Sealed(folder) if folder.contains(&output.place) => "lies inside",
        Source::Sealed(folder) if folder.holds(&output.place) => "is a file of",
        Source::Data(folder) if folder.contains(&output.place) && output.replaces_data() => {
            "would replace a file of"
        }
        _ => return Ok(()),
    };
    let message = format!("{} {conflict} {}, accepted: another place", output.name, input.name);
    Err(Failure::misused(message))
}

impl Taken {
    /// Whether there is a file that is no earlier result.
    fn replaces_data(&self) -> bool {
        let earlier = self.results.is_some_and(|name| self.place.sibling(name).exists());
        self.place.exists() && !earlier
    }
}

fn unwritable(flag: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{flag} {}: {error}", path.display()))
}

impl OutputFile {
    /// Writes the file that was agreed on, whole or not at all.
    pub(crate) fn write(&self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        write_atomic(&self.target, bytes).map_err(|error| unwritable(self.flag, &self.path, &error))
    }

    /// The file as it was named.
    #[cfg(feature = "eval")]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl OutputFolder {
    /// Writes a file of the folder, whole or not at all.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        let path = self.path.join(name);
        let written = resolve(&path).and_then(|target| write_atomic(&target, bytes));
        written.map_err(|error| unwritable(self.flag, &path, &error))
    }
}

#[cfg(test)]
mod tests;
