//! Files that somebody else named: opened without waiting for anyone, and read up to a limit.
//!
//! A path on a command line or in a results folder may lead to anything: a folder, a named pipe that nobody
//! writes to, a device without end, a file larger than memory. Readers that need a file get one from
//! [`open_regular`] or [`read_regular`]; readers that take a stream get it from [`open_stream`] and bound what
//! they take of it with [`read_at_most`] or [`BoundedLines`].

use std::fs::{File, FileType, Metadata};
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Opens a regular file. Folders, named pipes, sockets and devices are refused by what they are.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Asked before opening, which would wait for the writer of a named pipe.
    require_regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

/// The contents of a regular file of at most `limit` bytes.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    require_length(file.metadata()?.len(), limit)?;
    read_at_most(file, limit)
}

/// How long [`open_stream`] waits for the writer of a named pipe: a command started together with its writer
/// finds it, one whose writer was forgotten ends with a message instead of hanging.
const WRITER_PATIENCE: Duration = Duration::from_secs(3);

/// Opens what can be read from its beginning to its end: a regular file, a named pipe or a character device.
/// A named pipe needs a writer within a few seconds.
pub fn open_stream(path: &Path) -> io::Result<File> {
    open_stream_within(path, WRITER_PATIENCE)
}

fn open_stream_within(path: &Path, patience: Duration) -> io::Result<File> {
    match special(std::fs::metadata(path)?.file_type()) {
        None | Some(Special::CharacterDevice) => File::open(path),
        Some(Special::Pipe) => open_pipe(path, patience),
        Some(kind) => Err(kind.refused("a file or a pipe")),
    }
}

/// Opening a named pipe blocks until somebody opens its other end, so a thread does it. If nobody comes the thread
/// stays behind, blocked and without cost, until the process ends or a writer turns up after all.
fn open_pipe(path: &Path, patience: Duration) -> io::Result<File> {
    let (opened, outcome) = mpsc::channel();
    let owned = path.to_path_buf();
    std::thread::Builder::new().name("open-pipe".into()).spawn(move || {
        // Nobody may be listening any more: the file is closed then.
        let _ = opened.send(File::open(owned));
    })?;
    outcome.recv_timeout(patience).unwrap_or_else(|_| {
        let message = "is a named pipe that nobody writes to";
        Err(io::Error::new(ErrorKind::TimedOut, message))
    })
}

/// All that a reader yields; an error if that is more than `limit` bytes.
pub fn read_at_most(reader: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more shows that there are too many.
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(limit));
    }
    Ok(bytes)
}

/// Refuses a file whose length is above `limit` before any of it is read.
pub fn require_length(length: u64, limit: u64) -> io::Result<()> {
    if length <= limit {
        return Ok(());
    }
    let message = format!("has {length} bytes, accepted: at most {limit}");
    Err(io::Error::new(ErrorKind::FileTooLarge, message))
}

fn require_regular(found: &Metadata) -> io::Result<()> {
    special(found.file_type()).map_or(Ok(()), |kind| Err(kind.refused("a regular file")))
}

fn too_long(limit: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("is longer than {limit} bytes"))
}

/// Lines of at most so many bytes, so that a file without a line break cannot fill the memory.
#[derive(Debug)]
pub struct BoundedLines<R> {
    reader: R,
    limit: u64,
    number: usize,
}

impl<R: BufRead> BoundedLines<R> {
    /// Lines of `reader`, of at most `limit` bytes each without their line break.
    pub fn new(reader: R, limit: u64) -> Self {
        Self { reader, limit, number: 0 }
    }

    /// Replaces the contents of `line` by the next line with its line break, which the last one may lack.
    /// `false` at the end; an error for a line that is too long, after which nothing more should be read.
    pub fn read(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        self.number += 1;
        let most = self.limit.saturating_add(1);
        self.reader.by_ref().take(most).read_until(b'\n', line)?;
        if line.len() as u64 > self.limit && line.last() != Some(&b'\n') {
            return Err(too_long(self.limit));
        }
        Ok(!line.is_empty())
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> usize {
        self.number
    }
}

/// What a path leads to if that is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    Folder,
    Pipe,
    CharacterDevice,
    Other(&'static str),
}

impl Special {
    fn name(self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::Pipe => "a named pipe",
            Self::CharacterDevice => "a device",
            Self::Other(name) => name,
        }
    }

    fn refused(self, accepted: &str) -> io::Error {
        let kind =
            if self == Self::Folder { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
        io::Error::new(kind, format!("is {}, accepted: {accepted}", self.name()))
    }
}

fn special(kind: FileType) -> Option<Special> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some(Special::Pipe);
        }
        if kind.is_char_device() {
            return Some(Special::CharacterDevice);
        }
        if kind.is_block_device() {
            return Some(Special::Other("a device"));
        }
        if kind.is_socket() {
            return Some(Special::Other("a socket"));
        }
    }
    if kind.is_dir() {
        return Some(Special::Folder);
    }
    (!kind.is_file()).then_some(Special::Other("no file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("five");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_regular(&path, 5).unwrap(), b"12345");
        let message = read_regular(&path, 4).unwrap_err().to_string();
        assert_eq!(message, "has 5 bytes, accepted: at most 4");
        assert_eq!(read_at_most(&b"12345"[..], 5).unwrap().len(), 5);
        assert!(read_at_most(&b"12345"[..], 4).unwrap_err().to_string().contains("4 bytes"));
        let refused = read_regular(folder.path(), 5).unwrap_err();
        assert_eq!(refused.to_string(), "is a folder, accepted: a regular file");
        assert!(open_stream(folder.path()).is_err());
        assert!(open_stream(&path).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn special_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _open = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open_regular(&socket).unwrap_err().to_string().contains("a socket"));
        assert!(open_stream(&socket).unwrap_err().to_string().contains("a socket"));
        let device = Path::new("/dev/null");
        assert!(open_regular(device).unwrap_err().to_string().contains("a device"));
        assert!(read_at_most(open_stream(device).unwrap(), 0).unwrap().is_empty());
        let pipe = folder.path().join("pipe");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
            assert!(open_regular(&pipe).unwrap_err().to_string().contains("a named pipe"));
            let lonely = open_stream_within(&pipe, Duration::ZERO).unwrap_err();
            assert_eq!(lonely.to_string(), "is a named pipe that nobody writes to");
        }
        // Another pipe: the opening that was given up above would take the writer's end of the first.
        let pipe = folder.path().join("written");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
            let other_end = pipe.clone();
            let writer = std::thread::spawn(move || std::fs::write(other_end, "abc"));
            let read = open_stream(&pipe).and_then(|file| read_at_most(file, 3)).unwrap();
            writer.join().unwrap().unwrap();
            assert_eq!(read, b"abc");
        }
    }

    #[test]
    fn lines_are_bounded() {
        let mut lines = BoundedLines::new(&b"123\n\n1234\n12345\n"[..], 4);
        let mut line = Vec::new();
        for expected in [&b"123\n"[..], b"\n", b"1234\n"] {
            assert!(lines.read(&mut line).unwrap());
            assert_eq!(line, expected);
        }
        assert!(lines.read(&mut line).unwrap_err().to_string().contains("longer than 4 bytes"));
        assert_eq!(lines.number(), 4);
        let mut last = BoundedLines::new(&b"1234"[..], 4);
        assert!(last.read(&mut line).unwrap() && line == b"1234");
        assert!(!last.read(&mut line).unwrap());
    }
}
