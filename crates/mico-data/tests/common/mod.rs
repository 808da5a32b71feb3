//! Where the committed data is.

use std::path::PathBuf;

/// The committed data's folder of that name.
pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
