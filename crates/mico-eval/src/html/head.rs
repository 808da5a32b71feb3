//! What was run, and what the numbers do not show.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::RunReport;
use super::text::{command, counted, escape};
use crate::manifest::Manifest;
use crate::summary::Row;

/// Settings of one budget may differ in what they spend by this factor, for counts are whole numbers.
const UNEVEN: f64 = 1.1;
/// Damaged rows that are listed.
const LISTED: usize = 20;

/// What a run is called.
pub(super) fn title(manifest: &Manifest) -> String {
    let sources = || {
        let names = manifest.asked.iter().map(|asked| asked.source.as_str());
        // A source's name goes on with what decides its items.
        let names = names.map(|name| name.split(',').next().unwrap_or(name));
        names.collect::<Vec<_>>().join(", ")
    };
    let what = if manifest.title.is_empty() { sources() } else { manifest.title.clone() };
    format!("{what}: {}", manifest.model)
}

/// The facts, and notices where there is something to notice.
pub(super) fn facts(run: &RunReport<'_>) -> String {
    let (manifest, summary) = (run.manifest, &run.summary);
    let items = counted(summary.items, "item", "items");
    let pictures = counted(summary.pictures, "picture", "pictures");
    let mut facts = vec![
        ("Model", escape(&manifest.model)),
        ("Fingerprint of its files", code(&manifest.fingerprint)),
        ("Program", format!("mico {}", escape(&manifest.version))),
        ("Called as", code(&command(&manifest.argv))),
    ];
    for asked in &manifest.asked {
        facts.push(("Asked", escape(&asked.source)));
    }
    facts.push(("For each setting", format!("{items} about {pictures}")));
    if let Some(limit) = manifest.limit {
        facts.push(("Limit", counted(limit, "item of each track", "items of each track")));
    }
    facts.push(("Settings", manifest.settings.len().to_string()));
    let rules: Vec<String> = summary
        .rules
        .iter()
        .filter(|(_, rule)| !rule.is_empty())
        .map(|(track, rule)| format!("{} by {}", escape(track), escape(rule)))
        .collect();
    if !rules.is_empty() {
        facts.push(("Scored", rules.join(", ")));
    }
    let mut html = String::from("<dl class=\"facts\">\n");
    for (name, fact) in facts {
        let _ = writeln!(html, "<dt>{name}</dt><dd>{fact}</dd>");
    }
    html.push_str("</dl>\n");
    let notices = notices(run);
    if !notices.is_empty() {
        html.push_str("<ul class=\"notices\" aria-label=\"Notices\">\n");
        for notice in notices {
            let _ = writeln!(html, "<li>{notice}</li>");
        }
        html.push_str("</ul>\n");
    }
    html
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

fn budget(tokens: Option<usize>) -> String {
    tokens.map_or_else(String::new, |tokens| format!(" at T = {tokens}"))
}

/// Budgets whose settings do not spend alike: their values cannot be compared as equals.
fn uneven(run: &RunReport<'_>) -> Vec<String> {
    let rows = &run.summary.rows;
    let budgets: BTreeSet<usize> = rows.iter().filter_map(|row| row.tokens).collect();
    let mut found = Vec::new();
    for budget in budgets.into_iter().rev() {
        let spent = |row: &&Row| row.tokens == Some(budget);
        let by_cost = |a: &&Row, b: &&Row| a.layer_average.total_cmp(&b.layer_average);
        let least = rows.iter().filter(spent).min_by(by_cost);
        let most = rows.iter().filter(spent).max_by(by_cost);
        let (Some(least), Some(most)) = (least, most) else { continue };
        if most.layer_average > UNEVEN * least.layer_average {
            found.push(format!(
                "At T = {budget} settings do not spend alike: {} averages {:.1} visual tokens, {} {:.1}.",
                escape(&least.setting),
                least.layer_average,
                escape(&most.setting),
                most.layer_average
            ));
        }
    }
    found
}

fn notices(run: &RunReport<'_>) -> Vec<String> {
    let (manifest, summary) = (run.manifest, &run.summary);
    let mut notices = Vec::new();
    if !manifest.finished {
        notices.push("The run was not finished; this is what there is of it.".to_owned());
    }
    if !summary.shard.is_whole() {
        notices.push(format!("This is part {} of the run.", escape(&summary.shard.to_string())));
    }
    if !summary.acc_missing.is_empty() {
        notices.push(format!("No Acc: it needs {}.", escape(&summary.acc_missing.join(", "))));
    }
    for left in &summary.incomplete {
        notices.push(format!(
            "{}{} is in no number: {} of {} {} items answered.",
            escape(&left.setting),
            budget(left.tokens),
            left.answered,
            left.of,
            escape(&left.track)
        ));
    }
    for refused in &summary.refused {
        notices.push(format!(
            "{}{} was not run: {}",
            escape(&refused.setting),
            budget(refused.budget),
            escape(&refused.reason)
        ));
    }
    notices.extend(uneven(run));
    if summary.dropped > 0 {
        let rows = counted(summary.dropped, "row was", "rows were");
        notices.push(format!("{rows} left out, as the benchmark's own rules say."));
    }
    if !summary.damaged.is_empty() {
        let rows = counted(summary.damaged.len(), "damaged row is", "damaged rows are");
        let listed = summary.damaged.iter().take(LISTED).map(|damaged| {
            format!("<li>{}: {}</li>\n", escape(&damaged.track), escape(&damaged.reason))
        });
        notices.push(format!(
            "{rows} in no number.<details><summary>The first</summary><ul>\n{}</ul></details>",
            listed.collect::<String>()
        ));
    }
    notices
}
