//! Videos as a user gives them: files, folders, frames; and what is refused.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, mico, refused};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data").join(path)
}

fn model() -> PathBuf {
    data("llava_video/video")
}

fn run(args: &[&str]) -> assert_cmd::Command {
    let mut command = mico(&["run", "--max-new-tokens", "3"]);
    command.arg("--model").arg(model()).args(args).arg("What happens?");
    command
}

fn clip(name: &str) -> String {
    data("video").join(name).display().to_string()
}

#[test]
fn every_kind_of_video_answers_and_draws_a_contact_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let stills = folder.path().join("stills");
    std::fs::create_dir(&stills).unwrap();
    for (number, frame) in ["f0", "f1", "f2"].iter().enumerate() {
        let from = model().join("inputs").join(format!("{frame}.png"));
        std::fs::copy(from, stills.join(format!("frame{number}.png"))).unwrap();
    }
    let stills = stills.display().to_string();
    for (video, frames) in
        [(clip("high.mp4"), 4), (clip("moving.webp"), 0), (clip("disposal.gif"), 0), (stills, 3)]
    {
        let sheet = folder.path().join("sheet.png");
        let found = json(run(&["--video", &video, "--budget", "1"]).arg("--overlay").arg(&sheet));
        let tokens = found["visual_tokens"].as_u64().unwrap();
        assert!(tokens > 0 && tokens.is_multiple_of(4), "{video}: {found}");
        if frames > 0 {
            assert_eq!(tokens, 4 * frames, "{video}");
        }
        assert_eq!(found["stage1_kept"], 2 * tokens / 4, "{video}");
        assert!((found["layer_average"].as_f64().unwrap() - 1.0).abs() < 0.3, "{found}");
        assert_eq!(&std::fs::read(&sheet).unwrap()[1..4], b"PNG");
        std::fs::remove_file(&sheet).unwrap();
    }
}

#[test]
fn fewer_frames_on_request() {
    let all = json(&mut run(&["--video", &clip("high.mp4"), "--fps", "10"]));
    let two = json(&mut run(&["--video", &clip("high.mp4"), "--fps", "10", "--max-frames", "2"]));
    // Unpruned frames have a newline after each of their two rows.
    assert_eq!(two["visual_tokens"], 2 * 6);
    assert!(all["visual_tokens"].as_u64().unwrap() > 12);
    let by_environment = json(
        run(&[])
            .env("MICO_VIDEO", clip("high.mp4"))
            .env("MICO_FPS", "10")
            .env("MICO_MAX_FRAMES", "2"),
    );
    assert_eq!(by_environment["visual_tokens"], 12);
}

#[test]
fn several_images_are_one_video_to_a_model_that_takes_videos() {
    let image = |name: &str| model().join("inputs").join(name).display().to_string();
    let (first, second) = (image("f0.png"), image("f1.png"));
    let found = json(&mut run(&["--image", &first, "--image", &second, "--budget", "1"]));
    assert_eq!((&found["visual_tokens"], &found["stage1_kept"]), (&8.into(), &4.into()));
}

#[test]
fn what_cannot_be_is_refused() {
    let high = clip("high.mp4");
    let says = |args: &[&str], status, words: &[&str]| {
        let text = refused(&mut run(args), status);
        for word in words {
            assert!(text.contains(word), "{text}");
        }
    };
    says(&["--video", "nowhere.mp4"], 1, &["nowhere.mp4"]);
    says(&["--video", &clip("fragmented.mp4")], 1, &["fragmented"]);
    says(&["--video", &clip("interlaced.mp4")], 1, &["interlaced"]);
    says(&["--video", &clip("expected.json")], 1, &["expected.json"]);
    says(&["--video", &high, "--image", "a.png"], 2, &["--video", "--image"]);
    says(&["--video", &high, "--fps", "0"], 2, &["--fps is 0"]);
    says(&["--video", &high, "--max-frames", "0"], 2, &["--max-frames"]);
    let still = model().join("inputs/f0.png").display().to_string();
    says(&["--image", &still, "--fps", "2"], 2, &["--video"]);
    let folder = model().join("inputs").display().to_string();
    says(&["--video", &folder, "--fps", "2"], 2, &["--fps 2", "no clock"]);
    let mut command = mico(&["run", "--video", &high, "What?"]);
    let text = refused(&mut command, 2);
    assert!(text.contains("--video") && text.contains("llava takes images"), "{text}");
}
