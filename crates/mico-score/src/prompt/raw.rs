//! JSON front end of the prompts: builds one prompt by the name of its toolkit, for comparison with
//! theirs.

use serde_json::{Map, Value, json};

use super::ask::{self, Ask};
use super::grounding::GroundingPrompt;
use super::lmms::{self, Frame};
use super::vlmevalkit::{self, DATASETS, Kind, Style};
use super::{llava, place};
use crate::raw::{Entry, RawError, fault};
use crate::text::literal;
use crate::{Segment, Track};

/// An entry of [`RAW`]; saves repeating the kind.
const fn prompt(scorer: &'static str, rule: fn(&Value) -> Result<Value, RawError>) -> Entry {
    Entry { scorer, kind: "prompt", rule }
}

/// The prompts that can be built by name, for the table in [`crate::raw`].
pub(crate) const RAW: &[Entry] = &[
    prompt("vlmevalkit.default", |input| toolkit(Style::Default, input)),
    prompt("vlmevalkit.qwen2vl_custom", |input| toolkit(Style::Qwen2, input)),
    prompt("vlmevalkit.qwen3vl_custom", |input| toolkit(Style::Qwen3, input)),
    prompt("vlmevalkit.internvl", |input| toolkit(Style::InternVl, input)),
    prompt("llava.conv", conversation),
    prompt("llava.sqa", science),
    prompt("llava.mmbench", mmbench),
    prompt("llava.mmmu", mmmu),
    prompt("lmms.gqa", |input| task(Track::Gqa, input)),
    prompt("lmms.pope", |input| task(Track::Pope, input)),
    prompt("lmms.textvqa", |input| task(Track::TextVqa, input)),
    prompt("lmms.docvqa", |input| task(Track::DocVqa, input)),
    prompt("lmms.chartqa", |input| task(Track::ChartQa, input)),
    prompt("lmms.ocrbench", |input| task(Track::OcrBench, input)),
    prompt("lmms.mme", |input| task(Track::Mme, input)),
    prompt("lmms.mmstar", |input| task(Track::MmStar, input)),
    prompt("lmms.ai2d", |input| task(Track::Ai2d, input)),
    prompt("lmms.sqa", |input| task(Track::ScienceQaImg, input)),
    prompt("lmms.scienceqa", |input| task(Track::ScienceQaImg, input)),
    prompt("lmms.seed", |input| task(Track::SeedBenchImg, input)),
    prompt("lmms.mmbench", |input| task(Track::MmbenchEn, input)),
    prompt("lmms.mmbench_en", |input| task(Track::MmbenchEn, input)),
    prompt("lmms.mmbench_cn", |input| task(Track::MmbenchCn, input)),
    prompt("lmms.mmmu", |input| task(Track::Mmmu, input)),
    prompt("lmms.refcoco_rec", grounding),
    prompt("lmms.videomme", |input| task(Track::VideoMme, input)),
    prompt("lmms.mvbench", |input| task(Track::MvBench, input)),
    prompt("lmms.longvideobench", |input| task(Track::LongVideoBench, input)),
    prompt("lmms.mlvu", |input| task(Track::Mlvu, input)),
];

