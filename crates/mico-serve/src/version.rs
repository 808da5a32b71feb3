//! What this program was built from.

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit, where the build was told (`MICO_COMMIT`).
pub const COMMIT: &str = match option_env!("MICO_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
