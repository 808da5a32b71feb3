//! Bounding boxes: parsed from a reply, converted between coordinate units, compared by overlap.

use crate::text::{float, is_digit, is_space};

/// A box as left, top, right and bottom coordinates, in a unit given by the context.
pub type Xyxy = [f64; 4];

/// The unit of box coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// Fractions of the image's width and height, from 0 to 1.
    Fractions,
    /// Thousandths of the image's width and height, from 0 to 1000.
    Thousandths,
    /// Pixels of an image of that width and height, for instance the resized one that the model saw.
    Pixels(f64, f64),
}

impl Unit {
    /// The box in fractions of the image.
    pub fn to_fractions(self, numbers: Xyxy) -> Xyxy {
        let (width, height) = match self {
            Self::Fractions => (1.0, 1.0),
            Self::Thousandths => (1000.0, 1000.0),
            Self::Pixels(width, height) => (width, height),
        };
        let [left, top, right, bottom] = numbers;
        [left / width, top / height, right / width, bottom / height]
    }
}

/// The box with swapped corners put right, so that left <= right and top <= bottom.
pub fn ordered([left, top, right, bottom]: Xyxy) -> Xyxy {
    [left.min(right), top.min(bottom), left.max(right), top.max(bottom)]
}

/// Intersection over union, from 0 to 1; 0 unless the boxes overlap in both directions.
pub fn iou(a: Xyxy, b: Xyxy) -> f64 {
    let width = a[2].min(b[2]) - a[0].max(b[0]);
    let height = a[3].min(b[3]) - a[1].max(b[1]);
    let overlap = width > 0.0 && height > 0.0;
    let area = |of: Xyxy| (of[2] - of[0]).max(0.0) * (of[3] - of[1]).max(0.0);
    let union = area(a) + area(b) - width * height;
    if overlap && union > 0.0 { width * height / union } else { 0.0 }
}

/// A position in a text from which numbers and boxes are parsed.
struct Cursor {
    text: Vec<char>,
    at: usize,
}

impl Cursor {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, wanted: char) -> Option<()> {
        (self.peek() == Some(wanted)).then(|| self.at += 1)
    }

    fn run(&mut self, class: fn(char) -> bool) -> usize {
        let length = self.text.iter().skip(self.at).take_while(|c| class(**c)).count();
        self.at += length;
        length
    }

    /// Parses a number: sign, digits with or without a point, exponent. The mantissa must end in a digit.
    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        self.at += usize::from(matches!(self.peek(), Some('-' | '+')));
        let whole = self.run(is_digit);
        let point = self.at;
        let fraction = if self.eat('.').is_some() { self.run(is_digit) } else { 0 };
        if fraction == 0 {
            self.at = point;
            if whole == 0 {
                self.at = start;
                return None;
            }
        }
        let mantissa = self.at;
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some('-' | '+')));
            if self.run(is_digit) == 0 {
                self.at = mantissa;
            }
        }
        float(&self.text[start..self.at].iter().collect::<String>())
    }

    /// Parses a separator: a comma with or without spaces, or spaces alone.
    fn separator(&mut self) -> Option<()> {
        let spaces = self.run(is_space);
        let comma = self.eat(',').is_some();
        self.run(is_space);
        (comma || spaces > 0).then_some(())
    }

    /// Parses a list `[n, n, ...]` with at least one number.
    fn bracketed(&mut self) -> Option<Vec<f64>> {
        self.eat('[')?;
        self.run(is_space);
        let mut numbers = vec![self.number()?];
        loop {
            let at = self.at;
            self.run(is_space);
            if self.eat(']').is_some() {
                return Some(numbers);
            }
            self.at = at;
            self.separator()?;
            numbers.push(self.number()?);
        }
    }

    /// Parses a point `(n, n)`.
    fn point(&mut self) -> Option<[f64; 2]> {
        self.eat('(')?;
        self.run(is_space);
        let x = self.number()?;
        self.separator()?;
        let y = self.number()?;
        self.run(is_space);
        self.eat(')').map(|()| [x, y])
    }

    /// Parses two corners `(n, n), (n, n)`; the comma between them may be missing.
    fn corners(&mut self) -> Option<Vec<f64>> {
        let first = self.point()?;
        self.run(is_space);
        let _ = self.eat(',');
        self.run(is_space);
        let second = self.point()?;
        Some([first, second].concat())
    }
}

