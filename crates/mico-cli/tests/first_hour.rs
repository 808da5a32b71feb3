//! What a newcomer meets: wrong words, missing images, files that are none, flags without effect.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, mico, refused};

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.display().to_string()
}

/// A call that must succeed: what it prints, and what it says beside that.
fn said(command: &mut assert_cmd::Command) -> (String, String) {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    (String::from_utf8(output.stdout).unwrap(), errors)
}

#[test]
fn without_arguments_run_says_what_to_type() {
    for args in [&["run"][..], &["run", "--budget", "64"], &["run", "--json"], &["run", ""]] {
        let message = refused(&mut mico(args), 2);
        for part in ["usage: mico run", "examples/shapes.png", "conversation"] {
            assert!(message.contains(part), "{message}");
        }
    }
    // The image is there, the question is not, and nobody can be asked for one.
    let message = refused(&mut mico(&["run", "--image", &example("shapes.png")]), 2);
    assert!(message.contains("QUESTION"), "{message}");
}

#[test]
fn what_was_meant_is_told_in_the_same_line() {
    let message = refused(&mut mico(&["rnu"]), 2);
    assert!(message.contains("did you mean 'run'"), "{message}");
    for (wrong, meant) in [("modles", "models"), ("evl", "eval"), ("doktor", "doctor")] {
        let message = refused(&mut mico(&[wrong]), 2);
        assert!(message.contains(&format!("did you mean '{meant}'")), "{message}");
    }
    assert!(!refused(&mut mico(&["photograph"]), 2).contains("did you mean"));
    let message = refused(&mut mico(&["eval", "merg", "x"]), 2);
    assert!(message.contains("merg"), "{message}");
    let message = refused(&mut mico(&["run", "--imagee", "x", "What?"]), 2);
    assert!(message.contains("did you mean '--image'"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    for (file, flag) in [("photo.png", "--image"), ("clip.mp4", "--video")] {
        std::fs::write(folder.path().join(file), "x").unwrap();
        for words in [[file, "What is it?"], ["What is it?", file]] {
            let mut call = mico(&["run", "--budget", "64"]);
            let message = refused(call.args(words).current_dir(folder.path()), 2);
            let meant = format!("'{file}' is a file: did you mean {flag} {file} 'What is it?'?");
            assert!(message.contains(&meant), "{message}");
        }
        let message = refused(mico(&["run", file]).current_dir(folder.path()), 2);
        assert!(message.contains(&format!("{flag} {file}")), "{message}");
    }
    // Two words that are no files stay what they are.
    let message = refused(&mut mico(&["run", "one", "two"]), 2);
    assert!(message.contains("'two'"), "{message}");
}

#[test]
fn an_image_is_asked_for_unless_none_is_wanted() {
    let message = refused(&mut mico(&["run", "What is it?"]), 2);
    assert!(message.contains("--image FILE") && message.contains("--no-image"), "{message}");
    let (answer, notes) = said(&mut mico(&["run", "--no-image", "What shape is red?"]));
    assert!(!answer.trim().is_empty() && notes.contains("no image"), "{notes}");
    // Variables may have been set for other calls.
    let mut quiet = mico(&["run", "--no-image", "What shape is red?"]);
    said(quiet.envs([("MICO_BUDGET", "64"), ("MICO_IMAGE", "x.png"), ("MICO_METHOD", "fastv")]));
    for flag in [["--budget", "64"], ["--overlay", "kept.png"], ["--image", "x.png"]] {
        let message = refused(mico(&["run", "--no-image", "What?"]).args(flag), 2);
        assert!(message.contains("--no-image"), "{message}");
    }
}

#[test]
fn models_are_called_by_the_names_that_are_listed() {
    let listed = json(&mut mico(&["models"]));
    let listed = listed.as_array().unwrap();
    let (table, _) = said(&mut mico(&["models"]));
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for model in listed {
        let name = model["name"].as_str().unwrap();
        let Some(id) = model["hub_id"].as_str() else {
            assert_eq!(name, "tiny");
            continue;
        };
        assert!(table.contains(name) && table.contains(id), "{table}");
        let mut call = mico(&["trace", "--prompt", "What?", "--image", &example("shapes.png")]);
        let cache = tempfile::tempdir().unwrap();
        call.args(["--model", name]).env("HF_HUB_OFFLINE", "1").env("HF_HOME", cache.path());
        let output = call.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(&format!("{name} is {id}")), "{message}");
    }
}

#[test]
fn unknown_words_are_named_and_the_answer_still_given() {
    let image = example("shapes.png");
    let ask = |question: &str| said(&mut mico(&["run", "--image", &image, question]));
    let (answer, notes) = ask("Describe the cat on my sofa please");
    assert!(!answer.trim().is_empty());
    assert!(notes.contains("does not know 'Describe', 'cat', 'my', 'sofa', 'please'"), "{notes}");
    assert!(notes.contains("purple circle?"), "{notes}");
    assert!(!ask("What letter is on the purple circle?").1.contains("does not know"));
}

#[test]
fn foreign_formats_are_named_and_animations_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path: PathBuf = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    for (bytes, name, advice) in [
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1".as_slice(), "HEIC", "convert it to PNG or JPEG"),
        (b"%PDF-1.4\n", "PDF", "convert it to PNG or JPEG"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "MP4", "--video"),
        (b"<html></html>", "HTML", "accepted"),
    ] {
        let image = file("photo.jpg", bytes);
        let message = refused(&mut mico(&["run", "--image", &image, "What?"]), 1);
        assert!(message.contains(name) && message.contains(advice), "{message}");
        assert!(message.contains("photo.jpg"), "{message}");
    }
    let frame = image::RgbaImage::from_pixel(8, 8, image::Rgba([200, 0, 0, 255]));
    let mut gif = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut gif);
    encoder.encode_frame(image::Frame::new(frame.clone())).unwrap();
    encoder.encode_frame(image::Frame::new(frame)).unwrap();
    drop(encoder);
    let (_, notes) = said(&mut mico(&["run", "--image", &file("a.gif", &gif), "What shape?"]));
    assert!(notes.contains("a.gif is animated"), "{notes}");
}

