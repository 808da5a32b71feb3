//! Records on disk: appended line by line, so that an interruption loses none that was written.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mico_score::Fields;
use mico_util::input::{BoundedLines, open_regular, require_length};

use crate::error::{Error, Result};
use crate::file_error::FileError;
use crate::record::{Record, RecordKey, RunKey};

/// The file's name in its folder.
pub const RECORDS: &str = "records.jsonl";

/// The longest line: a record with a question, its options and an answer.
const LINE_LIMIT: u64 = 16 << 20;
/// The most bytes of a journal. Every record is kept in memory, so that more could not be scored.
const FILE_LIMIT: u64 = 4 << 30;
/// How a record begins; of one that was cut, this much may be left.
const BEGINNING: &[u8] = b"{\"key\":\"";

/// All records so far, and where new ones go. Threads share it.
#[derive(Debug, Default)]
pub struct Journal {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    records: BTreeMap<RecordKey, Record>,
    /// An item's fields stand in the records of all its settings; one copy serves them.
    fields: BTreeMap<(RunKey, String, String), Arc<Fields>>,
    file: Option<(PathBuf, File)>,
    /// Bytes of whole lines.
    length: u64,
    /// Whether a line could not be written.
    broken: bool,
}

impl Journal {
    /// Records kept in memory alone.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Opens `folder` (made if need be) to write. Records that are already there count if `resume`
    /// says so and are refused otherwise; so is a journal another process is writing.
    pub fn open(folder: &Path, resume: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        let path = folder.join(RECORDS);
        match open_regular(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(FileError::io(&path)(error).into());
            }
            // Opened below for writing.
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = file.map_err(FileError::io(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(FileError::Busy { path }.into()),
            // Some file systems know no locks; there the caller must take care.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let length = file.metadata().map_err(FileError::io(&path))?.len();
        if !resume && length > 0 {
            return Err(FileError::Occupied { path }.into());
        }
        let mut inner = Inner::default();
        // What follows the last line break is what an interruption left of a line.
        let whole = inner.read(&path, &file)?;
        file.set_len(whole).map_err(FileError::io(&path))?;
        file.seek(SeekFrom::End(0)).map_err(FileError::io(&path))?;
        inner.length = whole;
        inner.file = Some((path, file));
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Reads the records of `folder` and writes none.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(RECORDS);
        let file = open_regular(&path).map_err(FileError::io(&path))?;
        let mut inner = Inner::default();
        inner.read(&path, &file)?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A thread that died while holding the lock left whole records behind.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is an answer of that key. What could not be asked is none: the picture may be there
    /// now.
    pub fn has(&self, key: &RecordKey) -> bool {
        self.lock().records.get(key).is_some_and(|record| record.failure.is_none())
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.lock().records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every record in the order of keys.
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.values().cloned().collect()
    }

    /// Takes a record in and writes it out at once. One that is there already must say the same.
    pub fn append(&self, record: Record) -> Result<()> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        if let Some(known) = inner.records.get(&record.key) {
            let failed = [known.failure.is_some(), record.failure.is_some()];
            if known.contradicts(&record) {
                return Err(Error::Conflict { track: record.track, item: record.item });
            }
            // An answer takes the place of a failure, and nothing else does.
            if failed != [true, false] {
                return Ok(());
            }
        }
        if inner.broken {
            // Another thread has told why.
            return Err(Error::Halted);
        }
        if let Some((path, file)) = &mut inner.file {
            let mut line =
                serde_json::to_vec(&record).map_err(|error| FileError::io(path)(error.into()))?;
            line.push(b'\n');
            // One call for the whole line: a kill leaves it whole or cut, never mixed with another.
            if let Err(error) = file.write_all(&line) {
                let failed = FileError::io(path)(error);
                // A line that was cut must not run into the next.
                let _ = file.set_len(inner.length);
                inner.broken = true;
                return Err(failed.into());
            }
            inner.length += line.len() as u64;
        }
        inner.insert(record);
        Ok(())
    }
}

/// Whether a line without its end is what an interruption can leave of one that begins with `beginning`, so that
/// it may be cut off. Anything else is no journal of ours and stays as it is.
pub fn is_cut(line: &[u8], beginning: &[u8]) -> bool {
    line.starts_with(beginning) || beginning.starts_with(line)
}

impl Inner {
    fn insert(&mut self, mut record: Record) {
        let answered = |known: &Record| known.failure.is_none();
        if record.failure.is_some() && self.records.get(&record.key).is_some_and(answered) {
            return;
        }
        let item = (record.run.clone(), record.track.clone(), record.item.clone());
        let known = self.fields.entry(item).or_insert_with(|| Arc::clone(&record.fields));
        if *known == record.fields {
            record.fields = Arc::clone(known);
        }
        self.records.insert(record.key.clone(), record);
    }

    /// Takes every whole line in; the length up to the last of them.
    fn read(&mut self, path: &Path, file: &File) -> Result<u64> {
        let io = FileError::io(path);
        require_length(file.metadata().map_err(&io)?.len(), FILE_LIMIT).map_err(&io)?;
        let mut lines = BoundedLines::new(BufReader::new(file), LINE_LIMIT);
        let (mut whole, mut line) = (0_u64, Vec::new());
        loop {
            let more = lines.read(&mut line);
            let number = lines.number();
            if !more.map_err(|error| FileError::no_record(path, number, error))? {
                return Ok(whole);
            }
            if line.last() != Some(&b'\n') {
                // What follows the last line break is what an interruption left of a line.
                if is_cut(&line, BEGINNING) {
                    return Ok(whole);
                }
                return Err(FileError::no_record(path, number, "not the beginning of one").into());
            }
            whole += line.len() as u64;
            if line == b"\n" {
                continue;
            }
            let record: Record = serde_json::from_slice(&line)
                .map_err(|error| FileError::no_record(path, number, error))?;
            let known = self.records.get(&record.key);
            if known.is_some_and(|known| known.contradicts(&record)) {
                let reason =
                    "another answer of the same model, prompt and setting stands before it";
                return Err(FileError::no_record(path, number, reason).into());
            }
            self.insert(record);
        }
    }
}