/// The prompt of one row of a VLMEvalKit table.
fn toolkit(style: Style, input: &Value) -> Result<Value, RawError> {
    let dataset = string(input, "dataset")?;
    let found = DATASETS.iter().find(|(name, _)| *name == dataset);
    let (_, kind) =
        found.ok_or_else(|| fault("dataset", Some(&input["dataset"]), "a VLMEvalKit file name"))?;
    let row = object(input, "row")?;
    let ask = Ask {
        question: string(&input["row"], "question")?,
        hint: row.get("hint").and_then(ask::text),
        options: ask::letters(row),
        ..Ask::default()
    };
    let text = vlmevalkit::text(*kind, style, &ask);
    let listed = row.get("image").and_then(Value::as_array).map_or(1, Vec::len);
    let images = if *kind == Kind::Mmmu { place::marked(&text).max(listed) } else { listed };
    let segments = match (kind, style) {
        (_, Style::InternVl) => {
            let show = |segment: Segment| match segment {
                Segment::Text(text) => text,
                Segment::Image(_) => "<image>\n".to_owned(),
            };
            vec![Segment::Text(place::numbered(text, images).into_iter().map(show).collect())]
        }
        (Kind::Mmmu, Style::Default) => place::at_marks(text, images).map_err(|_| {
            fault("question", Some(&input["row"]["question"]), "marks of images that exist")
        })?,
        _ => place::in_front(text, images),
    };
    let show = |segment: &Segment| match segment {
        Segment::Text(text) => json!({ "text": text }),
        Segment::Image(n) => json!({ "image": format!("IMG{}", n + 1) }),
    };
    Ok(json!({ "segments": segments.iter().map(show).collect::<Vec<_>>() }))
}

/// LLaVA's conversation around a given user text.
fn conversation(input: &Value) -> Result<Value, RawError> {
    let question = string(input, "question")?;
    match input.get("conv") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if matches!(name.as_str(), "vicuna_v1" | "llava_v1" | "v1") => {}
        other => return Err(fault("conv", other, "vicuna_v1")),
    }
    Ok(json!({ "text": llava::conversation(&question) }))
}

/// ScienceQA: the text of the released file, and the prompt that LLaVA's loader makes of it.
fn science(input: &Value) -> Result<Value, RawError> {
    let ask = Ask {
        question: string(input, "question")?,
        hint: input.get("hint").and_then(ask::text),
        options: ask::lettered(&list(input, "choices")?),
        ..Ask::default()
    };
    let image = if input.get("has_image") == Some(&Value::Bool(false)) { "" } else { "<image>\n" };
    Ok(json!({
        "file_value": format!("{image}{}", llava::science(&ask)),
        "user_text": format!("{image}{}", llava::text(Track::ScienceQaImg, &ask)),
    }))
}

/// The prompt that LLaVA's loader makes of one MMBench row.
fn mmbench(input: &Value) -> Result<Value, RawError> {
    let row = object(input, "row")?;
    let ask = Ask {
        question: string(&input["row"], "question")?,
        hint: row.get("hint").and_then(ask::text),
        options: ask::letters(row),
        ..Ask::default()
    };
    let track = match input.get("lang").and_then(Value::as_str) {
        Some("cn") => Track::MmbenchCn,
        Some("en") | None => Track::MmbenchEn,
        Some(_) => return Err(fault("lang", input.get("lang"), "en or cn")),
    };
    Ok(json!({ "user_text": format!("<image>\n{}", llava::text(track, &ask)) }))
}

/// The prompt that the authors' runner gives LLaVA for an MMMU question.
fn mmmu(input: &Value) -> Result<Value, RawError> {
    let open = input.as_object().is_some_and(ask::is_open);
    let ask = Ask {
        question: string(input, "question")?,
        options: if open { Vec::new() } else { ask::lettered(&list(input, "options")?) },
        open,
        ..Ask::default()
    };
    Ok(json!({ "user_text": format!("<image>\n{}", llava::text(Track::Mmmu, &ask)) }))
}

/// lmms-eval's grounding prompt for the expression of a document.
fn grounding(input: &Value) -> Result<Value, RawError> {
    let expression = string(&input["doc"], "answer")?;
    Ok(json!({ "text": GroundingPrompt::Lmms.text(&expression) }))
}

