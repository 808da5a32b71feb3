//! Items one by one: what was shown, asked, answered and right.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::gold::gold;
use super::text::{anchor, counted, cut, data_uri, escape};
use super::{PictureLookup, RunReport};
use crate::condition::Condition;
use crate::summary::{Column, GradedAnswer};

/// The most bytes of picture files for one run; what browsers still open without waiting.
const MAX_BYTES: usize = 32 << 20;

/// The items that are shown, by track and place in it.
pub(super) struct SelectedItems<'a> {
    columns: Vec<(&'a Column, BTreeMap<usize, ItemPage>)>,
    /// Items with pictures that found no room.
    bare: usize,
}

/// An item that is shown: its pictures by setting.
#[derive(Default)]
struct ItemPage {
    pictures: BTreeMap<usize, Vec<u8>>,
}

impl SelectedItems<'_> {
    pub(super) fn items(&self) -> usize {
        self.columns.iter().map(|(_, pages)| pages.len()).sum()
    }

    pub(super) fn pictures(&self) -> usize {
        let pages = self.columns.iter().flat_map(|(_, pages)| pages.values());
        pages.map(|page| page.pictures.len()).sum()
    }
}

/// Items with pictures, then such on which settings disagree, then such that some setting got wrong; of
/// each kind the first of every track, then the second of every track, until there are `most`.
pub(super) fn select<'a>(
    run: &'a RunReport<'_>,
    picture: &PictureLookup<'_>,
    most: usize,
) -> SelectedItems<'a> {
    let mut selected = SelectedItems {
        columns: run.columns.iter().map(|column| (column, BTreeMap::new())).collect(),
        bare: 0,
    };
    let longest = run.columns.iter().map(|column| column.items.len()).max().unwrap_or(0);
    let (mut taken, mut bytes) = (0, 0);
    for kind in [Reason::HasPicture, Reason::Disagreement, Reason::Wrong] {
        for at in 0..longest {
            for (column, pages) in &mut selected.columns {
                if at >= column.items.len() || taken >= most || pages.contains_key(&at) {
                    continue;
                }
                let mut page = ItemPage::default();
                let takes = match kind {
                    Reason::HasPicture => {
                        page.pictures = pictures(column, at, picture);
                        !page.pictures.is_empty()
                    }
                    Reason::Disagreement => settings_disagree(run, column, at),
                    Reason::Wrong => some_setting_is_wrong(run, column, at),
                };
                if !takes {
                    continue;
                }
                let size: usize = page.pictures.values().map(Vec::len).sum();
                if bytes + size > MAX_BYTES {
                    page.pictures.clear();
                    selected.bare += 1;
                } else {
                    bytes += size;
                }
                pages.insert(at, page);
                taken += 1;
            }
        }
    }
    selected
}

/// Why an item is shown.
#[derive(Clone, Copy)]
enum Reason {
    HasPicture,
    Disagreement,
    Wrong,
}

fn pictures(column: &Column, at: usize, picture: &PictureLookup<'_>) -> BTreeMap<usize, Vec<u8>> {
    let answers = column.answers.iter().enumerate();
    let found = answers.filter_map(|(setting, answers)| {
        let graded = answers.get(at)?.as_ref()?;
        Some((setting, picture(&graded.record.key)?))
    });
    found.collect()
}

/// The answers of settings that saw the picture.
fn answers_with_picture<'a>(
    run: &'a RunReport<'_>,
    column: &'a Column,
    at: usize,
) -> impl Iterator<Item = &'a GradedAnswer> {
    let settings = run.manifest.settings.iter().zip(&column.answers);
    settings
        .filter(|(setting, _)| !setting.blank)
        .filter_map(move |(_, answers)| answers.get(at)?.as_ref())
}

fn settings_disagree(run: &RunReport<'_>, column: &Column, at: usize) -> bool {
    let mut scores = answers_with_picture(run, column, at).map(|graded| graded.grade.score);
    let first = scores.next();
    scores.any(|score| Some(score) != first)
}

