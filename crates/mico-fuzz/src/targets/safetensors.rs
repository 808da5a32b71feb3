//! Tensor files and the index of shards.

use std::io::Cursor;

use mico_model::checkpoint::Checkpoint;
use mico_tensors::{Header, INDEX_FILE, SINGLE_FILE, ShardIndex, TensorFile};

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "safetensors",
    about: "safetensors files, their tensors, and model.safetensors.index.json",
    run,
    tokens: &[
        "__metadata__",
        "dtype",
        "shape",
        "data_offsets",
        "weight_map",
        "metadata",
        "total_size",
        "F64",
        "F32",
        "F16",
        "BF16",
        "F8_E4M3",
        "F4",
        "I64",
        "I32",
        "I16",
        "I8",
        "U8",
        "BOOL",
        "C64",
        "model.safetensors",
        "../model.safetensors",
        "features",
    ],
    short_run: 3000,
};

/// The most bytes of one tensor.
const MEMORY: u64 = 1 << 16;

fn run(data: &[u8], seen: &mut Seen) {
    values(data, seen);
    if let Some(index) = seen.result("index", ShardIndex::read(data)) {
        for file in index.files() {
            assert!(!file.is_empty() && !file.contains(['/', '\\', '\0']), "{file:?}");
            assert!(file != ".." && file != ".", "{file:?}");
        }
        assert!(index.tensors().count() >= index.files().len());
    }
    let name = if data.starts_with(b"{") { INDEX_FILE } else { SINGLE_FILE };
    with_folder(data, name, |folder| {
        let Some(checkpoint) = seen.result("checkpoint", Checkpoint::open(folder)) else { return };
        for name in checkpoint.names() {
            let Some((shape, bytes)) = checkpoint.info(name) else {
                panic!("{name:?} has no entry")
            };
            assert!(bytes <= data.len(), "{name:?} has {bytes} bytes");
            if let Some(tensor) = seen.result("tensor", checkpoint.load(name, shape)) {
                assert_eq!(tensor.dims(), shape, "{name:?}");
            }
        }
    });
}

/// Every tensor of a file, as raw bytes and as numbers.
fn values(data: &[u8], seen: &mut Seen) {
    let length = data.len() as u64;
    let Some(header) = seen.result("header", Header::read(&mut &data[..], length)) else { return };
    let packed = seen.result("packed", header.require_packed()).is_some();
    let Some(mut file) = seen.result("file", TensorFile::open(Cursor::new(data))) else { return };
    let mut total = 0;
    for name in header.names() {
        let Some(info) = header.get(name) else { panic!("{name:?} has no entry") };
        total += info.bytes();
        let slice = seen.result("slice", header.slice(data, name));
        let bytes = seen.result("bytes", header.bytes(&mut Cursor::new(data), name));
        assert_eq!(slice, bytes.as_deref(), "{name:?}");
        // No more than the bytes of the file, unless the type is unknown and nothing is read.
        let sides = info.shape().iter();
        let elements = sides.fold(1_usize, |product, &side| product.saturating_mul(side));
        if let Some((values, shape)) = seen.result("floats", file.floats(name, MEMORY)) {
            assert_eq!((values.len(), &shape[..]), (elements, info.shape()), "{name:?}");
            assert!(values.len() as u64 * 4 <= MEMORY);
        }
        if let Some((values, shape)) = seen.result("integers", file.integers(name, MEMORY)) {
            assert_eq!((values.len(), &shape[..]), (elements, info.shape()), "{name:?}");
            assert!(values.len() as u64 * 8 <= MEMORY);
        }
    }
    assert!(total <= length, "tensors of {total} bytes in a file of {length}");
    seen.accepted(format_args!("{} tensors, packed: {packed}", header.names().count().min(8)));
}
