//! Converts a parquet row to canonical fields, depending on the track.

use mico_score::rules::mmbench::ROTATION;
use mico_score::{Fields, Track};
use serde_json::{Map, Value, json};

use super::row::{Failure, Row};
use crate::fields::{
    check_letter, choices, gold_texts, letter, mmmu_subject, put, put_mmmu_answer,
};
use crate::literal;

/// Where an item's images or video are stored.
pub(super) enum Seen {
    /// In columns of the same row, in order; empty ones are skipped.
    Columns(Vec<String>),
    /// In the separate table of images, under this id.
    Image(String),
    /// In a video file of this name, in the given subfolder if the dataset has any.
    Video { name: String, folder: Option<&'static str> },
}

/// An item whose images have not been read yet.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) cluster: Option<String>,
    pub(super) fields: Fields,
    pub(super) seen: Seen,
    /// A gold box as left, top, width and height in pixels, still to be divided by the image size.
    pub(super) pixels: Option<[f64; 4]>,
}

type Read<T> = Result<T, Failure>;

impl Item {
    fn new(name: String, fields: Fields) -> Self {
        let seen = Seen::Columns(vec!["image".into()]);
        Self { name, cluster: None, fields, seen, pixels: None }
    }
}

/// The columns that a track's files must have.
pub(super) fn required(track: Track) -> &'static [&'static str] {
    match track {
        Track::Gqa => &["id", "imageId", "question", "answer"],
        Track::ScienceQaImg => &["image", "question", "choices", "answer"],
        Track::TextVqa | Track::OcrBench | Track::ChartQa | Track::DocVqa => &["image", "question"],
        Track::Mmmu => &["id", "question", "options", "answer", "image_1"],
        Track::MmbenchEn | Track::MmbenchCn => &["index", "question", "A", "answer", "image"],
        Track::SeedBenchImg => &["question_id", "question", "choice_a", "answer", "image"],
        Track::Ai2d => &["image", "question", "options", "answer"],
        Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG => &["image", "bbox", "answer"],
        Track::VideoMme => &["videoID", "question", "options", "answer"],
        Track::MvBench => &["video", "question", "candidates", "answer"],
        Track::LongVideoBench => &["id", "question", "option0", "correct_choice", "video_path"],
        Track::Mlvu => &["video_name", "question", "answer"],
        _ => &["image", "question", "answer"],
    }
}

/// The items of the current row: none if it belongs to another dataset, several for RefCOCO.
/// `label` is the split or task in the file's name, `place` the 0-based row number.
pub(super) fn items(track: Track, row: &mut Row<'_>, label: &str, place: u64) -> Read<Vec<Item>> {
    let mut fields = Fields::new();
    put(&mut fields, "question", row.text("question")?);
    put(&mut fields, "hint", row.text("hint")?.filter(|hint| hint != "nan"));
    put(&mut fields, "category", row.text("category")?);
    let second = row.text("l2_category")?;
    put(&mut fields, "l2_category", second.or(row.text("L2-category")?));
    put(&mut fields, "split", row.text("split")?);
    if matches!(track, Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG) {
        return refcoco(row, &mut fields, label, place);
    }
    if !fields.contains_key("question") {
        return Err("column 'question' is empty".into());
    }
    let place = place.to_string();
    let item = match track {
        Track::Gqa => {
            fields.insert("answer".into(), json!(row.need("answer")?));
            let image = row.need("imageId")?;
            let item = Item::new(row.need("id")?, fields);
            Item { cluster: Some(image.clone()), seen: Seen::Image(image), ..item }
        }
        Track::TextVqa | Track::DocVqa | Track::ChartQa | Track::OcrBench => {
            listed(track, row, fields, place)?
        }
        Track::Pope | Track::Mme => yes_no(track, row, fields, place)?,
        Track::Mmmu => mmmu(row, fields)?,
        Track::VideoMme | Track::MvBench | Track::LongVideoBench | Track::Mlvu => {
            super::video::item(track, row, fields, (label, &place))?
        }
        _ => match multiple_choice(track, row, fields, place)? {
            Some(item) => item,
            None => return Ok(Vec::new()),
        },
    };
    Ok(vec![item])
}

fn listed(track: Track, row: &mut Row<'_>, mut fields: Fields, place: String) -> Read<Item> {
    let mut answers = row.texts("answers")?;
    if answers.is_empty() {
        answers = row.texts("answer")?;
        if let [only] = answers.as_slice() {
            answers = gold_texts(only);
        }
    }
    if answers.is_empty() {
        return Err("columns 'answers' and 'answer' are empty".into());
    }
    fields.insert("answers".into(), json!(answers));
    let mut cluster = None;
    let name = match track {
        Track::TextVqa => {
            cluster = row.text("image_id")?;
            put(&mut fields, "image_id", cluster.clone());
            fields.insert("ocr_tokens".into(), json!(row.texts("ocr_tokens")?));
            row.text("question_id")?
        }
        Track::DocVqa => {
            cluster = row.text("docId")?;
            row.text("questionId")?
        }
        Track::ChartQa => {
            put(&mut fields, "type", row.text("type")?);
            None
        }
        _ => {
            put(&mut fields, "category", row.text("question_type")?);
            put(&mut fields, "dataset", row.text("dataset")?);
            None
        }
    };
    Ok(Item { cluster, ..Item::new(name.unwrap_or(place), fields) })
}

