//! Reads prediction files: VLMEvalKit's tables, LLaVA's answer files, lmms-eval's sample logs and
//! the records of `mico eval`.

#[cfg(feature = "xlsx")]
mod sheet;

use std::collections::BTreeMap;
use std::path::Path;

use mico_score::Fields;
use serde_json::Value;

use crate::error::excerpt;
use crate::json::{self, Lines, as_text};
use crate::tsv::Table;
use crate::{Error, Sample};

/// Cells longer than this many bytes are taken for images left in the table and are dropped.
const IMAGE_CELL: usize = 1 << 16;

/// The `setting` of records made with the unpruned model.
const UNPRUNED: &str = "unpruned";

/// The format of a prediction file, which decides how predictions are matched to items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// VLMEvalKit's tables: rows with `index` and `prediction`.
    Table,
    /// LLaVA's answer files: `question_id`, `prompt`, `text`. Ids may repeat; the prompt then
    /// distinguishes them.
    LlavaAnswers,
    /// lmms-eval's sample logs: `doc_id`, `doc`, `filtered_resps`.
    SampleLog,
    /// The records of `mico eval`: `item`, `answer`.
    Records,
}

/// A model's answer to one item, as read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The item's id as written in the file.
    pub id: String,
    /// The unchanged answer: an empty cell is an empty text, "None" stays "None".
    pub text: String,
    /// The other fields of the row, without images.
    pub fields: Fields,
}

/// A prediction file, held in memory as a whole because it consists of text only.
#[derive(Debug, Clone)]
pub struct Predictions {
    /// The format of the file.
    pub form: Form,
    rows: Vec<Prediction>,
    places: BTreeMap<String, Vec<usize>>,
    /// For sample logs: the first row with each id found inside a logged document.
    documents: BTreeMap<String, usize>,
}

impl Predictions {
    /// All predictions, in file order.
    pub fn rows(&self) -> &[Prediction] {
        &self.rows
    }

    /// The prediction for a sample; `None` if there is none. Tables and records are matched by id,
    /// LLaVA's answers by question id and, if that repeats, by prompt, and sample logs by `doc_id`
    /// for samples from parquet files and by the logged document's own id otherwise.
    pub fn find(&self, sample: &Sample) -> Option<&Prediction> {
        let field = |name: &str| sample.fields.get(name).and_then(as_text);
        let by_id = |id: &str| self.places.get(id).map_or(&[][..], Vec::as_slice);
        let row = |place: &usize| self.rows.get(*place);
        match self.form {
            Form::Table | Form::Records => {
                by_id(&sample.id).first().and_then(row).filter(|p| asks_the_same(p, sample))
            }
            Form::LlavaAnswers => {
                let id = field("question_id").unwrap_or_else(|| sample.id.clone());
                match by_id(&id) {
                    // MME has two questions per image; a single answer belongs to the question that
                    // it repeats.
                    [only] if !sample.id.contains('#') && field("image").is_none() => row(only),
                    several => {
                        let wanted = field("prompt")?;
                        let said = |p: &&Prediction| prompt(&p.fields).as_deref() == Some(&wanted);
                        several.iter().filter_map(row).find(said)
                    }
                }
            }
            Form::SampleLog => match field("doc_id") {
                Some(id) => by_id(&id).first().and_then(row).filter(|p| agrees(p, sample)),
                None => self.documents.get(&sample.id).and_then(row).filter(|p| agrees(p, sample)),
            },
        }
    }
}

/// Whether the row's question, if it has one, is the sample's, because an index alone fits many
/// tables. Samples from LLaVA's files are worded differently and are not compared.
fn asks_the_same(prediction: &Prediction, sample: &Sample) -> bool {
    let text = |fields: &Fields| fields.get("question").and_then(as_text);
    match (text(&prediction.fields), text(&sample.fields)) {
        (Some(row), Some(own)) if !sample.fields.contains_key("prompt") => row.trim() == own.trim(),
        _ => true,
    }
}

/// A stored prompt without its image placeholder.
fn prompt(fields: &Fields) -> Option<String> {
    let text = fields.get("prompt")?.as_str()?;
    Some(text.replace("<image>", "").trim().to_owned())
}

/// Whether a logged document can be the sample. Document numbers restart in every split, so a log
/// of another split would match by number alone.
fn agrees(prediction: &Prediction, sample: &Sample) -> bool {
    let Some(document) = prediction.fields.get("doc").and_then(Value::as_object) else {
        return true;
    };
    let asked = |name: &str| sample.fields.get(name).and_then(Value::as_str);
    // A RefCOCO document always asks the same question; its expression is in the answer field.
    let (logged, own) = match asked("expression") {
        Some(expression) => (document.get("answer"), Some(expression)),
        None => (document.get("question"), asked("question")),
    };
    match (logged.and_then(Value::as_str), own) {
        (Some(logged), Some(own)) => logged == own,
        _ => true,
    }
}

/// The dataset's own id inside a logged document.
fn logged_id(fields: &Fields) -> Option<String> {
    let document = fields.get("doc")?.as_object()?;
    ["index", "question_id", "questionId", "id"]
        .iter()
        .find_map(|name| document.get(*name).and_then(as_text))
}

/// Reads a prediction file: `.xlsx`, `.tsv`, `.csv`, `.json` (a list of objects) or `.jsonl`. Its
/// format is recognised by the fields of its rows. Two predictions for one item are an error.
pub fn predictions(path: &Path) -> Result<Predictions, Error> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    let rows = match ending.as_deref() {
        #[cfg(feature = "xlsx")]
        Some("xlsx") => sheet::rows(path)?,
        #[cfg(not(feature = "xlsx"))]
        Some("xlsx") => return Err(Error::NotBuilt { path: path.to_owned(), feature: "xlsx" }),
        Some("tsv") => table(path, b'\t')?,
        Some("csv") => table(path, b',')?,
        Some("json") => list(path)?,
        Some("jsonl" | "ndjson") => lines(path)?,
        other => {
            let found = excerpt(other.unwrap_or("none"));
            let reason =
                format!("file ending is {found}: accepted are xlsx, tsv, csv, json, jsonl");
            return Err(Error::format(path, reason));
        }
    };
    gather(path, rows)
}

