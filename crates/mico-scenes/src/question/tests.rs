//! Tests of the questions: every answer is certain.

use super::*;
use crate::scene::{Split, scene};
use crate::vocabulary::vocabulary;

fn questions(kind: Kind) -> Vec<(Scene, Question)> {
    let ask = |index| {
        let (scene, mut rng) = scene(Split::Train, 11, index);
        (0..20).find_map(|_| ask(&scene, kind, &mut rng)).map(|question| (scene, question))
    };
    (0..600).filter_map(ask).collect()
}

#[test]
fn every_word_is_in_the_vocabulary() {
    let known = vocabulary();
    for (_, question) in KINDS.iter().flat_map(|&kind| questions(kind)) {
        let text = question.text.to_lowercase().replace('?', " ?");
        for word in text.split_whitespace().chain(question.answer.split_whitespace()) {
            assert!(known.iter().any(|known| known == word), "{word:?} in {question:?}");
        }
    }
}

#[test]
fn yes_and_no_are_balanced() {
    for kind in [Kind::Existence, Kind::Compare, Kind::Relation] {
        let asked = questions(kind);
        let yes = asked.iter().filter(|(_, question)| question.answer == "yes").count();
        let share = yes as f32 / asked.len() as f32;
        assert!((0.42..0.58).contains(&share), "{kind:?}: {share}");
    }
}

#[test]
fn existence_follows_from_the_objects() {
    for (scene, question) in questions(Kind::Existence) {
        let named = scene.objects.iter().any(|o| question.text.contains(&o.name()));
        assert_eq!(yes_no(named), question.answer, "{}", question.text);
        let near = |word: fn(&Object) -> &'static str| {
            scene.objects.iter().any(|o| question.text.contains(word(o)))
        };
        assert!(near(|o| o.color.word()) && near(|o| o.shape.word()), "{}", question.text);
    }
}

#[test]
fn relations_follow_from_the_positions() {
    for (scene, question) in questions(Kind::Relation) {
        let (a, b) = (&scene.objects[question.objects[0]], &scene.objects[question.objects[1]]);
        let holds = match &question.text {
            text if text.contains("left of") => a.x < b.x,
            text if text.contains("right of") => a.x > b.x,
            text if text.contains("above") => a.y < b.y,
            _ => a.y > b.y,
        };
        assert_eq!(yes_no(holds), question.answer, "{}", question.text);
    }
}

#[test]
fn a_scene_can_be_asked_about_in_every_way() {
    for kind in KINDS {
        assert!(questions(kind).len() > 400, "{kind:?}: {}", questions(kind).len());
    }
}
