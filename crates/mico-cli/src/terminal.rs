//! Results on a terminal: Markdown made fit for its width. Piped, they stay the Markdown they are.

use std::io::IsTerminal;

use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;
use crate::output;

/// The width of a terminal that does not tell its own.
const USUAL_WIDTH: usize = 80;
/// The least width that tables are fitted to: narrower ones would be one word to a line.
const LEAST_WIDTH: usize = 20;
/// How Markdown marks the best and the second-best number of a table; in one without a second best, bold is emphasis
/// and means nothing more.
const BEST: [&str; 2] = ["**", "**"];
const SECOND: [&str; 2] = ["<ins>", "</ins>"];
/// What stands behind those numbers on a terminal, and what it means.
const SIGNS: [&str; 2] = ["*", "+"];
const LEGEND: &str = "* best, + second best";
/// What stands between columns.
const BETWEEN: &str = "  ";

/// Prints Markdown: on a terminal fitted to its width, else as it is.
pub(crate) fn print(markdown: &str) -> Result<(), Failure> {
    match width() {
        Some(width) => output::line(&fitted(markdown, width)),
        None => output::line(markdown.trim_end()),
    }
}

/// The width of the terminal that standard output is; `None` if it is none.
pub(crate) fn width() -> Option<usize> {
    let out = std::io::stdout();
    out.is_terminal()
        .then(|| terminal_size_of(&out).map_or(USUAL_WIDTH, |(Width(width), _)| usize::from(width)))
}

/// Markdown whose lines are at most so wide: text is wrapped, tables are cut between columns into several,
/// each with the first column, and cells that are still too wide are wrapped.
pub(crate) fn fitted(markdown: &str, width: usize) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut lines = markdown.trim_end().lines().peekable();
    let mut text = Vec::new();
    while let Some(line) = lines.next() {
        let is_table = line.starts_with('|') && lines.peek().is_some_and(|next| is_rule(next));
        if !is_table {
            text.extend(wrap(&plain(line), width, indent(line)));
            continue;
        }
        let aligned = lines.next().map(alignments).unwrap_or_default();
        let mut rows = vec![line];
        rows.extend(std::iter::from_fn(|| lines.next_if(|next| next.starts_with('|'))));
        let ranked = rows.iter().any(|row| row.contains(SECOND[0]));
        let rows = rows.into_iter().map(|row| cells(row, ranked)).collect();
        text.extend(Table::new(rows, aligned).lines(width));
        if ranked {
            text.extend(wrap(LEGEND, width, 0));
        }
    }
    text.join("\n")
}

/// The line below a table's head.
fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// Which columns are aligned to the right.
fn alignments(rule: &str) -> Vec<bool> {
    cells(rule, false).iter().map(|cell| cell.ends_with(':')).collect()
}

/// The cells of a row, without the marks of Markdown; in a table that ranks its numbers with signs in their place.
fn cells(row: &str, ranked: bool) -> Vec<String> {
    // An escaped bar belongs to its cell.
    let row = row.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let row = row.strip_suffix('|').unwrap_or(&row);
    let cell = |cell: &str| {
        let cell = cell.replace('\u{0}', "\\|");
        plain(&if ranked { signed(&cell) } else { cell })
    };
    row.split('|').map(cell).collect()
}

/// A cell with signs in place of the marks of the best and second-best number.
fn signed(cell: &str) -> String {
    let marked = [BEST, SECOND].into_iter().zip(SIGNS).find_map(|([open, close], sign)| {
        let (value, rest) = cell.trim().strip_prefix(open)?.split_once(close)?;
        Some(format!("{value}{}{rest}", sign.replace('*', "\\*")))
    });
    marked.unwrap_or_else(|| cell.to_owned())
}

/// Text without the marks of Markdown that a terminal would show.
fn plain(text: &str) -> String {
    let text = text.replace("**", "").replace(SECOND[0], "").replace(SECOND[1], "");
    let text = text.trim();
    // A cell in italics; a list's star is followed by a space, and an escaped one is no mark.
    let inner = text.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
    unescaped(inner.filter(|inner| !inner.starts_with(' ')).unwrap_or(text))
}

/// Text with the characters that Markdown escapes as themselves.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escapes = |next: &char| matches!(next, '\\' | '`' | '*' | '_' | '|' | '<' | '[');
        match characters.next_if(|next| character == '\\' && escapes(next)) {
            Some(next) => out.push(next),
            None => out.push(character),
        }
    }
    out
}

/// How far the lines after the first of a list's item are moved in.
fn indent(line: &str) -> usize {
    if line.starts_with("* ") || line.starts_with("- ") { 2 } else { 0 }
}

/// Text in lines of at most that width, broken at spaces, or inside a word that is wider.
fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest = word;
        while !rest.is_empty() {
            let is_first = lines.len() == 1;
            let Some(line) = lines.last_mut() else { break };
            let start = if is_first { 0 } else { indent };
            let room = width.saturating_sub(line.width().max(start));
            let space = usize::from(line.width() > start);
            if space + rest.width() <= room {
                line.push_str(&" ".repeat(space));
                line.push_str(rest);
                rest = "";
            } else if space == 0 {
                let cut = cut(rest, room);
                line.push_str(&rest[..cut]);
                rest = &rest[cut..];
                lines.push(" ".repeat(indent));
            } else {
                lines.push(" ".repeat(indent));
            }
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines
}

