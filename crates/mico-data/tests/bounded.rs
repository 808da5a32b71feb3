//! What is in memory at once does not grow with the file.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use mico_data::{Visual, open};
use mico_score::Track;
use peak_alloc::PeakAlloc;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

const ROW: usize = 1 << 20;
const ROWS: usize = 64;

/// A table of 64 MB; row 0 shows the picture of the last row, row 1 that of row 0's neighbour.
fn write_table(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    writeln!(file, "index\timage\tquestion\tanswer").unwrap();
    let cell = "QUJD".repeat(ROW / 4);
    for row in 0..ROWS {
        let image = match row {
            0 => (ROWS - 1).to_string(),
            1 => "2".into(),
            _ => cell.clone(),
        };
        writeln!(file, "{row}\t{image}\tIs there a dog?\tYes").unwrap();
    }
    file.flush().unwrap();
}

fn peak_of(work: impl FnOnce()) -> usize {
    let before = PEAK.current_usage();
    PEAK.reset_peak_usage();
    work();
    PEAK.peak_usage() - before
}

// One test: the allocator counts for the whole process.
#[test]
fn memory_is_that_of_a_few_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("POPE.tsv");
    write_table(&path);
    let dataset = open(folder.path(), Track::Pope).unwrap();

    // The row, its picture, the eight pictures kept for later rows and the row a reference led to.
    let most = 16 * ROW;
    let all = peak_of(|| {
        let mut count = 0;
        for sample in dataset.samples().unwrap() {
            let Visual::Encoded(bytes) = &sample.unwrap().visuals[0] else { panic!() };
            assert_eq!(bytes.len(), ROW / 4 * 3);
            count += 1;
        }
        assert_eq!(count, ROWS);
    });
    assert!(all < most, "{all}");

    // Pictures nobody asks for are not decoded: one row, whose buffer doubles as it grows.
    let skipped = peak_of(|| {
        let mut samples = dataset.samples().unwrap();
        assert!(samples.next_where(|id| id == "none").is_none());
    });
    assert!(skipped < 4 * ROW, "{skipped}");

    let fingerprint = peak_of(|| {
        dataset.fingerprint().unwrap();
    });
    assert!(fingerprint < ROW, "{fingerprint}");

    // Ten rows of a huge file: what follows them is never looked at. The file is mostly a hole, which
    // would read as one row over the limit.
    let huge = File::options().write(true).open(&path).unwrap();
    huge.set_len(5 << 30).unwrap();
    let ten = peak_of(|| {
        let samples = dataset.samples().unwrap();
        assert_eq!(samples.skip(2).take(10).filter_map(Result::ok).count(), 10);
    });
    assert!(ten < most, "{ten}");
}
