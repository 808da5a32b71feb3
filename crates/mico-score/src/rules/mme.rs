//! MME: points per category, the accuracy over questions plus the accuracy over images.

use std::collections::BTreeMap;

use super::percent;

/// The perception categories, worth at most 200 points each.
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
/// The cognition categories, worth at most 200 points each.
pub const COGNITION: [&str; 4] =
    ["commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"];

/// One question, marked right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The category (subtask), such as `existence`.
    pub category: String,
    /// The image's name, which pairs the two questions about it.
    pub image: String,
    /// Whether the question was answered correctly.
    pub right: bool,
}

/// The MME scores of a model, in points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// The sum over the perception categories, at most 2000.
    pub perception: f64,
    /// The sum over the cognition categories, at most 800.
    pub cognition: f64,
    /// The points of each category that occurs, at most 200.
    pub categories: BTreeMap<String, f64>,
}

/// Computes the points. An image with only one question cannot count as having both right.
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
