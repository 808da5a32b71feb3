//! MMMU's open questions: the authors' parser of numbers and short texts.

use crate::text::{float, is_digit, is_word, lower, repr, round, strip};

const MARKERS: [&str; 9] =
    ["could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ", "="];
const TRIVIAL: [&str; 7] = [":", ",", ".", "!", "?", ";", "'"];

/// One candidate answer found in a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// A number, rounded to two decimals.
    Number(f64),
    /// A text, in lower case.
    Text(String),
}

impl Meaning {
    /// The candidate as Python prints it.
    pub fn text(&self) -> String {
        match self {
            Self::Number(value) => repr(*value),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Every candidate answer in a reply, without duplicates.
pub fn meanings(response: &str) -> Vec<Meaning> {
    let tails = tails(response);
    let numbers = tails.iter().flat_map(|tail| {
        let tail: Vec<char> = tail.chars().collect();
        [grouped, scientific, simple].into_iter().flat_map(move |form| all_of(&tail, form))
    });
    let mut unique = Vec::new();
    for text in tails.iter().cloned().chain(numbers) {
        for meaning in normalized(&text) {
            if !unique.contains(&meaning) {
                unique.push(meaning);
            }
        }
    }
    unique
}

/// Whether any candidate equals a gold number or contains a gold text.
pub fn right(response: &str, answers: &[String]) -> bool {
    let golds: Vec<Meaning> = answers.iter().flat_map(|answer| normalized(answer)).collect();
    let agrees = |meaning: &Meaning, gold: &Meaning| match (meaning, gold) {
        (Meaning::Text(text), Meaning::Text(gold)) => text.contains(gold.as_str()),
        (Meaning::Number(value), Meaning::Number(gold)) => value == gold,
        _ => false,
    };
    meanings(response).iter().any(|meaning| golds.iter().any(|gold| agrees(meaning, gold)))
}

fn normalized(text: &str) -> Vec<Meaning> {
    let text = strip(text);
    if let Some(value) = float(&text.replace(',', "")) {
        return vec![Meaning::Number(round(value, 2))];
    }
    let text = lower(text);
    // A single character would occur in almost any answer, so a space is required beside it.
    if text.chars().count() == 1 {
        return vec![Meaning::Text(format!(" {text}")), Meaning::Text(format!("{text} "))];
    }
    vec![Meaning::Text(text)]
}

/// The shortest text after a marker such as "answer " in every line, or the whole reply if there is none.
fn tails(response: &str) -> Vec<String> {
    let response = lower(strip(response).trim_matches('.'));
    let lines: Vec<&str> = response.split('\n').collect();
    let mut tails = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        // "=" is a marker in the last line only.
        let markers = if number + 1 == lines.len() { &MARKERS[..] } else { &MARKERS[..8] };
        let mut shortest = String::new();
        for tail in markers
            .iter()
            .filter_map(|marker| line.rsplit_once(marker))
            .map(|(_, tail)| strip(tail))
        {
            if shortest.is_empty() || tail.chars().count() < shortest.chars().count() {
                tail.clone_into(&mut shortest);
            }
        }
        if !shortest.is_empty() && !TRIVIAL.contains(&shortest.as_str()) {
            tails.push(shortest);
        }
    }
    if tails.is_empty() { vec![response] } else { tails }
}

/// A parser for one notation of numbers: given a position, the end of the number that starts there.
type Form = fn(&[char], usize) -> Option<usize>;

fn all_of(text: &[char], form: Form) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match form(text, at) {
            Some(end) => {
                found.push(text[at..end].iter().collect());
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn digits(text: &[char], at: usize) -> usize {
    text.iter().skip(at).take_while(|c| is_digit(**c)).count()
}

fn past_minus(text: &[char], at: usize) -> usize {
    at + usize::from(text.get(at) == Some(&'-'))
}

/// Whether a word begins or ends at `at` (`\b` in Python's regular expressions).
fn boundary(text: &[char], at: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| is_word(*c));
    word(at.checked_sub(1)) != word(Some(at))
}

/// A number with thousands separators such as `1,234,567`, between word boundaries.
fn grouped(text: &[char], at: usize) -> Option<usize> {
    let start = past_minus(text, at);
    if !boundary(text, start) {
        return None;
    }
    let lead = digits(text, start);
    if !(1..=3).contains(&lead) {
        return None;
    }
    let mut end = start + lead;
    let mut last = None;
    while text.get(end) == Some(&',') && digits(text, end + 1) >= 3 {
        end += 4;
        if boundary(text, end) {
            last = Some(end);
        }
    }
    last
}

/// A number in scientific notation such as `1.5e-3`.
fn scientific(text: &[char], at: usize) -> Option<usize> {
    let start = past_minus(text, at);
    let whole = digits(text, start);
    if whole == 0 {
        return None;
    }
    let mut end = start + whole;
    if text.get(end) == Some(&'.') {
        let fraction = digits(text, end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    exponent(text, end)
}

fn exponent(text: &[char], at: usize) -> Option<usize> {
    if !matches!(text.get(at), Some('e' | 'E')) {
        return None;
    }
    let start = at + 1 + usize::from(matches!(text.get(at + 1), Some('+' | '-')));
    let power = digits(text, start);
    (power > 0).then_some(start + power)
}

/// A plain number (`12`, `1.5` or `.5`) that is not followed by an exponent, a comma or a digit. As
/// in the original regular expression, digits are given back until that holds: `1.5e3` yields 1.
fn simple(text: &[char], at: usize) -> Option<usize> {
    let start = past_minus(text, at);
    let free = |end: &usize| {
        exponent(text, *end).is_none() && !text.get(*end).is_some_and(|c| *c == ',' || is_digit(*c))
    };
    let whole = digits(text, start);
    let point = start + whole;
    let fraction = if text.get(point) == Some(&'.') { digits(text, point + 1) } else { 0 };
    let decimal = (1..=fraction).rev().map(|length| point + 1 + length).find(free);
    if decimal.is_some() || whole == 0 {
        return decimal;
    }
    (1..=whole).rev().map(|length| start + length).find(|end| boundary(text, *end) && free(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        meanings(text).iter().map(Meaning::text).collect()
    }

    fn numbers(text: &str, form: Form) -> Vec<String> {
        all_of(&text.chars().collect::<Vec<_>>(), form)
    }

    #[test]
    fn numbers_of_three_forms() {
        assert_eq!(numbers("3,600 n -1,234,567a 12345,678", grouped), ["3,600", "-1,234"]);
        assert_eq!(numbers("1.5.2e3 -4e+10 e5", scientific), ["5.2e3", "-4e+10"]);
        assert_eq!(numbers("3,600 .5 -2.75 3.14e5 4x", simple), ["600", ".5", "-2.75", "3", "5"]);
    }

    #[test]
    fn tails_and_numbers() {
        assert_eq!(read("The result is 3,600 N."), ["3,600 n", "3600.0", "600.0"]);
        assert_eq!(read("x = 0.333"), ["0.33"]);
        assert_eq!(read("x"), [" x", "x "]);
        assert_eq!(read("so a\nb = 4"), [" a", "a ", "4.0"]);
        assert_eq!(read(""), [""]);
    }

    #[test]
    fn right_by_number_or_by_containment() {
        let gold = |text: &str| vec![text.to_owned()];
        assert!(right("x = 0.333", &gold("0.33")));
        assert!(right("It is made of steel plates", &gold("Steel")));
        assert!(!right("steel", &gold("iron")));
        assert!(!right("24", &gold("2")));
        assert!(right("no", &["yes".to_owned(), "no".to_owned()]));
    }
}
