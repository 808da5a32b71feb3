//! The names under which each track is published.

use mico_score::Track;

/// VLMEvalKit's names of a track's table, without ending.
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
        // One table may hold all three sets, told apart by their split's name.
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

/// File names of a track's table, in the order of preference.
pub(crate) fn tables(track: Track) -> Vec<String> {
    let names = table_names(track).iter();
    names.flat_map(|name| [format!("{name}.tsv"), format!("{name}_local.tsv")]).collect()
}

/// Where a track's parquet files are.
pub(crate) struct ShardNames {
    /// Folder names, compared without regard to case.
    pub(crate) folders: &'static [&'static str],
    /// A file of these splits counts; the split is the file name up to its first `-` or `.`. If no file
    /// carries one of these names all files count.
    pub(crate) splits: &'static [&'static str],
    /// If a folder of one of these names lies on the way to some of the files, only those count.
    pub(crate) parts: &'static [&'static str],
}

/// The names of a track's parquet files, `None` if it is not published so.
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

/// Folder names of a track's parquet files with the track's own name, for messages and for looking.
pub(crate) fn shard_folders(track: Track) -> Vec<&'static str> {
    let Some(names) = shard_names(track) else { return Vec::new() };
    let mut folders = names.folders.to_vec();
    if !folders.iter().any(|folder| folder.eq_ignore_ascii_case(track.name())) {
        folders.push(track.name());
    }
    folders
}

/// What is looked for, for messages.
pub(crate) fn shard_patterns(track: Track) -> Vec<String> {
    shard_folders(track).iter().map(|folder| format!("{folder}/**/*.parquet")).collect()
}
