//! Files whose decoder was left out of the build are refused by name, not passed over.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use common::data;
use mico_data::{open, predictions};
use mico_score::Track;

#[test]
fn parquet_files_need_their_feature() {
    let opened = open(&data("lmms"), Track::Pope);
    if cfg!(feature = "parquet") {
        assert_eq!(opened.unwrap().rows, Some(6));
    } else {
        let error = opened.unwrap_err().to_string();
        let named = "POPE/data/test-00000-of-00001.parquet: this build reads no parquet files";
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn workbooks_need_their_feature() {
    let read = predictions(&data("predictions/POPE.xlsx"));
    if cfg!(feature = "xlsx") {
        assert_eq!(read.unwrap().rows().len(), 6);
    } else {
        let error = read.unwrap_err().to_string();
        assert!(error.contains("POPE.xlsx: this build reads no xlsx files"), "{error}");
    }
}

#[test]
fn tables_need_none() {
    assert_eq!(open(&data("vlmevalkit"), Track::Pope).unwrap().samples().unwrap().count(), 6);
    assert_eq!(predictions(&data("predictions/POPE.tsv")).unwrap().rows().len(), 6);
}
