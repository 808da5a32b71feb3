//! Conversations with the embedded model, line by line.

use std::io::Cursor;

use mico_engine::EngineOptions;
use mico_model::ModelFiles;

use super::*;

fn engine() -> Engine {
    let options = EngineOptions { threads: Some(1), ..EngineOptions::default() };
    Engine::open(ModelFiles::Memory(&mico_tiny::MODEL), &options).unwrap().0
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// What a conversation prints: answers, and everything else.
fn talk(engine: &Engine, budget: Option<usize>, images: &[&str], lines: &str) -> (String, String) {
    let mut setting = Setting::default();
    if let Some(tokens) = budget {
        setting = Setting::pruned(MethodSpec::new(DEFAULT_METHOD, Vec::new()).unwrap(), tokens);
    }
    let paths: Vec<PathBuf> = images.iter().map(|name| example(name)).collect();
    let inputs = if paths.is_empty() { Vec::new() } else { images::read(&paths).unwrap() };
    let inputs = inputs.into_iter().map(ImageInput::Decoded).collect();
    let visuals = Visuals { inputs, labels: Vec::new() };
    let outputs = Outputs::default();
    let start = Start { setting, visuals, generation: GenerationOptions::greedy(8), outputs };
    let quiet = |_: &str| None;
    let mut conversation = Conversation::new(engine, start, &quiet).unwrap();
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    conversation.talk(&mut Cursor::new(lines), &mut out, &mut notes).unwrap();
    (String::from_utf8(out).unwrap(), String::from_utf8(notes).unwrap())
}

const LETTER: &str = "What letter is on the purple circle?\n";

#[test]
fn later_answers_report_the_tokens_in_the_caches() {
    let lines = format!("{LETTER}\nHow many objects are there?\n/quit\nnever asked\n");
    let (out, notes) = talk(&engine(), Some(64), &["shapes.png"], &lines);
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(notes.contains("visual tokens 576 -> 128 -> 43 (layer average"), "{notes}");
    assert!(notes.contains("visual tokens 576 -> 128 -> 43 from before (layer"), "{notes}");
}

#[test]
fn commands_are_obeyed_and_never_asked() {
    let engine = engine();
    let (out, notes) = talk(&engine, None, &["shapes.png"], "/help\n/hlep\n/budget\n/image\n");
    assert_eq!(out, "");
    for said in ["/image FILE", "/reset", "/hlep is no command", "/budget needs", "/image needs"] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let missing = "/image no/such.png\n/budget many\n/budget 0\n/overlay kept.png\n";
    let (out, notes) = talk(&engine, None, &["shapes.png"], missing);
    assert_eq!((out.as_str(), notes.matches("error: ").count()), ("", 4), "{notes}");
}

#[test]
fn a_budget_begins_again_with_the_same_images() {
    let engine = engine();
    let lines = format!("{LETTER}/budget 64\n{LETTER}/budget off\n{LETTER}/reset\n{LETTER}");
    let (out, notes) = talk(&engine, None, &["shapes.png"], &lines);
    assert_eq!(out.lines().count(), 4, "{out}");
    assert_eq!(notes.matches("visual tokens 576 (layer average 576.0)").count(), 3, "{notes}");
    assert_eq!(notes.matches("visual tokens 576 -> 128 -> 43 (layer").count(), 1, "{notes}");
    assert!(!notes.contains("from before"), "{notes}");
}

#[test]
fn images_can_be_added_and_what_was_kept_of_them_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.png");
    let (shapes, out_file) = (example("shapes.png"), file.display().to_string());
    let lines = format!(
        "What?\n/image {}\n{LETTER}/overlay {out_file}\nHow many objects are there?\n",
        shapes.display()
    );
    let (out, notes) = talk(&engine(), Some(64), &[], &lines);
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(notes.contains("no image; vision"), "{notes}");
    assert!(notes.contains("128 -> 43 (layer") && notes.contains("from before"), "{notes}");
    let written = std::fs::read(&file).unwrap();
    assert!(written.starts_with(b"\x89PNG"));
    // A folder is no file to draw to; the conversation goes on.
    let lines = format!("{LETTER}/overlay {}\n{LETTER}", folder.path().display());
    let (out, notes) = talk(&engine(), Some(64), &["shapes.png"], &lines);
    assert_eq!((out.lines().count(), notes.matches("error: /overlay").count()), (2, 1), "{notes}");
}
