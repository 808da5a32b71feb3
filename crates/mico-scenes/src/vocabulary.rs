//! The vocabulary of all questions and answers, which the command `scenes vocabulary` prints.

use crate::question::WORDS;
use crate::scene::{CHARACTERS, Color};
use crate::shape::Shape;

/// Every word that occurs, in a fixed order without repetition: colours, shapes, characters,
/// digits, then the other words of the questions.
pub fn vocabulary() -> Vec<String> {
    let colors = Color::ALL.iter().map(|color| color.word().to_owned());
    let shapes = Shape::ALL.iter().flat_map(|shape| [shape.word(), shape.plural()]);
    let characters = CHARACTERS.iter().map(char::to_string);
    let digits = (0..10).map(|digit: u8| digit.to_string());
    let mut words: Vec<String> = Vec::new();
    let all = colors.chain(shapes.map(str::to_owned)).chain(characters).chain(digits);
    for word in all.chain(WORDS.iter().map(|&word| word.to_owned())) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}
