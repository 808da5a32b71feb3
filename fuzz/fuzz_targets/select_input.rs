//! Any bytes as the input of `mico select`: an answer or an error, never a panic, never more
//! memory than allowed.
//!
//! The first three bytes choose method, budget and memory; the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mico_cli::select::select_from_bytes;
use mico_select::Settings;
use mico_select::methods::{selector_by_name, selectors};

fuzz_target!(|data: &[u8]| {
    let [method, budget, memory, file @ ..] = data else { return };
    let methods: Vec<_> = selectors().collect();
    let method = methods[usize::from(*method) % methods.len()];
    let selector = selector_by_name(method.name, Settings::default()).expect("defaults are good");
    let memory = 1usize << (10 + memory % 16);
    if let Ok(selection) = select_from_bytes(file, &*selector, usize::from(*budget), memory) {
        assert!(!selection.kept.is_empty() || method.name == "holov");
        assert!(selection.kept.windows(2).all(|pair| pair[0] < pair[1]));
    }
});
