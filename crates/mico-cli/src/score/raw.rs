//! Single rules on JSON lines.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use mico_score::raw::Lines;

use crate::failure::Failure;
use crate::output;

/// Applies the rules of every line.
pub(super) fn run(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return apply("standard input", std::io::stdin().lock());
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    apply(&name, BufReader::new(file))
}

fn apply(name: &str, mut reader: impl BufRead) -> Result<(), Failure> {
    let (mut lines, mut line) = (Lines::new(), Vec::new());
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::failed(format!("{name}: {error}"))),
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(answer) = lines.apply(&text) {
            output::line(&answer.to_string())?;
        }
    }
}
