//! Reader for ScienceQA: one JSON list of conversations, with gold in `problems.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mico_score::Fields;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Folder;
use crate::fields::{choices, letter, put};
use crate::json::{self, as_text};
use crate::samples::{Source, Step};
use crate::{Damaged, Error, Sample, Visual};

/// The instruction that the public loader appends to the file's text.
const INSTRUCTION: &str = "\nAnswer with the option's letter from the given choices directly.";

#[derive(Deserialize)]
struct Record {
    id: Value,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    conversations: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Problem {
    question: String,
    choices: Vec<String>,
    answer: Value,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    subject: Option<String>,
}

/// A stream of the questions that have an image, in file order.
pub(super) struct Science {
    file: PathBuf,
    records: std::vec::IntoIter<Record>,
    row: u64,
    problems: BTreeMap<String, Problem>,
    test: Option<BTreeSet<String>>,
    folders: Vec<PathBuf>,
    seen: BTreeSet<String>,
    outside: u64,
}

impl Science {
    pub(super) fn open(folder: &Folder) -> Result<Self, Error> {
        let records: Vec<Record> = json::read(&folder.questions)?;
        let mut problems = BTreeMap::new();
        let mut test = None;
        if let [gold, rest @ ..] = folder.gold.as_slice() {
            problems = json::read(gold)?;
            if let [splits, ..] = rest {
                let mut splits: BTreeMap<String, Vec<Value>> = json::read(splits)?;
                let ids = splits.remove("test").unwrap_or_default();
                test = Some(ids.iter().filter_map(as_text).collect());
            }
        }
        Ok(Self {
            file: folder.questions.clone(),
            records: records.into_iter(),
            row: 0,
            problems,
            test,
            folders: folder.image_folders(),
            seen: BTreeSet::new(),
            outside: 0,
        })
    }

    fn fields(&self, id: &str, record: &Record) -> Result<Fields, String> {
        let problem = self.problems.get(id).ok_or("no gold for this id")?;
        let place = problem.answer.as_u64().and_then(|n| usize::try_from(n).ok());
        let place = place.filter(|place| *place < problem.choices.len()).ok_or_else(|| {
            format!("answer is {}, there are {} choices", problem.answer, problem.choices.len())
        })?;
        let said = record.conversations.first().ok_or("no conversation")?;
        let mut fields = Fields::new();
        let text = said.value.replace("<image>", "");
        fields.insert("prompt".into(), json!(format!("{}{INSTRUCTION}", text.trim())));
        fields.insert("question".into(), json!(problem.question));
        put(&mut fields, "hint", problem.hint.clone().filter(|hint| !hint.is_empty()));
        put(&mut fields, "category", problem.subject.clone());
        fields.insert("choices".into(), choices(problem.choices.iter().cloned()));
        put(&mut fields, "answer", letter(place).map(String::from));
        Ok(fields)
    }

    fn image(&self, id: &str, name: &str) -> PathBuf {
        for folder in &self.folders {
            for place in [folder.join(name), folder.join(id).join(name)] {
                if place.is_file() {
                    return place;
                }
            }
        }
        self.folders.first().map(|folder| folder.join(name)).unwrap_or_default()
    }

    fn record(
        &mut self,
        record: &Record,
        wanted: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Option<Step>, String> {
        let id = as_text(&record.id).ok_or("'id' is missing or is no text")?;
        let in_test = self.test.as_ref().is_none_or(|test| test.contains(&id));
        let Some(image) = record.image.as_deref().filter(|_| in_test) else {
            self.outside += 1;
            return Ok(None);
        };
        if !self.seen.insert(id.clone()) {
            return Err("another record has the same id".into());
        }
        let fields = self.fields(&id, record)?;
        if !wanted(&id) {
            return Ok(Some(Step::Skipped));
        }
        let visuals = vec![Visual::File(self.image(&id, image))];
        Ok(Some(Step::Sample(Box::new(Sample { cluster: id.clone(), id, fields, visuals }))))
    }
}

impl Source for Science {
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>> {
        loop {
            let record = self.records.next()?;
            self.row += 1;
            match self.record(&record, wanted) {
                Ok(Some(step)) => return Some(Ok(step)),
                Ok(None) => {}
                Err(reason) => {
                    let (file, row) = (self.file.clone(), self.row);
                    return Some(Err(Damaged {
                        file,
                        row,
                        index: as_text(&record.id),
                        lost: 1,
                        reason,
                    }));
                }
            }
        }
    }

    fn outside(&self) -> u64 {
        self.outside
    }
}
