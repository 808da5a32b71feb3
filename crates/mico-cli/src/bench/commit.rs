//! Which source the program was made from.

use std::path::Path;
use std::process::Command;

/// The commit the binary was made from: as the build said, else as the source folder says now.
pub(super) fn commit() -> Option<String> {
    if let Some(commit) = option_env!("MICO_COMMIT") {
        return Some(commit.to_owned());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let commit = text.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.to_owned())
}
