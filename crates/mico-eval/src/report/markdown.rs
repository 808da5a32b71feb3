//! The summary as Markdown tables.

use std::fmt::Write as _;

use super::{Estimate, Row, Summary};

impl Summary {
    /// Two tables: every setting on every track, and the settings against one another.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{}: {} items on {} pictures for each setting; accuracy in % (95 % interval)\n\n",
            self.suite, self.items, self.pictures
        );
        text.push_str("| setting | T | tokens");
        self.chance.iter().for_each(|track| {
            let _ = write!(text, " | {}", track.track);
        });
        text.push_str(" | Acc | Rel |\n|---|---:|---:");
        text.push_str(&"|---:".repeat(self.chance.len() + 2));
        text.push_str("|\n");
        self.rows.iter().for_each(|row| line(&mut text, row));
        text.push_str("| *chance* | | ");
        let mut sum = 0.0;
        for track in &self.chance {
            sum += track.accuracy.value;
            let _ = write!(text, " | {:.1}", track.accuracy.value);
        }
        let _ = writeln!(text, " | {:.1} | |", sum / self.chance.len().max(1) as f64);
        if !self.comparisons.is_empty() {
            text.push_str(
                "\n| T | compared | Acc difference (95 %) | only first right | only second right | \
                 McNemar p | |\n|---:|---|---:|---:|---:|---:|---|\n",
            );
        }
        for pair in &self.comparisons {
            let Estimate { value, low, high } = pair.difference;
            let verdict = match () {
                () if low > 0.0 => format!("{} is better", pair.first),
                () if high < 0.0 => format!("{} is better", pair.second),
                () => "no significant difference".to_owned(),
            };
            let _ = writeln!(
                text,
                "| {} | {} − {} | {value:+.1} ({low:+.1} to {high:+.1}) | {} | {} | {} | {verdict} |",
                pair.tokens,
                pair.first,
                pair.second,
                pair.only[0],
                pair.only[1],
                p_value(pair.p_value)
            );
        }
        text
    }
}

fn p_value(p: f64) -> String {
    if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") }
}

fn line(text: &mut String, row: &Row) {
    let tokens = row.tokens.map_or_else(String::new, |tokens| tokens.to_string());
    let _ = write!(text, "| {} | {tokens} | {:.1}", row.setting, row.layer_average);
    for track in &row.tracks {
        let _ = write!(text, " | {}", spread(track.accuracy));
    }
    let rel = row.rel.map_or_else(String::new, spread);
    let _ = writeln!(text, " | **{}** | {rel} |", spread(row.acc));
}

fn spread(estimate: Estimate) -> String {
    format!("{:.1} ({:.1}–{:.1})", estimate.value, estimate.low, estimate.high)
}
