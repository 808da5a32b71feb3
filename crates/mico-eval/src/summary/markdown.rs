//! The summary as Markdown tables.

use std::fmt::Write as _;

use mico_util::text::escaped_lines;

use super::compare::verdict;
use super::{Comparison, Estimate, Row, Summary, TrackScore, paper_table};

/// Pairs are compared track by track, in the text, only if there are few.
const FEW: usize = 6;

impl Summary {
    /// Every setting on every track, with intervals and marks; the settings against one another; and
    /// whatever was not as it should be.
    pub fn markdown(&self, title: &str) -> String {
        let mut text = String::new();
        if !title.is_empty() {
            let _ = writeln!(text, "## {title}\n");
        }
        let part =
            if self.shard.is_whole() { String::new() } else { format!(", part {}", self.shard) };
        let (suite, items, pictures) = (&self.suite, self.items, self.pictures);
        let _ = writeln!(
            text,
            "{items} items on {pictures} pictures{part} for each setting; values with 95 % intervals. Asked: {suite}\n"
        );
        self.values(&mut text);
        self.remarks(&mut text);
        if !self.rows.is_empty() {
            text.push_str("\nBest and second-best values of each budget:\n\n");
            text.push_str(&paper_table(self, title).markdown());
        }
        self.verdicts(&mut text);
        escaped_lines(&text)
    }

    fn values(&self, text: &mut String) {
        let tracks: Vec<&str> = self.rules.iter().map(|(track, _)| track.as_str()).collect();
        text.push_str("| setting | T | tokens");
        tracks.iter().for_each(|track| {
            let _ = write!(text, " | {track}");
        });
        text.push_str(" | Acc | Rel |\n|---|---:|---:");
        text.push_str(&"|---:".repeat(tracks.len() + 2));
        text.push_str("|\n");
        self.rows.iter().for_each(|row| line(text, row));
        if !self.chance.is_empty() {
            text.push_str("| *chance* | | ");
            let sum: f64 = self.chance.iter().map(|(_, value)| value).sum();
            self.chance.iter().for_each(|(_, value)| {
                let _ = write!(text, " | {value:.1}");
            });
            let _ = writeln!(text, " | {:.1} | |", sum / self.chance.len() as f64);
        }
    }

    /// What the numbers do not show.
    fn remarks(&self, text: &mut String) {
        let mut remarks: Vec<String> = Vec::new();
        let scored = self.rules.iter().filter(|(_, rule)| rule.contains('.'));
        let scored: Vec<String> =
            scored.map(|(track, rule)| format!("{track} by {rule}")).collect();
        if !scored.is_empty() {
            remarks.push(format!("scored: {}", scored.join(", ")));
        }
        if !self.finished {
            remarks.push("**not finished**: items or parts of the run are missing".to_owned());
        }
        if !self.limited.is_empty() {
            let tracks = self.limited.join(", ");
            remarks.push(format!("of {tracks} only the first rows were asked: circular groups and subtasks are not complete, so values are not comparable"));
        }
        if !self.acc_missing.is_empty() {
            remarks.push(format!("no Acc: it needs {}", self.acc_missing.join(", ")));
        }
        remarks.extend(self.rows.iter().filter_map(answers));
        if !self.damaged.is_empty() {
            let first = &self.damaged[0].reason;
            let count = self.damaged.len();
            remarks.push(format!("{count} damaged rows are in no number; the first: {first}"));
        }
        if self.dropped > 0 {
            remarks.push(format!(
                "{} rows without an image were left out, as the benchmark does",
                self.dropped
            ));
        }
        for left in &self.incomplete {
            let (setting, budget, track) = (&left.setting, budget(left.tokens), &left.track);
            let (answered, of) = (left.answered, left.of);
            remarks.push(format!(
                "{setting}{budget} is left out: {answered} of {of} {track} items answered"
            ));
        }
        for refused in &self.refused {
            let (setting, budget, reason) =
                (&refused.setting, budget(refused.budget), &refused.reason);
            remarks.push(format!("{setting}{budget} was not run: {reason}"));
        }
        if !remarks.is_empty() {
            text.push('\n');
        }
        for remark in remarks {
            let _ = writeln!(text, "* {remark}");
        }
    }