#[test]
fn flags_without_effect_are_told() {
    let image = example("shapes.png");
    let question = ["run", "--image", &image, "What shape is red?"];
    for flags in [["--top-p", "0.5"], ["--seed", "7"]] {
        let (_, notes) = said(mico(&question).args(flags));
        assert!(notes.contains(&format!("{} has no effect", flags[0])), "{notes}");
        let (_, notes) = said(mico(&question).args(flags).args(["--temperature", "0.5"]));
        assert!(!notes.contains("no effect"), "{notes}");
    }
    let twice = ["--switch", "position_mode=compact", "--switch", "position-mode=original"];
    assert!(refused(mico(&question).args(twice), 2).contains("position_mode is given twice"));
    let other = ["--switch", "video_newline=none"];
    assert!(refused(mico(&question).args(other), 2).contains("video_newline"));
}

#[test]
fn evaluations_refuse_flags_without_effect() {
    for (call, flag) in [
        (&["eval", "--suite", "tiny", "--fps", "2"][..], "--fps"),
        (&["eval", "--suite", "tiny", "--max-frames", "2"], "--max-frames"),
        (&["eval", "--suite", "tiny", "--pictures", "2"], "--pictures"),
        (&["calibrate", "--fps", "2"], "--fps"),
        (&["bench", "--model", "tiny", "--no-prune", "--method", "fastv"], "--method"),
        (&["bench", "--model", "tiny", "--no-prune", "--pool", "3"], "--pool"),
        (&["score", "--raw", "x", "--profile", "llava"], "--profile"),
        (
            &["score", "--task", "pope", "--predictions", "p", "--data", "d", "--vanilla", "v"],
            "--vanilla",
        ),
    ] {
        let message = refused(&mut mico(call), 2);
        assert!(message.contains(flag), "{message}");
    }
    // The variables may have been set for other calls.
    let mut eval = mico(&["eval", "--suite", "tiny", "--methods", "random:nosuch=1"]);
    let message = refused(eval.envs([("MICO_FPS", "2"), ("MICO_MAX_FRAMES", "3")]), 2);
    assert!(message.contains("nosuch"), "{message}");
}

