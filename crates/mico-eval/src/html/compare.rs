//! Settings against one another, with what is significant in words.

use std::fmt::Write as _;

use super::RunReport;
use super::text::escape;
use crate::summary::{Comparison, Estimate, verdict};

/// Pairs beyond this number are folded away.
const OPEN: usize = 12;

/// One line: what the difference is in.
struct Line<'a> {
    on: &'a str,
    difference: Estimate,
    only: [usize; 2],
    p_value: f64,
}

/// Every pair of settings with the same budget: in Acc, and in each track under it.
pub(super) fn pairs(run: &RunReport<'_>) -> String {
    let pairs = &run.summary.comparisons;
    if pairs.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<p>On the same items, by paired draws of pictures. “Better” means that the 95 % interval of the \
         difference leaves out 0; with many pairs, one in twenty does so by chance, and no correction is \
         made. McNemar’s p takes items for independent.</p>\n",
    );
    let all: Vec<String> = pairs.iter().filter_map(in_all).collect();
    if !all.is_empty() {
        let folded = all.len() > OPEN;
        if folded {
            let clear = all.iter().filter(|line| line.contains("is better")).count();
            let (pairs, many) = (all.len(), pairs.len());
            let _ = writeln!(
                html,
                "<p>In Acc, {clear} of {pairs} differences are significant.</p>\n\
                 <details><summary>All {many} pairs in Acc</summary>"
            );
        }
        html.push_str(&table("Differences in Acc", &all.concat()));
        html.push_str(if folded { "</details>\n" } else { "" });
    }
    let tracks: String = pairs.iter().map(in_tracks).collect();
    if !tracks.is_empty() {
        let open = if all.is_empty() { " open" } else { "" };
        let _ = writeln!(html, "<details{open}><summary>Track by track</summary>");
        html.push_str(&table("Differences in tracks", &tracks));
        html.push_str("</details>\n");
    }
    html
}

fn table(label: &str, lines: &str) -> String {
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table><thead><tr>\
         <th scope=\"col\" class=\"number\">T</th><th scope=\"col\">compared</th><th scope=\"col\">on</th>\
         <th scope=\"col\" class=\"number\">difference (95 %)</th>\
         <th scope=\"col\" class=\"number\">only first right</th>\
         <th scope=\"col\" class=\"number\">only second right</th>\
         <th scope=\"col\" class=\"number\">McNemar p</th><th scope=\"col\">says</th></tr></thead>\n\
         <tbody>\n{lines}</tbody></table></div>\n"
    )
}

fn in_all(pair: &Comparison) -> Option<String> {
    let difference = pair.difference?;
    Some(line(pair, &Line { on: "Acc", difference, only: pair.only, p_value: pair.p_value }))
}

fn in_tracks(pair: &Comparison) -> String {
    let lines = pair.tracks.iter().filter_map(|track| {
        let (on, only, p_value) = (track.track.as_str(), track.only, track.p_value);
        Some(line(pair, &Line { on, difference: track.difference?, only, p_value }))
    });
    lines.collect()
}

fn line(pair: &Comparison, line: &Line<'_>) -> String {
    let Estimate { value, low, high } = line.difference;
    let said = verdict(line.difference, &pair.first, &pair.second);
    let class = if low > 0.0 || high < 0.0 { " class=\"better\"" } else { "" };
    let [first, second] = line.only;
    let p = if line.p_value < 1e-4 { "&lt; 0.0001".into() } else { format!("{:.4}", line.p_value) };
    format!(
        "<tr><td class=\"number\">{}</td><th scope=\"row\">{} − {}</th><td>{}</td>\
         <td class=\"number\">{value:+.1} ({low:+.1} to {high:+.1})</td>\
         <td class=\"number\">{first}</td><td class=\"number\">{second}</td>\
         <td class=\"number\">{p}</td><td{class}>{}</td></tr>\n",
        pair.tokens,
        escape(&pair.first),
        escape(&pair.second),
        escape(line.on),
        escape(&said)
    )
}
