//! Reader for gRefCOCO: expressions from `grefs(unc).json`, boxes from COCO's `instances.json`.
//!
//! Both files are read whole but without the segmentation outlines; the boxes and expressions of
//! the published set take a few tens of megabytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mico_score::{Fields, Track};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ids::Ids;
use crate::json;
use crate::samples::{Source, Step};
use crate::{Damaged, Error, Sample, Visual};

const EXPRESSIONS: &str = "grefs(unc).json";
const INSTANCES: &str = "instances.json";
const IMAGES: [&str; 4] = ["train2014", "images/train2014", "images", "../train2014"];

/// The splits that are evaluated; others, such as `train`, are skipped.
const SPLITS: [&str; 3] = ["val", "testA", "testB"];

/// The file names that are searched for, as listed in error messages.
pub(crate) fn looked_for(track: Track) -> Vec<String> {
    if track == Track::GrefCoco { vec![format!("grefcoco/{EXPRESSIONS}")] } else { Vec::new() }
}

/// The folder that holds both files.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    dir: PathBuf,
}

#[derive(Deserialize)]
struct Expression {
    ref_id: Value,
    image_id: u64,
    split: String,
    ann_id: OneOrMore,
    sentences: Vec<Sentence>,
    #[serde(default)]
    file_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(i64),
    More(Vec<i64>),
}

#[derive(Deserialize)]
struct Sentence {
    sent: String,
}

#[derive(Deserialize)]
struct Instances {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    width: u32,
    height: u32,
    file_name: String,
}

#[derive(Deserialize)]
struct Annotation {
    id: i64,
    bbox: [f64; 4],
}

impl Folder {
    pub(crate) fn find(root: &Path, track: Track) -> Option<Self> {
        let mut dirs = [root.join("grefcoco"), root.to_owned()].into_iter();
        let dir = dirs.find(|dir| track == Track::GrefCoco && dir.join(EXPRESSIONS).exists())?;
        Some(Self { dir })
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        vec![self.dir.join(EXPRESSIONS), self.dir.join(INSTANCES)]
    }

    pub(crate) fn samples(&self) -> Result<CocoSource, Error> {
        let file = self.dir.join(EXPRESSIONS);
        let expressions: Vec<Expression> = json::read(&file)?;
        let instances: Instances = json::read(&self.dir.join(INSTANCES))?;
        let annotations = instances.annotations.into_iter();
        Ok(CocoSource {
            file,
            folders: IMAGES.iter().map(|name| self.dir.join(name)).collect(),
            boxes: annotations.map(|a| (a.id, a.bbox)).collect(),
            images: instances.images.into_iter().map(|image| (image.id, image)).collect(),
            expressions,
            ids: Ids::default(),
            at: (0, 0),
            row: 0,
            outside: 0,
        })
    }
}

/// A stream of samples, one per sentence of each referring expression.
pub(crate) struct CocoSource {
    file: PathBuf,
    folders: Vec<PathBuf>,
    boxes: BTreeMap<i64, [f64; 4]>,
    images: BTreeMap<u64, Image>,
    expressions: Vec<Expression>,
    ids: Ids,
    /// Indices of the next expression and of its next sentence.
    at: (usize, usize),
    row: u64,
    outside: u64,
}

fn name(expression: &Expression, sentence: usize) -> String {
    format!("{}_{sentence}", json::as_text(&expression.ref_id).unwrap_or_default())
}

impl CocoSource {
    fn sample(&self, id: &str, number: usize, sentence: usize) -> Result<Sample, String> {
        let expression = &self.expressions[number];
        let image = self.images.get(&expression.image_id);
        let image =
            image.ok_or_else(|| format!("no image {} in {INSTANCES}", expression.image_id))?;
        let ids = match &expression.ann_id {
            OneOrMore::One(id) => std::slice::from_ref(id),
            OneOrMore::More(ids) => ids,
        };
        let mut boxes = Vec::new();
        for id in ids.iter().filter(|id| **id != -1) {
            let found = self.boxes.get(id);
            boxes.push(found.ok_or_else(|| format!("no annotation {id} in {INSTANCES}"))?);
        }
        let said = expression.sentences.get(sentence).ok_or("no sentence")?;
        let mut fields = Fields::new();
        fields.insert("expression".into(), json!(said.sent));
        fields.insert("boxes".into(), json!(boxes));
        fields.insert("width".into(), json!(image.width));
        fields.insert("height".into(), json!(image.height));
        fields.insert("split".into(), json!(expression.split));
        let names = [Some(&image.file_name), expression.file_name.as_ref()];
        let mut places = names
            .into_iter()
            .flatten()
            .flat_map(|name| self.folders.iter().map(move |folder| folder.join(name)));
        let path = places.find(|place| place.is_file()).unwrap_or_else(|| {
            self.folders.first().map(|folder| folder.join(&image.file_name)).unwrap_or_default()
        });
        let (id, cluster) = (id.to_owned(), expression.image_id.to_string());
        Ok(Sample { id, cluster, fields, visuals: vec![Visual::File(path)] })
    }
}

impl Source for CocoSource {
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>> {
        loop {
            let (number, sentence) = self.at;
            let expression = self.expressions.get(number)?;
            if sentence >= expression.sentences.len() {
                self.at = (number + 1, 0);
                continue;
            }
            self.at.1 += 1;
            self.row = number as u64 + 1;
            if !SPLITS.contains(&expression.split.as_str()) {
                self.outside += 1;
                continue;
            }
            let id = self.ids.unique(&name(expression, sentence));
            if !wanted(&id) {
                return Some(Ok(Step::Skipped));
            }
            return Some(match self.sample(&id, number, sentence) {
                Ok(sample) => Ok(Step::Sample(Box::new(sample))),
                Err(reason) => {
                    let (file, row) = (self.file.clone(), self.row);
                    Err(Damaged { file, row, index: Some(id), lost: 1, reason })
                }
            });
        }
    }

    fn outside(&self) -> u64 {
        self.outside
    }
}