fn some_setting_is_wrong(run: &RunReport<'_>, column: &Column, at: usize) -> bool {
    answers_with_picture(run, column, at).any(|graded| !graded.is_right())
}

/// The pages of the chosen items, with an index.
pub(super) fn pages(run: &RunReport<'_>, selected: &SelectedItems<'_>) -> String {
    let shown = selected.items();
    if shown == 0 {
        return String::new();
    }
    let (items, pictures) = (run.summary.items, selected.pictures());
    let mut html = format!(
        "<p>{shown} of {}: those with pictures first, then such on which settings disagree, then such that \
         some setting got wrong. {} In a picture, what was dropped is dark, what Stage 2 dropped is blue, \
         and what was kept to the end is bright with a frame.</p>\n",
        counted(items, "item", "items"),
        counted(pictures, "picture.", "pictures.")
    );
    if selected.bare > 0 {
        let bare = counted(selected.bare, "item are", "items are");
        let _ = writeln!(html, "<p>Pictures of {bare} left out to keep this file small.</p>");
    }
    html.push_str("<fieldset><legend>Show</legend>\n");
    let filters = [
        ("all", "all items"),
        ("pictures", "with pictures"),
        ("apart", "settings disagree"),
        ("wrong", "someone is wrong"),
    ];
    for (value, words) in filters {
        let checked = if value == "all" { " checked" } else { "" };
        let _ = writeln!(
            html,
            "<label><input type=\"radio\" name=\"{}-filter\" value=\"{value}\"{checked}> {words}</label>",
            run.prefix
        );
    }
    html.push_str("</fieldset>\n");
    for (number, (column, pages)) in selected.columns.iter().enumerate() {
        if pages.is_empty() {
            continue;
        }
        let place =
            |at: usize| format!("{}-{}-{number}-{at}", run.prefix, anchor(&column.spec.name));
        let _ = writeln!(html, "<h4>{}</h4>\n<ul class=\"index\">", escape(&column.spec.name));
        for &at in pages.keys() {
            let _ = writeln!(
                html,
                "<li><a href=\"#{}\">{}</a> <span class=\"muted\">{}</span></li>",
                place(at),
                escape(&column.items[at].id),
                tally(run, column, at)
            );
        }
        html.push_str("</ul>\n");
        for (&at, page) in pages {
            html.push_str(&section(run, column, (at, page), &place(at)));
        }
    }
    html
}

fn tally(run: &RunReport<'_>, column: &Column, at: usize) -> String {
    let (right, all) = answers_with_picture(run, column, at)
        .fold((0, 0), |(right, all), graded| (right + usize::from(graded.is_right()), all + 1));
    format!("{right} of {all} right")
}

fn section(
    run: &RunReport<'_>,
    column: &Column,
    (at, page): (usize, &ItemPage),
    place: &str,
) -> String {
    let item = &column.items[at];
    let mut classes = String::from("item");
    for (name, holds) in [
        (" seen", !page.pictures.is_empty()),
        (" apart", settings_disagree(run, column, at)),
        (" missed", some_setting_is_wrong(run, column, at)),
    ] {
        classes.push_str(if holds { name } else { "" });
    }
    let answers: Vec<(usize, &Condition, &GradedAnswer)> = run
        .manifest
        .settings
        .iter()
        .enumerate()
        .filter_map(|(number, setting)| {
            Some((number, setting, column.answers[number].get(at)?.as_ref()?))
        })
        .collect();
    let mut html = format!(
        "<section class=\"{classes}\" id=\"{place}\">\n<h5>{} <span class=\"muted\">{}</span></h5>\n",
        escape(&item.id),
        tally(run, column, at)
    );
    // Settings do not change what is asked; should a source do so, every form is shown.
    let prompts: BTreeSet<&str> =
        answers.iter().map(|(_, _, graded)| graded.record.prompt.as_str()).collect();
    for prompt in prompts {
        let _ = writeln!(
            html,
            "<div class=\"prompt\" dir=\"auto\"><span class=\"label\">Asked</span>{}</div>",
            cut(prompt)
        );
    }
    let gold = gold(&item.fields);
    if !gold.is_empty() {
        let _ = writeln!(
            html,
            "<div class=\"gold\" dir=\"auto\"><span class=\"label\">Right</span>{}</div>",
            cut(&gold)
        );
    }
    html.push_str(&figures(&answers, page, &item.id));
    html.push_str(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Answers\">\n<table><thead><tr>\
         <th scope=\"col\">setting</th><th scope=\"col\" class=\"number\">T</th><th scope=\"col\">answer</th>\
         <th scope=\"col\">read as</th><th scope=\"col\">score</th><th scope=\"col\">visual tokens</th>\
         <th scope=\"col\" class=\"number\">average</th><th scope=\"col\" class=\"number\">seconds</th>\
         </tr></thead>\n<tbody>\n",
    );
    answers.iter().for_each(|(_, setting, graded)| html.push_str(&answer(setting, graded)));
    html.push_str("</tbody></table></div>\n</section>\n");
    html
}

