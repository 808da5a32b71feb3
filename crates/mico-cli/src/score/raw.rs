//! Single rules on JSON lines.

use std::io::{BufRead, BufReader};
use std::path::Path;

use mico_score::raw::Lines;
use mico_util::input::{BoundedLines, open_stream};

use crate::failure::Failure;
use crate::output;

/// The longest line: a set of all the rows of a benchmark.
const LINE_LIMIT: u64 = 8 << 20;

/// Applies the rules of every line.
pub(super) fn run(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return apply("standard input", std::io::stdin().lock());
    }
    let name = path.display().to_string();
    let file = open_stream(path).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    apply(&name, BufReader::new(file))
}

/// A line that no rule applies to gets its error and does not end the work; a file without any line of JSON is the
/// wrong file.
fn apply(name: &str, reader: impl BufRead) -> Result<(), Failure> {
    let mut input = BoundedLines::new(reader, LINE_LIMIT);
    let (mut lines, mut line) = (Lines::new(), Vec::new());
    loop {
        let more = input.read(&mut line);
        let wrong = |error| Failure::failed(format!("{name} line {}: {error}", input.number()));
        if !more.map_err(wrong)? {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(answer) = lines.apply(&text) {
            output::line(&answer.to_string())?;
        }
    }
    if lines.are_all_malformed() {
        return Err(Failure::failed(format!("{name}: no line is JSON")));
    }
    Ok(())
}
