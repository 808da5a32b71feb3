//! Gold answers that are looked up by id: GQA, TextVQA and SEED-Bench.

use std::collections::BTreeMap;
use std::path::Path;

use mico_score::Fields;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::error::excerpt;
use crate::fields::{check_letter, choices, put};
use crate::json::{self, as_text};

/// GQA: from question id to answer.
pub(super) struct Gqa(BTreeMap<String, GqaAnswer>);

#[derive(Deserialize)]
struct GqaAnswer {
    answer: String,
}

impl Gqa {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        json::read(path).map(Self)
    }

    pub(super) fn find(&self, id: &str) -> Result<&str, String> {
        self.0.get(id).map(|gold| gold.answer.as_str()).ok_or_else(|| "no gold for this id".into())
    }
}

/// TextVQA: from image and lower-cased question to the ten annotators' answers.
pub(super) struct TextVqa(BTreeMap<(String, String), Vec<String>>);

#[derive(Deserialize)]
struct TextVqaFile {
    data: Vec<TextVqaItem>,
}

#[derive(Deserialize)]
struct TextVqaItem {
    image_id: String,
    question: String,
    answers: Vec<String>,
}

impl TextVqa {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let file: TextVqaFile = json::read(path)?;
        let items = file.data.into_iter();
        Ok(Self(items.map(|i| ((i.image_id, i.question.to_lowercase()), i.answers)).collect()))
    }

    pub(super) fn find(&self, image: &str, question: &str) -> Result<&[String], String> {
        let key = (image.to_owned(), question.to_lowercase());
        self.0
            .get(&key)
            .map(Vec::as_slice)
            .ok_or_else(|| format!("no gold for question '{}' about this image", excerpt(question)))
    }
}

/// SEED-Bench: from question id to question, options, gold letter and question type.
pub(super) struct Seed {
    questions: BTreeMap<String, SeedQuestion>,
    types: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct SeedFile {
    questions: Vec<SeedQuestion>,
    #[serde(default)]
    question_type: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct SeedQuestion {
    question_id: Value,
    #[serde(default)]
    question: Option<String>,
    answer: String,
    #[serde(default)]
    question_type_id: Value,
    #[serde(default)]
    data_type: Option<String>,
    #[serde(default)]
    choice_a: Value,
    #[serde(default)]
    choice_b: Value,
    #[serde(default)]
    choice_c: Value,
    #[serde(default)]
    choice_d: Value,
}

impl Seed {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let file: SeedFile = json::read(path)?;
        let numbered = file.question_type.into_iter();
        let types = numbered.filter_map(|(name, id)| Some((as_text(&id)?, name))).collect();
        let keyed = file.questions.into_iter().filter_map(|q| Some((as_text(&q.question_id)?, q)));
        Ok(Self { questions: keyed.collect(), types })
    }

    /// Sets question, options and gold; returns `false` if the question is about a video.
    pub(super) fn put(&self, id: &str, fields: &mut Fields) -> Result<bool, String> {
        let gold = self.questions.get(id).ok_or("no gold for this id")?;
        if gold.data_type.as_deref() == Some("video") {
            return Ok(false);
        }
        let texts = [&gold.choice_a, &gold.choice_b, &gold.choice_c, &gold.choice_d];
        let options = choices(texts.into_iter().map_while(as_text));
        let answer = gold.answer.trim();
        check_letter(answer)?;
        fields.insert("answer".into(), json!(answer));
        fields.insert("choices".into(), options);
        put(fields, "question", gold.question.clone());
        put(fields, "data_type", gold.data_type.clone());
        let kind = as_text(&gold.question_type_id);
        put(fields, "question_type", kind.and_then(|id| self.types.get(&id).cloned()));
        Ok(true)
    }
}
