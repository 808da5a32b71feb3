//! The committed cases and templates.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// What `fixtures/chat_templates.py` wrote.
pub(crate) fn rendered() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rendered.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The templates by the names the cases have for them.
pub(crate) fn templates() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("tests/data/templates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        found.insert(name, std::fs::read_to_string(path).unwrap());
    }
    for case in rendered()["templates"].as_array().unwrap() {
        let name = case[0].as_str().unwrap();
        if name.contains('/') {
            let path = root.join("../..").join(name);
            found.insert(name.to_owned(), std::fs::read_to_string(path).unwrap());
        }
    }
    found
}
