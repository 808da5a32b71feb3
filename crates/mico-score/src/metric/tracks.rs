//! The metric formula of each track and of the parts reported beside it; open it to see how a
//! published number is computed.

use std::collections::BTreeMap;

use super::formula::Formula;
use super::items::{Items, integer, is_yes, said_yes, text};
use super::{Kind, Marked};
use crate::Track;
use crate::rules::mlvu::TASKS as MLVU_TASKS;
use crate::rules::mmbench::ROTATION;
use crate::rules::mme::{COGNITION, PERCEPTION};
use crate::rules::ocrbench::RECOGNITION as TEXT_RECOGNITION;

/// The name of a part and its formula.
type Named = (String, Formula);

/// The formula of a track's value, and those of its parts.
pub(super) fn formula(track: Track, kind: Kind, marked: &[Marked]) -> (Formula, Vec<Named>) {
    let items = counted(track, Items::all(marked));
    match kind {
        Kind::Mean => (items.mean(), by_fields(track, &items)),
        Kind::PopeF1 | Kind::PopeAccuracy => pope(kind, &items),
        Kind::MmePerception | Kind::MmeTotal => mme(kind, &items),
        Kind::Circular => circular(&items),
        Kind::Hallusion => hallusion(&items),
        Kind::Splits => {
            averaged(&items.by(|_, item| Some(text(item, "split").unwrap_or_default())))
        }
        Kind::Tasks => averaged(&items.by_field("task_type")),
        Kind::SevenTasks => {
            let (_, parts) = averaged(&items.by_field("task_type"));
            let listed = parts.iter().filter(|(name, _)| MLVU_TASKS.contains(&name.as_str()));
            let tasks = listed.map(|(_, formula)| formula.clone()).collect();
            (Formula::AverageOver(MLVU_TASKS.len(), tasks), parts)
        }
        Kind::Grec => grec(&items),
    }
}