    fn verdicts(&self, text: &mut String) {
        if self.comparisons.is_empty() {
            return;
        }
        text.push_str(
            "\nOn the same items, by paired draws of pictures; \"better\" means that the 95 % interval leaves \
             out 0, without correction for the number of pairs:\n\n\
             | T | compared | on | difference (95 %) | only first right | only second right | McNemar p | |\n\
             |---:|---|---|---:|---:|---:|---:|---|\n",
        );
        for pair in &self.comparisons {
            if let Some(difference) = pair.difference {
                let line = Line { on: "Acc", difference, only: pair.only, p_value: pair.p_value };
                compared(text, pair, &line);
            }
            if pair.difference.is_none() || self.comparisons.len() <= FEW && pair.tracks.len() > 1 {
                for track in &pair.tracks {
                    let Some(difference) = track.difference else { continue };
                    let (on, only, p_value) = (track.track.as_str(), track.only, track.p_value);
                    compared(text, pair, &Line { on, difference, only, p_value });
                }
            }
        }
    }
}

/// A number of answers.
type Count = fn(&TrackScore) -> usize;

/// How many of a setting's answers were not as they should be, and in which tracks.
fn answers(row: &Row) -> Option<String> {
    let kinds: [(Count, &str); 4] = [
        (|track| track.empty, "empty"),
        (|track| track.unreadable, "unreadable"),
        (|track| track.failed, "not asked (counted as wrong)"),
        (|track| track.cut, "cut at the longest answer"),
    ];
    let told = kinds.iter().filter_map(|(count, what)| {
        let tracks = row.tracks.iter().filter(|track| count(track) > 0);
        let tracks: Vec<String> =
            tracks.map(|track| format!("{} {}", track.track, count(track))).collect();
        let sum: usize = row.tracks.iter().map(count).sum();
        (sum > 0).then(|| format!("{sum} {what} ({})", tracks.join(", ")))
    });
    let told: Vec<String> = told.collect();
    let asked: usize = row.tracks.iter().map(|track| track.asked).sum();
    let (setting, budget) = (&row.setting, budget(row.tokens));
    (!told.is_empty()).then(|| format!("{setting}{budget}: of {asked} answers {}", told.join("; ")))
}

fn budget(tokens: Option<usize>) -> String {
    tokens.map_or_else(String::new, |tokens| format!(" at T={tokens}"))
}

struct Line<'a> {
    on: &'a str,
    difference: Estimate,
    only: [usize; 2],
    p_value: f64,
}

fn compared(text: &mut String, pair: &Comparison, line: &Line<'_>) {
    let Estimate { value, low, high } = line.difference;
    let (first, second, tokens) = (&pair.first, &pair.second, pair.tokens);
    let [one, other] = line.only;
    let _ = writeln!(
        text,
        "| {tokens} | {first} − {second} | {} | {value:+.1} ({low:+.1} to {high:+.1}) | {one} | {other} | {} | {} |",
        line.on,
        p_value(line.p_value),
        verdict(line.difference, first, second),
    );
}

fn p_value(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

fn line(text: &mut String, row: &Row) {
    let tokens = row.tokens.map_or_else(String::new, |tokens| tokens.to_string());
    let setting = row.setting.replace('|', "\\|");
    let _ = write!(text, "| {setting} | {tokens} | {:.1}", row.layer_average);
    for track in &row.tracks {
        let _ = write!(text, " | {}", track.value.map_or_else(String::new, spread));
    }
    let acc = row.acc.map_or_else(String::new, |acc| format!("**{}**", spread(acc)));
    let _ = writeln!(text, " | {acc} | {} |", row.rel.map_or_else(String::new, spread));
}

fn spread(estimate: Estimate) -> String {
    format!("{:.1} ({:.1}–{:.1})", estimate.value, estimate.low, estimate.high)
}