fn table(path: &Path, delimiter: u8) -> Result<Vec<Fields>, Error> {
    let mut table = Table::open(path, delimiter)?;
    let mut rows = Vec::new();
    while let Some(row) = table.read() {
        row.map_err(|damaged| {
            Error::format(path, format!("row {}: {}", damaged.row, damaged.reason))
        })?;
        let mut fields = Fields::new();
        for (number, name) in table.columns().iter().enumerate() {
            let cell = table.raw(number);
            if cell.len() > IMAGE_CELL && name == "image" {
                continue;
            }
            let text = std::str::from_utf8(cell).map_err(|_| {
                let (name, row) = (excerpt(name), rows.len() + 1);
                Error::format(path, format!("row {row}: column '{name}' is not UTF-8 text"))
            })?;
            fields.insert(name.clone(), text.into());
        }
        rows.push(fields);
    }
    Ok(rows)
}

fn list(path: &Path) -> Result<Vec<Fields>, Error> {
    match json::read::<Value>(path)? {
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(number, item)| match item {
                Value::Object(fields) => Ok(fields),
                _ => Err(Error::format(path, format!("row {}: not an object", number + 1))),
            })
            .collect(),
        _ => Err(Error::format(path, "a list of objects is expected")),
    }
}

fn lines(path: &Path) -> Result<Vec<Fields>, Error> {
    let mut lines = Lines::open(path)?;
    let mut rows = Vec::new();
    while let Some(line) = lines.next() {
        rows.push(line.map_err(|damaged| {
            Error::format(path, format!("row {}: {}", damaged.row, damaged.reason))
        })?);
    }
    Ok(rows)
}

/// The format of a file, by the fields of its first row; `None` if it is unknown.
fn form(fields: &Fields) -> Option<Form> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    if has(&["doc_id"]) && (has(&["filtered_resps"]) || has(&["resps"])) {
        Some(Form::SampleLog)
    } else if has(&["index", "prediction"]) {
        Some(Form::Table)
    } else if has(&["question_id", "text"]) {
        Some(Form::LlavaAnswers)
    } else if has(&["item", "answer"]) {
        Some(Form::Records)
    } else {
        None
    }
}

fn gather(path: &Path, mut rows: Vec<Fields>) -> Result<Predictions, Error> {
    // If the file has records of several settings, only those of the unpruned model are read.
    rows.retain(|row| row.get("setting").and_then(Value::as_str).is_none_or(|s| s == UNPRUNED));
    let first = rows.first().ok_or_else(|| Error::format(path, "no predictions"))?;
    let form = form(first).ok_or_else(|| {
        let names: Vec<&str> = first.keys().map(String::as_str).collect();
        Error::format(
            path,
            format!(
                "rows have the fields {}: accepted are index + prediction, question_id + text, \
                 doc_id + filtered_resps, item + answer",
                excerpt(&names.join(", "))
            ),
        )
    })?;
    let mut found =
        Predictions { form, rows: Vec::new(), places: BTreeMap::new(), documents: BTreeMap::new() };
    for (number, fields) in rows.into_iter().enumerate() {
        let row = read(form, fields)
            .map_err(|reason| Error::format(path, format!("row {}: {reason}", number + 1)))?;
        let places = found.places.entry(row.id.clone()).or_default();
        let same = |place: &usize| {
            found.rows.get(*place).is_some_and(|other| {
                form != Form::LlavaAnswers || prompt(&other.fields) == prompt(&row.fields)
            })
        };
        if places.iter().any(same) {
            return Err(Error::Duplicate { path: path.to_owned(), id: excerpt(&row.id) });
        }
        places.push(found.rows.len());
        if let Some(id) = logged_id(&row.fields) {
            found.documents.entry(id).or_insert(found.rows.len());
        }
        found.rows.push(row);
    }
    Ok(found)
}

fn read(form: Form, mut fields: Fields) -> Result<Prediction, String> {
    let (id, text) = match form {
        Form::Table => ("index", "prediction"),
        Form::LlavaAnswers => ("question_id", "text"),
        Form::SampleLog => ("doc_id", "filtered_resps"),
        Form::Records => ("item", "answer"),
    };
    let name = fields.get(id).and_then(as_text).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("'{id}' is missing or is no text"))?;
    let said = fields.get(text).or_else(|| fields.get("resps").filter(|_| form == Form::SampleLog));
    let said = said.ok_or_else(|| format!("'{text}' is missing"))?;
    let text = reply(said, 0).ok_or_else(|| format!("'{text}' is no text"))?;
    fields.retain(|name, value| {
        name != "image" || value.as_str().is_none_or(|t| t.len() <= IMAGE_CELL)
    });
    let id = if form == Form::Table { index(&name) } else { name };
    Ok(Prediction { id, text, fields })
}

/// The key of a table row, normalised as the table readers do.
fn index(text: &str) -> String {
    crate::tsv::index_key(text)
}

/// The answer text, unwrapped from the lists that sample logs put around it. Numbers are converted
/// back to text; null is an empty answer.
fn reply(value: &Value, depth: usize) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Array(items) if depth < 4 => {
            items.first().map_or(Some(String::new()), |v| reply(v, depth + 1))
        }
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        other => as_text(other),
    }
}