/// The items that count for a track, since some files also hold items of other splits or media.
fn counted(track: Track, items: Items<'_>) -> Items<'_> {
    match track {
        Track::SeedBenchImg => {
            items.filter(|item| text(item, "data_type").as_deref() != Some("video"))
        }
        Track::Mmmu => items.of_split("validation"),
        Track::MmbenchEn | Track::MmbenchCn => items.of_split("dev"),
        _ => items,
    }
}

/// The accuracy for each value of the fields by which a track is usually broken down.
fn by_fields(track: Track, items: &Items) -> Vec<Named> {
    let fields: &[&str] = match track {
        Track::OcrBench => return ocr_groups(items),
        Track::Mmmu => &["subject"],
        Track::SeedBenchImg => &["question_type"],
        Track::ChartQa => &["type"],
        Track::VideoMme => &["duration", "domain", "sub_category", "task_type"],
        Track::LongVideoBench => &["duration_group", "question_category"],
        _ => &["category", "l2_category"],
    };
    let parts = fields.iter().flat_map(|field| {
        items
            .by_field(field)
            .into_iter()
            .map(move |(value, of)| (format!("{field} {value}"), of.mean()))
    });
    parts.collect()
}

/// OCRBench: accuracy by category, with the six kinds of text recognition reported as one, as its
/// authors do.
fn ocr_groups(items: &Items) -> Vec<Named> {
    let name = |category: String| {
        let together = TEXT_RECOGNITION.contains(&category.as_str());
        if together { "Text Recognition".to_owned() } else { category }
    };
    let groups = items.by(|_, item| text(item, "category").map(name));
    groups.into_iter().map(|(name, of)| (name, of.mean())).collect()
}

/// The unweighted mean of the group means, and the group means as parts.
fn averaged(groups: &BTreeMap<String, Items>) -> (Formula, Vec<Named>) {
    let parts: Vec<_> = groups.iter().map(|(name, of)| (name.clone(), of.mean())).collect();
    (Formula::Average(parts.iter().map(|(_, formula)| formula.clone()).collect()), parts)
}

/// POPE: an item that belongs to several categories counts in each of them.
fn pope(kind: Kind, items: &Items) -> (Formula, Vec<Named>) {
    let categories = items.by_categories();
    let none = items.filter(|_| false);
    let every = categories.values().fold(none, Items::and);
    let share = |of: &Items| of.mean_of(|item| f64::from(u8::from(said_yes(item))));
    let right = |of: &Items| of.mean_of(|item| f64::from(u8::from(is_yes(item))));
    let mut parts = vec![
        ("accuracy".to_owned(), every.mean()),
        ("F1".to_owned(), every.f1()),
        ("precision".to_owned(), right(&every.filter(said_yes))),
        ("recall".to_owned(), share(&every.filter(is_yes))),
        ("yes ratio".to_owned(), share(&every)),
    ];
    for (name, of) in &categories {
        parts.push((format!("{name} F1"), of.f1()));
        parts.push((format!("{name} accuracy"), of.mean()));
        parts.push((format!("{name} yes ratio"), share(of)));
    }
    let value = match kind {
        Kind::PopeF1 => Formula::Average(categories.values().map(Items::strict_f1).collect()),
        _ => every.mean(),
    };
    (value, parts)
}

/// MME: for each subtask, the accuracy over questions plus the accuracy over images with all
/// questions right.
fn mme(kind: Kind, items: &Items) -> (Formula, Vec<Named>) {
    let subtasks = items.by_field("category");
    let score = |of: &Items| {
        // An image without a name is treated as an image of its own.
        let pictures = of.by(|place, item| Some(text(item, "image").ok_or(place)));
        let groups = pictures.values().map(Items::group).collect();
        Formula::Sum(vec![of.mean(), Formula::Groups(groups)])
    };
    let sum = |names: &[&str]| {
        let found = names.iter().filter_map(|name| subtasks.get(*name));
        Formula::Sum(found.map(score).collect())
    };
    let both = [PERCEPTION.as_slice(), COGNITION.as_slice()].concat();
    let (perception, total) = (sum(&PERCEPTION), sum(&both));
    let mut parts = vec![
        ("perception".to_owned(), perception.clone()),
        ("cognition".to_owned(), sum(&COGNITION)),
        ("total".to_owned(), total.clone()),
    ];
    parts.extend(subtasks.iter().map(|(name, of)| (name.clone(), score(of))));
    (if kind == Kind::MmePerception { perception } else { total }, parts)
}

/// MMBench: a question is right if all its rotations are; rotations without their base row are left out.
fn circular(items: &Items) -> (Formula, Vec<Named>) {
    let group = |item: &Marked| {
        integer(item, "group").or_else(|| integer(item, "index").map(|index| index % ROTATION))
    };
    let groups = items.by(|_, item| group(item));
    let based = groups.iter().filter_map(|(number, of)| {
        of.find(|item| integer(item, "index") == Some(*number)).map(|base| (base, of.group()))
    });
    let based: Vec<_> = based.collect();
    let every = |field: &str, value: Option<&str>| {
        let of = based
            .iter()
            .filter(|(base, _)| value.is_none() || text(base, field).as_deref() == value);
        Formula::Groups(of.map(|(_, group)| group.clone()).collect())
    };
    let mut parts = vec![("every row".to_owned(), items.mean())];
    for field in ["category", "l2_category"] {
        let values = items.by_field(field).into_keys();
        parts.extend(values.map(|value| (format!("{field} {value}"), every(field, Some(&value)))));
    }
    (every("", None), parts)
}

/// HallusionBench: the mean of aAcc (answers), fAcc (figures all right) and qAcc (questions all right).
fn hallusion(items: &Items) -> (Formula, Vec<Named>) {
    // Fields 3, 4 and 5 of an index are its set, figure and question.
    let key = |place: usize, item: &Marked, field: usize| {
        let index = text(item, "index").unwrap_or_default();
        let fields: Vec<_> = index.split('_').collect();
        let [_, a, b, set, ..] = fields.as_slice() else {
            return Some(Err(place));
        };
        let category = text(item, "l2_category").unwrap_or_else(|| format!("{a}_{b}"));
        let id = fields.get(field).map(ToString::to_string);
        Some(id.map(|id| (category, (*set).to_owned(), id)).ok_or(place))
    };
    let share = |field| {
        let groups = items.by(|place, item| key(place, item, field));
        Formula::Groups(groups.values().map(Items::group).collect())
    };
    let parts = vec![
        ("aAcc".to_owned(), items.mean()),
        ("fAcc".to_owned(), share(4)),
        ("qAcc".to_owned(), share(5)),
    ];
    (Formula::Average(parts.iter().map(|(_, formula)| formula.clone()).collect()), parts)
}

/// gRefCOCO: `T_acc` is the share of items with targets that got a box, `N_acc` the share of those
/// without that got none.
fn grec(items: &Items) -> (Formula, Vec<Named>) {
    let has_target = |item: &Marked| {
        item.fields
            .get("boxes")
            .and_then(serde_json::Value::as_array)
            .is_some_and(|all| !all.is_empty())
    };
    let boxed = |item: &Marked| {
        item.grade.reading.as_ref().is_some_and(|read| !matches!(read.trim(), "" | "[]" | "0"))
    };
    let targets = items.filter(has_target);
    let others = items.filter(|item| !has_target(item));
    let mut parts = vec![
        ("T_acc".to_owned(), targets.mean_of(|item| f64::from(u8::from(boxed(item))))),
        // An item without targets is right exactly when the model gave no box.
        ("N_acc".to_owned(), others.mean()),
    ];
    parts.extend(items.by_field("split").into_iter().map(|(split, of)| (split, of.mean())));
    (items.mean(), parts)
}