/// The prompt of an lmms-eval document; without `kwargs` the task's default settings apply.
fn task(track: Track, input: &Value) -> Result<Value, RawError> {
    let doc = object(input, "doc")?;
    let settings = match input.get("kwargs") {
        None | Some(Value::Null) => None,
        Some(Value::Object(settings)) => Some(settings),
        other => return Err(fault("kwargs", other, "an object or null")),
    };
    let open = track == Track::Mmmu && ask::is_open(doc);
    let wants_tokens = settings.and_then(|given| given.get("ocr")) == Some(&Value::Bool(true));
    let hint = doc.get("hint").and_then(ask::text);
    let ask = Ask {
        question: string(&input["doc"], "question")?,
        // Only the English task treats "nan" as a missing hint.
        hint: hint.filter(|hint| track != Track::MmbenchEn || hint != "nan"),
        options: if open { Vec::new() } else { options(track, &input["doc"])? },
        tokens: if wants_tokens { list(&input["doc"], "ocr_tokens")? } else { Vec::new() },
        open,
    };
    let frame = settings.map_or_else(|| Frame::of(track, open), |given| frame(track, open, given));
    Ok(json!({ "text": lmms::text(track, &ask, &frame) }))
}

/// The given settings; one that is left out gets the default of the task's code, not of its
/// settings file.
fn frame(track: Track, open: bool, given: &Map<String, Value>) -> Frame {
    let setting = |name: &str| given.get(name).and_then(ask::text);
    let name = match track {
        Track::Mmmu if open => "open_ended_prompt",
        Track::Mmmu => "multiple_choice_prompt",
        _ => "post_prompt",
    };
    let absent = || match track {
        Track::VideoMme => "The best answer is:".to_owned(),
        Track::Pope | Track::OcrBench | Track::Mlvu | Track::Mme | Track::MmStar => String::new(),
        _ => Frame::of(track, open).post,
    };
    let pre = setting("pre_prompt").unwrap_or_default();
    Frame { pre, post: setting(name).unwrap_or_else(absent) }
}

/// The options of a document, which each task stores under other names.
fn options(track: Track, doc: &Value) -> Result<Vec<(String, String)>, RawError> {
    let named = |names: &[&str]| -> Vec<String> {
        names.iter().filter_map(|name| doc.get(*name).and_then(ask::text)).collect()
    };
    Ok(match track {
        Track::ScienceQaImg => ask::lettered(&list(doc, "choices")?),
        Track::Ai2d | Track::VideoMme | Track::Mmmu => ask::lettered(&list(doc, "options")?),
        Track::MvBench => ask::lettered(&list(doc, "candidates")?),
        Track::SeedBenchImg => {
            ask::lettered(&named(&["choice_a", "choice_b", "choice_c", "choice_d"]))
        }
        Track::LongVideoBench => {
            let mut options = named(&["option0", "option1", "option2", "option3", "option4"]);
            options.retain(|option| option != "N/A");
            ask::lettered(&options)
        }
        Track::MmbenchEn | Track::MmbenchCn => {
            let mut options = doc.as_object().map(ask::letters).unwrap_or_default();
            // The task knows the letters A to E, and an empty text or "nan" marks a missing option.
            options.retain(|(letter, text)| {
                letter.as_str() <= "E" && !text.is_empty() && text != "nan"
            });
            options
        }
        _ => Vec::new(),
    })
}

/// A field that must hold a text, a number or a truth value.
fn string(value: &Value, field: &str) -> Result<String, RawError> {
    value.get(field).and_then(ask::text).ok_or_else(|| fault(field, value.get(field), "a text"))
}

/// A field that must hold a JSON object.
fn object<'a>(value: &'a Value, field: &str) -> Result<&'a Map<String, Value>, RawError> {
    let found = value.get(field).and_then(Value::as_object);
    found.ok_or_else(|| fault(field, value.get(field), "an object"))
}

/// A field that must hold a list of texts, as JSON or as a Python list literal.
fn list(value: &Value, field: &str) -> Result<Vec<String>, RawError> {
    let found = match value.get(field) {
        Some(list @ Value::Array(_)) => Some(ask::texts(list)),
        Some(Value::String(text)) => literal::texts(text).ok(),
        _ => None,
    };
    found.ok_or_else(|| fault(field, value.get(field), "a list of texts"))
}