#[test]
fn a_model_that_is_not_there_is_the_same_mistake_everywhere() {
    let image = example("shapes.png");
    for call in [
        &["run", "--image", &image, "What?"][..],
        &["trace", "--image", &image, "--prompt", "What?"],
        &["bench"],
        &["eval", "--suite", "tiny"],
        &["calibrate"],
        &["diagnose", "--suite", "tiny"],
    ] {
        let message = refused(mico(call).args(["--model", "no-such-folder"]), 2);
        assert!(message.contains("no-such-folder"), "{message}");
    }
}

#[test]
fn threads_beyond_reason_are_refused() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let image = example("shapes.png");
    let call = ["run", "--image", &image, "What shape is red?", "--threads"];
    let message = refused(mico(&call).arg((4 * cores + 1).to_string()), 2);
    assert!(message.contains("--threads"), "{message}");
    let (_, notes) = said(mico(&call).arg((cores + 1).to_string()));
    assert!(notes.contains("note: --threads"), "{notes}");
    let (_, notes) = said(mico(&call).arg("1"));
    assert!(!notes.contains("--threads"), "{notes}");
}

#[test]
fn a_trace_names_only_the_refinement_there_was() {
    let image = example("shapes.png");
    let trace = ["trace", "--image", &image, "--prompt", "What shape is red?", "--budget", "300"];
    let of = |method: &str| said(mico(&trace).args(["--method", method])).0;
    assert!(of("visionzip").contains("no refinement"));
    assert!(of("mico").contains("refinement after block 2"));
    assert!(of("pyramiddrop").contains("refinement after blocks "));
}

#[test]
fn help_names_every_switch_and_fails_where_it_cannot_be_written() {
    let (help, _) = said(&mut mico(&["run", "--help"]));
    for switch in mico_engine::SWITCHES {
        assert!(help.contains(switch.name), "{}", switch.name);
    }
    #[cfg(target_os = "linux")]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut help = std::process::Command::new(env!("CARGO_BIN_EXE_mico"));
        let status = help.arg("--help").stdout(full).stderr(std::process::Stdio::null());
        assert_eq!(status.status().unwrap().code(), Some(1));
    }
}

#[test]
fn seeds_have_one_type() {
    let large = "5000000000";
    for call in [&["eval", "--suite", "tiny"][..], &["diagnose", "--suite", "tiny"], &["bench"]] {
        // What is wrong is the model, not the seed.
        let mut call = mico(call);
        let message = refused(call.args(["--model", "no-such-folder", "--seed", large]), 2);
        assert!(message.contains("no-such-folder"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_how_to_go_on() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("some run").display().to_string();
    let mut eval = Command::new(env!("CARGO_BIN_EXE_mico"));
    // More than can be answered before the signal comes.
    eval.args(["eval", "--suite", "tiny", "--methods", "mico", "--budgets", "64", "--limit", "40"]);
    eval.args(["--out", &out]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = eval.spawn().unwrap();
    // The first line of progress: work is under way.
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    errors.read_line(&mut text).unwrap();
    assert!(text.starts_with("answers: "), "{text}");
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signal.success());
    errors.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("stopped after ") && last.contains(" answers; go on with: "),
        "{text}"
    );
    assert!(last.ends_with("--out '{out}' --resume".replace("{out}", &out).as_str()), "{text}");
}
