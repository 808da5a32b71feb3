//! MME: accuracy over questions plus accuracy over pictures, for every category.

use std::collections::BTreeMap;

use super::percent;

/// The categories of perception, 200 points each.
pub const PERCEPTION: [&str; 10] = [
    "existence",
    "count",
    "position",
    "color",
    "posters",
    "celebrity",
    "scene",
    "landmark",
    "artwork",
    "OCR",
];
/// The categories of cognition, 200 points each.
pub const COGNITION: [&str; 4] =
    ["commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"];

/// One judged question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The subtask.
    pub category: String,
    /// What pairs the two questions about one picture.
    pub image: String,
    /// Whether it was answered right.
    pub right: bool,
}

/// The points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// The sum over perception, at most 2000.
    pub perception: f64,
    /// The sum over cognition, at most 800.
    pub cognition: f64,
    /// Of each category present.
    pub categories: BTreeMap<String, f64>,
}

/// Adds the points up. A picture with only one question cannot have both right.
pub fn points(rows: &[Row]) -> Points {
    let mut pictures: BTreeMap<&str, BTreeMap<&str, Vec<bool>>> = BTreeMap::new();
    for row in rows {
        pictures.entry(&row.category).or_default().entry(&row.image).or_default().push(row.right);
    }
    let mut points = Points::default();
    for (category, pictures) in pictures {
        let questions: usize = pictures.values().map(Vec::len).sum();
        let right = pictures.values().flatten().filter(|right| **right).count();
        let both =
            pictures.values().filter(|pair| pair.len() > 1 && pair.iter().all(|right| *right));
        let value = percent(right, questions) + percent(both.count(), pictures.len());
        if PERCEPTION.contains(&category) {
            points.perception += value;
        } else if COGNITION.contains(&category) {
            points.cognition += value;
        }
        points.categories.insert(category.to_owned(), value);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(category: &str, image: &str, right: bool) -> Row {
        Row { category: category.to_owned(), image: image.to_owned(), right }
    }

    #[test]
    fn pairs_are_found_by_picture_in_any_order() {
        let rows = [
            row("count", "0", true),
            row("count", "1", true),
            row("count", "0", false),
            row("count", "1", true),
            row("code_reasoning", "1", true),
            row("unheard_of", "1", true),
        ];
        let points = points(&rows);
        assert_eq!((points.perception, points.cognition), (125.0, 100.0));
        assert_eq!(points.categories["unheard_of"], 100.0);
    }
}
