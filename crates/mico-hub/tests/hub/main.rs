//! Finding models: in a cache laid out by hand, and on a hub that a local server plays.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod download;
mod offline;
mod refusals;
mod repo;
mod server;

use std::fs;
use std::path::{Path, PathBuf};

use mico_hub::{HubError, HubOptions, ModelRef, resolve};
use server::Server;
use tempfile::TempDir;

/// The larger of the two weight files the local hub has.
const SHARD: &str = "model-00001-of-00002.safetensors";

fn options(server: &Server, cache: &Path) -> HubOptions {
    HubOptions::new(cache).with_endpoint(&server.url()).unwrap()
}

fn fetch(model: &str, options: &HubOptions) -> Result<PathBuf, HubError> {
    resolve(&ModelRef::parse(model).unwrap(), options, &mut |_| {})
}

/// Files whose content was asked for.
fn downloads(server: &Server) -> Vec<String> {
    let gets = server.take_log().into_iter().filter(|asked| asked.method == "GET");
    gets.map(|asked| asked.path).filter(|path| path.starts_with("/org/name/resolve/")).collect()
}

fn repo(cache: &TempDir) -> PathBuf {
    cache.path().join("models--org--name")
}

fn leftovers(cache: &TempDir) -> Vec<String> {
    let Ok(entries) = fs::read_dir(repo(cache).join("blobs")) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".incomplete")).collect()
}
