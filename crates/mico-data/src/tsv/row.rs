//! Converts the cells of a table row to canonical fields.

use mico_score::rules::mmbench::ROTATION;
use mico_score::{Fields, Track};
use serde_json::{Map, Value, json};

use super::images::index_key;
use super::table::Table;
use crate::error::excerpt;
use crate::fields::{
    check_letter, four_numbers, gold_texts, mmmu_subject, put, put_mmmu_answer, refcoco_split,
};
use crate::literal;

/// The result of converting a row.
pub(crate) enum Content {
    /// The canonical fields of an item of the track.
    Item(Fields),
    /// The row belongs to another split, or to another dataset in the same file.
    Elsewhere,
}

type Cell<'a> = Result<Option<&'a str>, String>;

/// Access to the current row of a table.
struct Row<'a>(&'a Table);

impl<'a> Row<'a> {
    fn get(&self, name: &str) -> Cell<'a> {
        self.0.column(name).map_or(Ok(None), |column| self.0.text(column))
    }

    fn need(&self, name: &str) -> Result<&'a str, String> {
        self.get(name)?.ok_or_else(|| format!("column '{name}' is empty"))
    }

    /// Whether the table may hold RefCOCO, RefCOCO+ and RefCOCOg together.
    fn shared(&self) -> bool {
        let name = self.0.path().file_stem().map(|name| name.to_string_lossy());
        name.is_some_and(|name| ["RefCOCO", "RefCOCO_local"].contains(&&*name))
    }

    /// The options, from the columns named by one capital letter; a missing cell is not an option.
    fn choices(&self) -> Result<Map<String, Value>, String> {
        let mut map = Map::new();
        for (number, name) in self.0.columns().iter().enumerate() {
            if name.len() == 1
                && name.chars().all(|c| c.is_ascii_uppercase())
                && let Some(text) = self.0.text(number)?
            {
                map.insert(name.clone(), json!(text));
            }
        }
        Ok(map)
    }
}

/// Converts the current row to canonical fields; `key` is its normalised index.
pub(crate) fn content(track: Track, table: &Table, key: &str) -> Result<Content, String> {
    let row = Row(table);
    let mut fields = Fields::new();
    for (name, column) in [
        ("question", "question"),
        ("hint", "hint"),
        ("category", "category"),
        ("l2_category", "l2-category"),
        ("l2_category", "l2_category"),
        ("split", "split"),
    ] {
        put(&mut fields, name, row.get(column)?);
    }
    if !fields.contains_key("question") {
        return Err("column 'question' is empty".into());
    }
    let fits = match track {
        Track::Mmmu => mmmu(&row, &mut fields)?,
        Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG => refcoco(track, &row, &mut fields)?,
        _ => {
            plain(track, &row, key, &mut fields)?;
            true
        }
    };
    Ok(if fits { Content::Item(fields) } else { Content::Elsewhere })
}

fn plain(track: Track, row: &Row<'_>, key: &str, fields: &mut Fields) -> Result<(), String> {
    match track {
        Track::TextVqa | Track::DocVqa | Track::ChartQa | Track::OcrBench => {
            fields.insert("answers".into(), json!(gold_texts(row.need("answer")?)));
            put(fields, "type", row.get("type")?);
            put(fields, "image_id", row.get("image_id")?);
            if let Some(tokens) = row.get("ocr_tokens")? {
                fields.insert("ocr_tokens".into(), json!(gold_texts(tokens)));
            }
        }
        Track::Gqa | Track::Pope | Track::Mme | Track::HallusionBench => {
            fields.insert("answer".into(), json!(row.need("answer")?));
            if track == Track::HallusionBench {
                fields.insert("index".into(), json!(key));
            }
        }
        _ => {
            let choices = Value::Object(row.choices()?);
            let answer = row.need("answer")?.trim();
            check_letter(answer)?;
            fields.insert("answer".into(), json!(answer));
            fields.insert("choices".into(), choices);
            put(fields, "data_type", row.get("data_type")?);
            put(fields, "question_type", row.get("question_type")?);
        }
    }
    if matches!(track, Track::MmbenchEn | Track::MmbenchCn) {
        put_group(row, key, fields)?;
    }
    Ok(())
}

fn put_group(row: &Row<'_>, key: &str, fields: &mut Fields) -> Result<(), String> {
    let number = |text: &str| {
        let whole = index_key(text).parse::<i64>();
        whole.map_err(|_| format!("index '{}', a whole number is expected", excerpt(text)))
    };
    let index = number(key)?;
    let group = match row.get("g_index")? {
        Some(text) => number(text)?,
        None => index.rem_euclid(ROTATION),
    };
    fields.insert("index".into(), json!(index));
    fields.insert("group".into(), json!(group));
    Ok(())
}

fn mmmu(row: &Row<'_>, fields: &mut Fields) -> Result<bool, String> {
    if row.get("split")?.is_some_and(|split| !matches!(split, "validation" | "val")) {
        return Ok(false);
    }
    let choices = row.choices()?;
    let stated = row.get("question_type")?;
    let kind = match stated {
        Some(kind @ ("multiple-choice" | "open")) => kind,
        _ if choices.is_empty() => "open",
        _ => "multiple-choice",
    };
    fields.insert("question_type".into(), json!(kind));
    if kind == "multiple-choice" {
        fields.insert("choices".into(), Value::Object(choices));
    }
    put_mmmu_answer(fields, row.need("answer")?)?;
    let subject = match row.get("id")?.and_then(mmmu_subject) {
        Some(subject) => Some(subject),
        None => row.get("subject")?.or(row.get("category")?),
    };
    put(fields, "subject", subject);
    Ok(true)
}

fn refcoco(track: Track, row: &Row<'_>, fields: &mut Fields) -> Result<bool, String> {
    let mut stated = false;
    for column in ["split", "category", "dataset"] {
        let Some(label) = row.get(column)? else { continue };
        let (named, split) = refcoco_split(label);
        if named.is_some_and(|named| named != track) {
            return Ok(false);
        }
        stated |= named.is_some();
        if named.is_some() && !split.is_empty() {
            fields.insert("split".into(), json!(split));
        }
    }
    // In a shared table, a row that names no dataset belongs to RefCOCO.
    if !stated && track != Track::RefCoco && row.shared() {
        return Ok(false);
    }
    let question = row.need("question")?;
    fields.insert("expression".into(), json!(expression(question)));
    let cell = row.need("answer")?;
    let value = literal::parse(cell).map_err(|reason| format!("answer: {reason}"))?;
    fields.insert("box".into(), json!(four_numbers(&value.to_value())?));
    for name in ["width", "height"] {
        let Some(text) = row.get(name)? else { continue };
        let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let number = number.ok_or_else(|| format!("{name} is '{}'", excerpt(text)))?;
        // Pixel sizes are whole numbers, even if a table stores them with a decimal point.
        let whole = (number.fract() == 0.0 && number < 1e9).then_some(number as u64);
        fields.insert(name.into(), whole.map_or(json!(number), |whole| json!(whole)));
    }
    Ok(true)
}

/// The referring expression between `<ref>` and `</ref>`, or the whole question without these tags.
fn expression(question: &str) -> &str {
    let inside = question.split_once("<ref>").map_or(question, |(_, rest)| rest);
    inside.split_once("</ref>").map_or(inside, |(text, _)| text).trim()
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn the_expression_is_what_the_marks_enclose() {
        assert_eq!(expression("Please locate: <ref>red dog</ref>"), "red dog");
        assert_eq!(expression("</ref> <ref>"), "");
        assert_eq!(expression("a dog"), "a dog");
    }
}
