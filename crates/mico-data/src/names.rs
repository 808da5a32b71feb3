//! File and folder names under which each benchmark is published; extend it to recognise another name.

use mico_score::Track;

/// VLMEvalKit's names for a track's table, without file ending.
fn table_names(track: Track) -> &'static [&'static str] {
    match track {
        Track::Gqa => &["GQA_TestDev_Balanced"],
        Track::ScienceQaImg => &["ScienceQA_TEST"],
        Track::TextVqa => &["TextVQA_VAL"],
        Track::Pope => &["POPE"],
        Track::Mme => &["MME"],
        Track::MmbenchEn => &["MMBench_DEV_EN"],
        Track::MmbenchCn => &["MMBench_DEV_CN"],
        Track::SeedBenchImg => &["SEEDBench_IMG"],
        Track::Ai2d => &["AI2D_TEST"],
        Track::Mmmu => &["MMMU_DEV_VAL"],
        Track::HallusionBench => &["HallusionBench"],
        Track::MmStar => &["MMStar"],
        Track::ChartQa => &["ChartQA_TEST"],
        Track::DocVqa => &["DocVQA_VAL"],
        Track::OcrBench => &["OCRBench"],
        // One table may hold all three datasets, distinguished by the name of the split.
        Track::RefCoco => &["RefCOCO"],
        Track::RefCocoPlus => &["RefCOCO+", "RefCOCOplus", "RefCOCO"],
        Track::RefCocoG => &["RefCOCOg", "RefCOCO"],
        Track::GrefCoco
        | Track::VtcBench
        | Track::VideoMme
        | Track::MvBench
        | Track::LongVideoBench
        | Track::Mlvu => &[],
    }
}

/// File names of a track's table, in order of preference.
pub(crate) fn tables(track: Track) -> Vec<String> {
    let names = table_names(track).iter();
    names.flat_map(|name| [format!("{name}.tsv"), format!("{name}_local.tsv")]).collect()
}

/// The folders and splits of a track's parquet files.
pub(crate) struct ShardNames {
    /// Folder names, compared without regard to case.
    pub(crate) folders: &'static [&'static str],
    /// The splits to read; a file's split is its name up to the first `-` or `.`. If no file has
    /// one of these splits, all files are read.
    pub(crate) splits: &'static [&'static str],
    /// Subfolder names; if some files lie in one of them, only those files are read.
    pub(crate) parts: &'static [&'static str],
}

/// The names of a track's parquet files; `None` if it is not published as parquet.
pub(crate) fn shard_names(track: Track) -> Option<ShardNames> {
    let (folders, splits, parts): (&'static [_], &'static [_], &'static [_]) = match track {
        Track::Gqa => (&["GQA"], &["testdev"], &["testdev_balanced_instructions"]),
        Track::ScienceQaImg => (&["ScienceQA-IMG", "ScienceQA"], &["test"], &["ScienceQA-IMG"]),
        Track::TextVqa => (&["textvqa"], &["validation"], &[]),
        Track::Pope => (&["POPE"], &["test"], &["data", "default"]),
        Track::Mme => (&["MME"], &["test"], &[]),
        Track::MmbenchEn => (&["MMBench_EN", "MMBench"], &["dev"], &["en"]),
        Track::MmbenchCn => (&["MMBench_CN", "MMBench"], &["dev"], &["cn"]),
        Track::SeedBenchImg => (&["SEED-Bench", "SEEDBench"], &["test"], &[]),
        Track::Ai2d => (&["ai2d"], &["test"], &[]),
        Track::Mmmu => (&["MMMU"], &["validation"], &[]),
        Track::MmStar => (&["MMStar"], &["val", "mmstar"], &[]),
        Track::ChartQa => (&["ChartQA"], &["test"], &[]),
        Track::DocVqa => (&["DocVQA"], &["validation"], &["DocVQA"]),
        Track::OcrBench => (&["OCRBench"], &["test"], &[]),
        Track::RefCoco => (&["RefCOCO"], &["val", "testA", "testB"], &[]),
        Track::RefCocoPlus => (&["RefCOCOplus", "RefCOCO+"], &["val", "testA", "testB"], &[]),
        Track::RefCocoG => (&["RefCOCOg"], &["val", "test"], &[]),
        Track::VideoMme => (&["Video-MME", "VideoMME"], &["test"], &[]),
        Track::MvBench => (&["MVBench"], &[], &[]),
        Track::LongVideoBench => (&["LongVideoBench"], &["validation"], &[]),
        Track::Mlvu => (&["MLVU_dev", "MLVU"], &["dev", "test"], &[]),
        Track::HallusionBench | Track::GrefCoco | Track::VtcBench => return None,
    };
    Some(ShardNames { folders, splits, parts })
}

/// The folder names to search for, including the track's own name.
pub(crate) fn shard_folders(track: Track) -> Vec<&'static str> {
    let Some(names) = shard_names(track) else { return Vec::new() };
    let mut folders = names.folders.to_vec();
    if !folders.iter().any(|folder| folder.eq_ignore_ascii_case(track.name())) {
        folders.push(track.name());
    }
    folders
}

/// The search patterns, as listed in error messages.
pub(crate) fn shard_patterns(track: Track) -> Vec<String> {
    shard_folders(track).iter().map(|folder| format!("{folder}/**/*.parquet")).collect()
}
