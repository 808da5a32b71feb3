//! Predictions made elsewhere: tables of VLMEvalKit, LLaVA's answer files, lmms-eval's sample logs, and this
//! project's own records.

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

/// A cell this long is no text somebody predicted from but an image that was left in the table.
const IMAGE_CELL: usize = 1 << 16;

/// What a run's records call the model that prunes nothing.
const UNPRUNED: &str = "unpruned";

/// How a prediction names its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Rows with `index` and `prediction`.
    Table,
    /// LLaVA's `question_id`, `prompt`, `text`. Ids may repeat: the prompt tells the questions apart.
    LlavaAnswers,
    /// lmms-eval's `doc_id`, `doc`, `filtered_resps`.
    SampleLog,
    /// Records of `mico eval`: `item`, `answer`.
    Records,
}

/// One prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The item's name in that file.
    pub id: String,
    /// What was predicted, as it stands: an empty cell is an empty text, "None" stays "None".
    pub text: String,
    /// The row's own fields, images left out.
    pub fields: Fields,
}

/// A file of predictions. All of it is in memory: it holds texts only.
#[derive(Debug, Clone)]
pub struct Predictions {
    /// How its rows name their items.
    pub form: Form,
    rows: Vec<Prediction>,
    places: BTreeMap<String, Vec<usize>>,
    /// Of sample logs: the first row of each logged document's own id.
    documents: BTreeMap<String, usize>,
}

impl Predictions {
    /// All predictions, in the file's order.
    pub fn rows(&self) -> &[Prediction] {
        &self.rows
    }

    /// The prediction for a sample. Tables and records are joined by id; LLaVA's answers by question id
    /// and, where that repeats, by the prompt; sample logs by `doc_id` for samples read from parquet files
    /// and by the logged document's own id for others.
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
                    // MME asks twice about a picture; a lone answer belongs to the question it repeats.
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

/// Whether a row that holds its question asks what the sample does: indices alone fit many tables. LLaVA's
/// files have other wordings and are not compared.
fn asks_the_same(prediction: &Prediction, sample: &Sample) -> bool {
    let text = |fields: &Fields| fields.get("question").and_then(as_text);
    match (text(&prediction.fields), text(&sample.fields)) {
        (Some(row), Some(own)) if !sample.fields.contains_key("prompt") => row.trim() == own.trim(),
        _ => true,
    }
}

/// A stored prompt without its image mark.
fn prompt(fields: &Fields) -> Option<String> {
    let text = fields.get("prompt")?.as_str()?;
    Some(text.replace("<image>", "").trim().to_owned())
}

/// Whether a logged document can be the sample: numbers start anew in every split, so a log of another one
/// would fit by number alone.
fn agrees(prediction: &Prediction, sample: &Sample) -> bool {
    let Some(document) = prediction.fields.get("doc").and_then(Value::as_object) else {
        return true;
    };
    let asked = |name: &str| sample.fields.get(name).and_then(Value::as_str);
    // A document of RefCOCO asks one fixed question; its expression is the answer.
    let (logged, own) = match asked("expression") {
        Some(expression) => (document.get("answer"), Some(expression)),
        None => (document.get("question"), asked("question")),
    };
    match (logged.and_then(Value::as_str), own) {
        (Some(logged), Some(own)) => logged == own,
        _ => true,
    }
}

/// The id in a logged document.
fn logged_id(fields: &Fields) -> Option<String> {
    let document = fields.get("doc")?.as_object()?;
    ["index", "question_id", "questionId", "id"]
        .iter()
        .find_map(|name| document.get(*name).and_then(as_text))
}

/// Reads a file of predictions: `.xlsx`, `.tsv`, `.csv`, `.json` (a list of objects) or `.jsonl`. What the
/// rows are is told by their fields. Two predictions for one item are an error.
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

/// What the rows are, by the fields of the first.
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
    // Of a run's records those of the unpruned model count.
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

/// The key of a table's row, written as the readers of tables write it.
fn index(text: &str) -> String {
    crate::tsv::index_key(text)
}

/// A reply, taken out of the lists that sample logs wrap it in. Numbers were texts before a table was
/// made of them; a null is an empty reply.
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