fn yes_no(track: Track, row: &mut Row<'_>, mut fields: Fields, place: String) -> Read<Item> {
    fields.insert("answer".into(), json!(row.need("answer")?));
    let id = row.text("question_id")?;
    let category = fields.get("category").and_then(Value::as_str).map(str::to_owned);
    if track == Track::Mme {
        let image = id.clone().ok_or("column 'question_id' is empty")?;
        fields.insert("image".into(), json!(image));
        return Ok(Item { cluster: Some(image.clone()), ..Item::new(image, fields) });
    }
    // Question numbers restart in every category.
    let name = match (category, id) {
        (Some(category), Some(id)) => format!("{category}/{id}"),
        (None, Some(id)) => id,
        _ => place,
    };
    let cluster = row.text("image_source")?;
    Ok(Item { cluster, ..Item::new(name, fields) })
}

fn mmmu(row: &mut Row<'_>, mut fields: Fields) -> Read<Item> {
    let id = row.need("id")?;
    let options = match row.text("options")? {
        Some(text) if literal::looks_like_list(&text) => {
            literal::texts(&text).map_err(|reason| format!("options: {reason}"))?
        }
        Some(_) => row.texts("options")?,
        None => Vec::new(),
    };
    let open = match row.text("question_type")? {
        Some(kind) => kind == "open",
        None => options.is_empty(),
    };
    fields.insert("question_type".into(), json!(if open { "open" } else { "multiple-choice" }));
    if !open {
        fields.insert("choices".into(), choices(options));
    }
    put_mmmu_answer(&mut fields, &row.need("answer")?)?;
    put(&mut fields, "subject", mmmu_subject(&id));
    let seen = Seen::Columns((1..=7).map(|number| format!("image_{number}")).collect());
    Ok(Item { seen, ..Item::new(id, fields) })
}

fn multiple_choice(
    track: Track,
    row: &mut Row<'_>,
    mut fields: Fields,
    place: String,
) -> Read<Option<Item>> {
    let mut name = place;
    let mut answer = row.need("answer")?.trim().to_owned();
    let options = match track {
        Track::ScienceQaImg => Some(choices(row.texts("choices")?)),
        Track::Ai2d => Some(choices(row.texts("options")?)),
        Track::SeedBenchImg => {
            let kind = row.text("data_type")?;
            if kind.as_deref() == Some("video") {
                return Ok(None);
            }
            put(&mut fields, "data_type", kind);
            put(&mut fields, "question_type", row.text("question_type")?);
            name = row.need("question_id")?;
            Some(lettered(row, |letter| format!("choice_{}", letter.to_ascii_lowercase()))?)
        }
        Track::MmStar => {
            name = row.text("index")?.unwrap_or(name);
            None
        }
        _ => {
            let index = row.integer("index")?;
            name = index.to_string();
            fields.insert("index".into(), json!(index));
            fields.insert("group".into(), json!(index.rem_euclid(ROTATION)));
            Some(lettered(row, String::from)?)
        }
    };
    if matches!(track, Track::ScienceQaImg | Track::Ai2d)
        && let Ok(place) = answer.parse::<usize>()
    {
        answer = letter(place).map(String::from).ok_or_else(|| format!("answer is {place}"))?;
    }
    if let Some(options) = options {
        check_letter(&answer)?;
        fields.insert("choices".into(), options);
    }
    fields.insert("answer".into(), json!(answer));
    Ok(Some(Item::new(name, fields)))
}

/// Options stored in one column each; null, an empty text and `nan` mean that there is no such option.
fn lettered(row: &mut Row<'_>, column: impl Fn(char) -> String) -> Read<Value> {
    let mut map = Map::new();
    for letter in 'A'..='D' {
        if let Some(text) = row.text(&column(letter))?.filter(|text| text != "nan") {
            map.insert(letter.to_string(), json!(text));
        }
    }
    Ok(Value::Object(map))
}

fn refcoco(row: &mut Row<'_>, fields: &mut Fields, label: &str, place: u64) -> Read<Vec<Item>> {
    let numbers = row.numbers("bbox")?;
    let pixels: [f64; 4] = numbers
        .as_slice()
        .try_into()
        .map_err(|_| format!("bbox has {} numbers, four are expected", numbers.len()))?;
    fields.entry("split").or_insert_with(|| json!(label));
    let split = fields.get("split").and_then(Value::as_str).unwrap_or("").to_owned();
    let name = row.text("question_id")?.unwrap_or_else(|| place.to_string());
    let expressions = row.texts("answer")?;
    if expressions.is_empty() {
        return Err("column 'answer' is empty".into());
    }
    let numbered = expressions.into_iter().enumerate();
    Ok(numbered
        .map(|(number, expression)| {
            let mut fields = fields.clone();
            fields.insert("expression".into(), json!(expression));
            let name = format!("{split}/{name}_{number}");
            Item { pixels: Some(pixels), ..Item::new(name, fields) }
        })
        .collect())
}