fn figures(answers: &[(usize, &Condition, &GradedAnswer)], page: &ItemPage, item: &str) -> String {
    if page.pictures.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=\"pictures\">\n");
    for (number, setting, graded) in answers {
        let Some(jpeg) = page.pictures.get(number) else { continue };
        let (name, kept) = (named(setting), counts(graded));
        let what = match setting {
            _ if setting.pruning().is_some() => format!("Item {item}, with what {name} kept"),
            _ => format!("Item {item}"),
        };
        let _ = writeln!(
            html,
            "<figure><img src=\"{}\" alt=\"{}\" loading=\"lazy\"><figcaption>{}: {kept}, {}</figcaption>\
             </figure>",
            data_uri(jpeg),
            escape(&what),
            escape(&name),
            score(graded)
        );
    }
    html.push_str("</div>\n");
    html
}

fn named(setting: &Condition) -> String {
    match setting.tokens() {
        Some(tokens) => format!("{} T={tokens}", setting.label.clone()),
        None => setting.label.clone(),
    }
}

/// `576 → 128 → 46`, as far as the counts differ.
fn counts(graded: &GradedAnswer) -> String {
    let mut counts = graded.record.visual.to_vec();
    counts.dedup();
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}

/// The score in words where it is all or nothing.
fn score(graded: &GradedAnswer) -> String {
    match graded.grade.score {
        1.0 => "<span class=\"right\">right</span>".to_owned(),
        0.0 => "<span class=\"wrong\">wrong</span>".to_owned(),
        score => format!("{score:.2}"),
    }
}

fn answer(setting: &Condition, graded: &GradedAnswer) -> String {
    let record = &graded.record;
    let said = match &record.failure {
        Some(failure) => format!("<em>not asked: {}</em>", cut(failure)),
        None if record.answer.trim().is_empty() => "<em>nothing</em>".to_owned(),
        None => cut(&record.answer),
    };
    let cut_off = if graded.is_cut() { " <em>(cut at the longest answer)</em>" } else { "" };
    let read = match &graded.grade.reading {
        Some(reading) if reading == record.answer.trim() => {
            "<span class=\"muted\">the same</span>".into()
        }
        Some(reading) => cut(reading),
        None if record.failure.is_some() => String::new(),
        None => "<em>unreadable</em>".into(),
    };
    let spent = record.seconds;
    let total = spent.pruning + spent.prefill + spent.decode;
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"said\" dir=\"auto\">{said}{cut_off}\
         </td><td class=\"said\" dir=\"auto\">{read}</td><td>{}</td><td>{}</td><td class=\"number\">{:.1}</td>\
         <td class=\"number\" title=\"pruning {:.3}, prefill {:.3}, decode {:.3}\">{total:.3}</td></tr>\n",
        escape(&setting.label),
        setting.tokens().map_or_else(String::new, |tokens| tokens.to_string()),
        score(graded),
        counts(graded),
        record.layer_average,
        spent.pruning,
        spent.prefill,
        spent.decode
    )
}
