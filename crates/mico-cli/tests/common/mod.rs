//! Running the command, for tests only.

use assert_cmd::Command;
use serde_json::Value;

/// The command with these arguments and an environment that says nothing to it.
#[allow(dead_code, reason = "a test file may run it in a shell")]
pub(crate) fn mico(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mico").unwrap();
    for (name, _) in std::env::vars() {
        if name.starts_with("MICO_") || name.starts_with("HF_") {
            command.env_remove(name);
        }
    }
    command.args(args);
    command
}

/// Runs a call that must succeed and reads its JSON document.
#[allow(dead_code, reason = "not every test file has such calls")]
pub(crate) fn json(command: &mut Command) -> Value {
    let output = command.arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a call that must fail: one line on stderr, nothing on stdout.
#[allow(dead_code, reason = "not every test file has such calls")]
pub(crate) fn refused(command: &mut Command, status: i32) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(output.stdout.is_empty());
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}