/// Where a word is cut so that its beginning fits; at least one character always does.
fn cut(word: &str, room: usize) -> usize {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    let fitting = ends.clone().take_while(|end| word[..*end].width() <= room).last();
    fitting.or_else(|| ends.clone().next()).unwrap_or(word.len())
}

/// A table, its head the first row.
struct Table {
    rows: Vec<Vec<String>>,
    is_right: Vec<bool>,
    widths: Vec<usize>,
}

impl Table {
    fn new(rows: Vec<Vec<String>>, is_right: Vec<bool>) -> Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell =
            |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.width());
        let width = |column: usize| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0);
        let widths = (0..columns).map(width).collect();
        Self { rows, is_right, widths }
    }

    /// The columns of each part of the table: the first is in all of them.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let mut parts = vec![vec![0]];
        for column in 1..self.widths.len() {
            let part = parts.last().cloned().unwrap_or_default();
            let used: usize = part.iter().map(|at| self.widths[*at] + BETWEEN.len()).sum();
            if part.len() > 1 && used + self.widths[column] > width {
                parts.push(vec![0]);
            }
            if let Some(part) = parts.last_mut() {
                part.push(column);
            }
        }
        parts
    }

    fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, part) in self.parts(width).into_iter().enumerate() {
            if number > 0 {
                lines.push(String::new());
            }
            let widths = self.fitted_widths(&part, width);
            for (index, row) in self.rows.iter().enumerate() {
                lines.extend(self.row(row, &part, &widths));
                if index == 0 {
                    let rules = widths.iter().map(|width| "-".repeat(*width));
                    lines.push(rules.collect::<Vec<_>>().join(BETWEEN));
                }
            }
        }
        lines
    }

    /// The widths of a part's columns, the widest made narrower until they fit.
    fn fitted_widths(&self, part: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = part.iter().map(|column| self.widths[*column]).collect();
        let room = width.saturating_sub(BETWEEN.len() * (part.len() - 1)).max(part.len());
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else { break };
            *widest -= 1;
        }
        widths
    }

    /// A row, in as many lines as its fullest cell needs.
    fn row(&self, row: &[String], part: &[usize], widths: &[usize]) -> Vec<String> {
        let cell = |(column, width): (&usize, &usize)| {
            wrap(row.get(*column).map_or("", String::as_str), (*width).max(1), 0)
        };
        let cells: Vec<Vec<String>> = part.iter().zip(widths).map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |index: usize| {
            let texts = cells.iter().zip(part).zip(widths).map(|((cell, column), width)| {
                let text = cell.get(index).map_or("", String::as_str);
                let blank = " ".repeat(width.saturating_sub(text.width()));
                let is_right = self.is_right.get(*column).copied().unwrap_or(false);
                if is_right { format!("{blank}{text}") } else { format!("{text}{blank}") }
            });
            texts.collect::<Vec<_>>().join(BETWEEN).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: &str = "## Title\n\nSome words before the table that go on for longer than a narrow terminal.\n\n\
        | setting | T | read | count | **Acc** |\n|---|---:|---:|---:|---:|\n\
        | unpruned | | 98.0 (96.0\u{2013}99.0) | 97.1 (95.0\u{2013}98.0) | **97.5** |\n\
        | a\\|b | 64 | 91.0 | 90.0 | *90.5* |\n\n* a remark of several words in a list, longer than a line\n";

    #[test]
    fn whatever_the_width_no_line_is_wider_and_nothing_is_lost() {
        for width in [20, 30, 40, 60, 80, 200] {
            let text = fitted(WIDE, width);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
            let found: String = text.split_whitespace().collect();
            for word in ["unpruned", "98.0(96.0", "97.1(95.0", "97.5", "a|b", "90.5", "count"] {
                assert!(found.contains(word), "{width}: {word} in {text}");
            }
            assert!(!text.contains("**") && !text.contains("|---"), "{text}");
        }
    }

    #[test]
    fn a_table_that_fits_is_one_and_others_repeat_their_first_column() {
        let table = "| a | b |\n|---|---:|\n| x | 1.5 |\n| long | 10.0 |\n";
        assert_eq!(fitted(table, 80), "a        b\n----  ----\nx      1.5\nlong  10.0");
        let text = fitted(WIDE, 40);
        assert!(text.matches("unpruned").count() > 1, "{text}");
        assert_eq!(fitted(WIDE, 200).matches("unpruned").count(), 1);
    }

    #[test]
    fn ranks_are_signs_and_escapes_are_what_they_stand_for() {
        let table = "| a | b |\n|---|---:|\n| mico\\_s1 | **2.0** (1) |\n| x\\|y | <ins>1.5</ins> |\n| \\*z\\* | 1.0 |\n";
        let text = fitted(table, 80);
        for part in ["mico_s1  2.0* (1)", "x|y", "1.5+", "*z*", "1.0\n* best, + second best"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let plain = fitted("| a | b |\n|---|---:|\n| x | **1.5** |\n", 80);
        assert!(plain.ends_with("1.5") && !plain.contains("best"), "{plain}");
    }

    #[test]
    fn long_words_and_wide_letters_are_cut() {
        let word = "x".repeat(100);
        let lines = wrap(&word, 30, 0);
        assert_eq!(lines.concat(), word);
        assert!(lines.iter().all(|line| line.len() <= 30));
        assert!(wrap("\u{4f60}\u{597d}\u{4e16}", 4, 0).iter().all(|line| line.width() <= 4));
        assert_eq!(fitted("", 80), "");
    }
}
