//! A file that is read in pieces rather than as a whole.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use mico_util::input::open_regular;

use crate::budget::at_most;
use crate::error::Problem;

/// An open file and its length in bytes.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    len: u64,
}

impl Source {
    pub(crate) fn open(path: &Path, limit: u64) -> Result<Self, Problem> {
        let file = open_regular(path)?;
        let len = file.metadata()?.len();
        at_most("bytes", len, limit)?;
        Ok(Self { file, len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The underlying file, rewound to its start.
    pub(crate) fn into_file(mut self) -> Result<File, Problem> {
        self.file.rewind()?;
        Ok(self.file)
    }

    /// Replaces the contents of `buffer` by `count` bytes from `offset`. Memory grows with the
    /// bytes actually read, not with the number requested.
    pub(crate) fn read(
        &mut self,
        offset: u64,
        count: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        buffer.clear();
        self.file.seek(SeekFrom::Start(offset))?;
        (&mut self.file).take(count).read_to_end(buffer)?;
        if (buffer.len() as u64) < count {
            return Err(Problem::Io(format!(
                "the file ends {} bytes into the {count} bytes at {offset}",
                buffer.len()
            )));
        }
        Ok(())
    }

    /// The first `count` bytes of the file, or all if it has fewer.
    pub(crate) fn start(&mut self, count: u64) -> Result<Vec<u8>, Problem> {
        let mut bytes = Vec::new();
        self.read(0, count.min(self.len), &mut bytes)?;
        Ok(bytes)
    }
}
