//! Reader for LLaVA's evaluation folders: a file of ready prompts, gold from the benchmark's own
//! files, and images beside them.
//!
//! Gold answers are held in memory; they are text, at most a few tens of megabytes for the
//! published files. Questions are read line by line, and images are only named, never opened.

mod gold;
mod mme;
mod pope;
mod science;
mod source;

use std::path::{Path, PathBuf};

use mico_score::Track;

use crate::Error;
use crate::samples::Samples;
use crate::tsv::TsvSource;
use source::LlavaSource;

/// The expected file and folder names of a track, relative to its own folder.
struct Place {
    folder: &'static str,
    questions: &'static str,
    /// The gold files: one group of alternative names for each.
    gold: &'static [&'static [&'static str]],
    images: &'static [&'static str],
}

fn place(track: Track) -> Option<Place> {
    let place = |folder, questions, gold, images| Place { folder, questions, gold, images };
    Some(match track {
        Track::Gqa => place(
            "gqa",
            "llava_gqa_testdev_balanced.jsonl",
            &[&["data/testdev_balanced_questions.json", "testdev_balanced_questions.json"]],
            &["data/images", "images"],
        ),
        Track::ScienceQaImg => place(
            "scienceqa",
            "llava_test_CQM-A.json",
            &[&["problems.json", "data/scienceqa/problems.json"]],
            &["images/test", "images", "test"],
        ),
        Track::TextVqa => place(
            "textvqa",
            "llava_textvqa_val_v051_ocr.jsonl",
            &[&["TextVQA_0.5.1_val.json"]],
            &["train_images", "images", "train_val_images/train_images"],
        ),
        Track::Pope => {
            place("pope", "llava_pope_test.jsonl", &[], &["val2014", "coco/val2014", "images"])
        }
        Track::Mme => place("MME", "llava_mme.jsonl", &[], &[]),
        Track::MmbenchEn => place("mmbench", "mmbench_dev_20230712.tsv", &[], &[]),
        Track::MmbenchCn => place("mmbench_cn", "mmbench_dev_cn_20231003.tsv", &[], &[]),
        Track::SeedBenchImg => place(
            "seed_bench",
            "llava-seed-bench.jsonl",
            &[&["SEED-Bench.json"]],
            &["", "SEED-Bench-image", "images"],
        ),
        _ => return None,
    })
}

/// The question file that is searched for, as listed in error messages.
pub(crate) fn looked_for(track: Track) -> Vec<String> {
    place(track).iter().map(|p| format!("{}/{}", p.folder, p.questions)).collect()
}

/// A track's evaluation folder with the files found in it.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    track: Track,
    dir: PathBuf,
    questions: PathBuf,
    gold: Vec<PathBuf>,
}

impl Folder {
    /// Searches `<root>/<folder>`, `<root>/playground/data/eval/<folder>` and `root` itself.
    pub(crate) fn find(root: &Path, track: Track) -> Result<Option<Self>, Error> {
        let Some(place) = place(track) else { return Ok(None) };
        let eval = root.join("playground/data/eval").join(place.folder);
        let mut dirs = [root.join(place.folder), eval, root.to_owned()].into_iter();
        let Some(dir) = dirs.find(|dir| dir.join(place.questions).exists()) else {
            return Ok(None);
        };
        let questions = dir.join(place.questions);
        let mut gold = Vec::new();
        for names in place.gold {
            let found = names.iter().map(|name| dir.join(name)).find(|path| path.exists());
            gold.push(found.ok_or_else(|| missing_gold(&questions, &names.join(", ")))?);
        }
        match track {
            Track::Pope => gold = pope::label_files(&dir, &questions)?,
            Track::Mme => gold = mme::answer_files(&dir, &questions)?,
            Track::ScienceQaImg => {
                let beside = gold.first().and_then(|path| path.parent()).unwrap_or(&dir);
                let splits = beside.join("pid_splits.json");
                gold.extend(splits.exists().then_some(splits));
            }
            _ => {}
        }
        Ok(Some(Self { track, dir, questions, gold }))
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        [self.questions.clone()].into_iter().chain(self.gold.iter().cloned()).collect()
    }

    pub(crate) fn samples(&self, root: &Path) -> Result<Samples, Error> {
        Ok(match self.track {
            Track::MmbenchEn | Track::MmbenchCn => {
                Samples::new(TsvSource::open(&self.questions, root, self.track)?)
            }
            Track::ScienceQaImg => Samples::new(science::Science::open(self)?),
            _ => Samples::new(LlavaSource::open(self)?),
        })
    }

    /// The folders in which images may be.
    fn image_folders(&self) -> Vec<PathBuf> {
        let names = place(self.track).map_or(&[][..], |place| place.images);
        names.iter().map(|name| self.dir.join(name)).collect()
    }
}

/// The error for a gold file that is not where it should be.
fn missing_gold(questions: &Path, names: &str) -> Error {
    Error::format(questions, format!("no gold beside it: looked for {names}"))
}