/// Everything that `read` can parse in the text, from left to right without overlap.
fn all<T>(text: &str, read: impl Fn(&mut Cursor) -> Option<T>) -> Vec<T> {
    let mut cursor = Cursor { text: text.chars().collect(), at: 0 };
    let mut found = Vec::new();
    while cursor.at < cursor.text.len() {
        let start = cursor.at;
        match read(&mut cursor) {
            Some(value) => found.push(value),
            None => cursor.at = start + 1,
        }
    }
    found
}

fn four(numbers: &[f64]) -> Option<Xyxy> {
    numbers.try_into().ok()
}

/// VLMEvalKit's parser: the first list of exactly four numbers, otherwise the first four numbers
/// anywhere.
pub fn first(text: &str) -> Option<Xyxy> {
    let lists = all(text, Cursor::bracketed);
    lists.iter().find_map(|list| four(list)).or_else(|| {
        let numbers = all(text, Cursor::number);
        numbers.get(..4).and_then(four)
    })
}

/// Every box in a reply: lists whose length is a multiple of four, and pairs of corners in parentheses.
pub fn every(text: &str) -> Vec<Xyxy> {
    let lists = all(text, |cursor| {
        let start = cursor.at;
        cursor.bracketed().or_else(|| {
            cursor.at = start;
            cursor.corners()
        })
    });
    let whole = lists.iter().filter(|list| list.len() % 4 == 0);
    whole.flat_map(|list| list.chunks_exact(4).filter_map(four)).collect()
}

/// lmms-eval's parser: `[n, n, n, n]` with commas and without exponents.
pub fn lmms(text: &str) -> Option<Xyxy> {
    let plain = |cursor: &mut Cursor| -> Option<f64> {
        let start = cursor.at;
        let _ = cursor.eat('-');
        if cursor.run(is_digit) == 0 {
            return None;
        }
        let end = cursor.at;
        if cursor.eat('.').is_some() && cursor.run(is_digit) == 0 {
            cursor.at = end;
        }
        float(&cursor.text[start..cursor.at].iter().collect::<String>())
    };
    let read = |cursor: &mut Cursor| -> Option<Xyxy> {
        cursor.eat('[')?;
        cursor.run(is_space);
        let mut numbers = [0.0; 4];
        for (at, number) in numbers.iter_mut().enumerate() {
            if at > 0 {
                cursor.eat(',')?;
                cursor.run(is_space);
            }
            *number = plain(cursor)?;
        }
        cursor.run(is_space);
        cursor.eat(']').map(|()| numbers)
    };
    all(text, read).first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_box() {
        let cases = [
            ("[[1, 2, 3, 4]]", Some([1.0, 2.0, 3.0, 4.0])),
            ("[ .5 +1e1 , -2.5\n3 ]", Some([0.5, 10.0, -2.5, 3.0])),
            ("[1,2,3] [4,5,6,7]", Some([4.0, 5.0, 6.0, 7.0])),
            ("The 2 dogs: (100,200),(500,600)", Some([2.0, 100.0, 200.0, 500.0])),
            ("1.5.3 4-5", Some([1.5, 0.3, 4.0, -5.0])),
            ("１ ２ ３ ４", Some([1.0, 2.0, 3.0, 4.0])),
            ("1, 2, 3", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(first(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_box() {
        assert_eq!(every("[[1,2,3,4],[5,6,7,8]]").len(), 2);
        assert_eq!(
            every("```json\n[{\"bbox_2d\": [1, 2, 3, 4]}, {\"bbox_2d\": [5, 6, 7, 8]}]\n```").len(),
            2
        );
        assert_eq!(every("<box>(1,2),(3,4)</box>"), [[1.0, 2.0, 3.0, 4.0]]);
        assert_eq!(every("[1,2,3,4,5,6,7,8]").len(), 2);
        assert!(every("There are 2 of 3, none at 4 or 5").is_empty());
    }

    #[test]
    fn lmms_wants_brackets_and_commas() {
        assert_eq!(lmms("The box is [0.10, 0.20, 0.50, 0.60]."), Some([0.1, 0.2, 0.5, 0.6]));
        for text in ["(0.1,0.2,0.5,0.6)", "[.1,.2,.3,.4]", "[1 2 3 4]", "[1 ,2,3,4]", "[1e1,2,3,4]"]
        {
            assert_eq!(lmms(text), None, "{text}");
        }
    }

    #[test]
    fn overlap() {
        assert_eq!(iou([0.0, 0.0, 0.5, 0.25], [0.0, 0.0, 0.5, 0.5]), 0.5);
        assert_eq!(iou([0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 2.0, 1.0]), 0.0);
        assert_eq!(iou([0.0; 4], [0.0; 4]), 0.0);
    }
}
