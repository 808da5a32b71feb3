//! Joins the lines of a LLaVA question file with their gold answers.

use std::path::PathBuf;

use mico_score::{Fields, Track};
use serde_json::{Value, json};

use super::Folder;
use super::gold::{Gqa, Seed, TextVqa};
use super::mme::{self, Answers};
use super::pope::Labels;
use crate::error::excerpt;
use crate::ids::Ids;
use crate::json::{Lines, as_text};
use crate::samples::{Source, Step};
use crate::{Damaged, Error, Sample, Visual};

/// The instructions at the end of prompts in the released question files.
const INSTRUCTIONS: [&str; 3] = [
    "\nAnswer the question using a single word or phrase.",
    "\nAnswer with the option's letter from the given choices directly.",
    "\n请直接回答选项字母。",
];

const OCR_LINE: &str = "Reference OCR token: ";

enum Gold {
    Gqa(Gqa),
    TextVqa(TextVqa),
    Pope(Labels),
    Mme(Answers),
    Seed(Seed),
}

/// A LLaVA question file as a stream of samples.
pub(super) struct LlavaSource {
    lines: Lines,
    gold: Gold,
    folders: Vec<PathBuf>,
    ids: Ids,
    outside: u64,
}

/// The parts of a question line that every track has.
struct Asked {
    question_id: String,
    image: String,
    text: String,
}

impl LlavaSource {
    pub(super) fn open(folder: &Folder) -> Result<Self, Error> {
        let file = folder.gold.first().map_or(&folder.questions, |path| path);
        let gold = match folder.track {
            Track::Gqa => Gold::Gqa(Gqa::read(file)?),
            Track::TextVqa => Gold::TextVqa(TextVqa::read(file)?),
            Track::Pope => Gold::Pope(Labels::read(&folder.gold, &folder.questions)?),
            Track::Mme => Gold::Mme(Answers::read(&folder.gold)?),
            _ => Gold::Seed(Seed::read(file)?),
        };
        let folders = match folder.track {
            Track::Mme => mme::RELEASES.iter().map(|release| folder.dir.join(release)).collect(),
            _ => folder.image_folders(),
        };
        let lines = Lines::open(&folder.questions)?;
        Ok(Self { lines, gold, folders, ids: Ids::default(), outside: 0 })
    }

    /// The canonical fields of a line; `None` if the line does not belong to the track.
    fn fields(&mut self, asked: &Asked, line: &Fields) -> Result<Option<Fields>, String> {
        let mut fields = Fields::new();
        let text = asked.text.as_str();
        let bare = INSTRUCTIONS.iter().find_map(|i| text.strip_suffix(i)).unwrap_or(text);
        fields.insert("prompt".into(), json!(text));
        fields.insert("question".into(), json!(bare));
        fields.insert("question_id".into(), json!(asked.question_id));
        if let Some(category) = line.get("category").and_then(Value::as_str)
            && category != "default"
        {
            fields.insert("category".into(), json!(category));
        }
        match &mut self.gold {
            Gold::Gqa(gold) => {
                fields.insert("answer".into(), json!(gold.find(&asked.question_id)?));
            }
            Gold::TextVqa(gold) => {
                let (question, rest) = bare.split_once('\n').unwrap_or((bare, ""));
                let answers = gold.find(&asked.question_id, question)?;
                fields.insert("answers".into(), json!(answers));
                fields.insert("question".into(), json!(question));
                fields.insert("image_id".into(), json!(asked.question_id));
                // The line exists even if there are no tokens, and its trailing space may be missing.
                if let Some(tokens) = rest.strip_prefix(OCR_LINE.trim_end()) {
                    let tokens = tokens.trim().split(", ").filter(|token| !token.is_empty());
                    fields.insert("ocr_tokens".into(), tokens.collect());
                }
            }
            Gold::Pope(labels) => {
                let category = line.get("category").and_then(Value::as_str).unwrap_or("");
                fields.insert("answer".into(), json!(labels.next(category, &asked.image)?));
            }
            Gold::Mme(answers) => {
                fields.insert("answer".into(), json!(answers.find(&asked.question_id, bare)?));
                let category = asked.question_id.split('/').next().unwrap_or("");
                fields.insert("category".into(), json!(category));
                fields.insert("question".into(), json!(mme::bare(bare)));
                fields.insert("image".into(), json!(asked.image));
            }
            Gold::Seed(gold) => {
                if asked.question_id.starts_with('v')
                    || !gold.put(&asked.question_id, &mut fields)?
                {
                    return Ok(None);
                }
            }
        }
        Ok(Some(fields))
    }

    fn image(&self, name: &str) -> PathBuf {
        let is_mme = matches!(self.gold, Gold::Mme(_));
        let places = self.folders.iter().flat_map(|folder| {
            if is_mme { mme::image_places(folder, name).to_vec() } else { vec![folder.join(name)] }
        });
        let mut first = None;
        for place in places {
            if place.is_file() {
                return place;
            }
            first.get_or_insert(place);
        }
        first.unwrap_or_default()
    }

    fn line(
        &mut self,
        line: &Fields,
        wanted: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Option<Step>, String> {
        let text = |name: &str| {
            let value = line.get(name).and_then(as_text);
            value.ok_or_else(|| format!("'{name}' is missing or is no text"))
        };
        let asked = text("question_id").and_then(|question_id| {
            Ok(Asked { question_id, image: text("image")?, text: text("text")? })
        });
        if let (Err(_), Gold::Pope(labels)) = (&asked, &mut self.gold) {
            // The label of an unusable line is skipped, so that it is not given to the next line.
            labels.skip(line.get("category").and_then(Value::as_str).unwrap_or(""));
        }
        let asked = asked?;
        let id = self.ids.unique(&asked.question_id);
        let Some(fields) = self.fields(&asked, line)? else {
            self.outside += 1;
            return Ok(None);
        };
        if !wanted(&id) {
            return Ok(Some(Step::Skipped));
        }
        let visuals = vec![Visual::File(self.image(&asked.image))];
        Ok(Some(Step::Sample(Box::new(Sample { id, cluster: asked.image, fields, visuals }))))
    }
}

impl Source for LlavaSource {
    fn next(&mut self, wanted: &mut dyn FnMut(&str) -> bool) -> Option<Result<Step, Damaged>> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(damaged) => return Some(Err(damaged)),
            };
            match self.line(&line, wanted) {
                Ok(Some(step)) => return Some(Ok(step)),
                Ok(None) => {}
                Err(reason) => {
                    let index = line.get("question_id").and_then(as_text).map(|id| excerpt(&id));
                    return Some(Err(self.lines.damaged(index, reason)));
                }
            }
        }
    }

    fn outside(&self) -> u64 {
        self.outside
    }
}
