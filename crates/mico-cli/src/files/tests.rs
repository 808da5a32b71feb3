use std::fs;

use super::*;
use crate::failure::{FAILED, MISUSED};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn conflict<T: std::fmt::Debug>(result: Result<T, Failure>, named: &[&str]) {
    let failure = result.unwrap_err();
    let text = failure.to_string();
    assert_eq!(failure.status(), MISUSED, "{text}");
    assert!(named.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn an_output_is_no_input_however_it_is_spelled() {
    let root = folder();
    let photo = root.path().join("a.png");
    fs::write(&photo, "photo").unwrap();
    fs::create_dir(root.path().join("x")).unwrap();
    let mut spellings = vec![
        photo.clone(),
        root.path().join("./a.png"),
        root.path().join("x/../a.png"),
        root.path().join("x/.././x/../a.png"),
    ];
    #[cfg(unix)]
    {
        let (soft, hard) = (root.path().join("soft.png"), root.path().join("hard.png"));
        std::os::unix::fs::symlink("a.png", &soft).unwrap();
        fs::hard_link(&photo, &hard).unwrap();
        let folder = root.path().join("elsewhere");
        std::os::unix::fs::symlink(root.path(), &folder).unwrap();
        spellings.extend([soft, hard, folder.join("a.png")]);
    }
    for input in &spellings {
        for output in &spellings {
            let mut outputs = Outputs::new();
            outputs.reads("--image", input).unwrap();
            conflict(outputs.file("--overlay", output), &["--overlay", "--image"]);
            // The order does not matter.
            let mut outputs = Outputs::new();
            outputs.file("--overlay", output).unwrap();
            conflict(outputs.reads("--image", input), &["--overlay", "--image"]);
        }
    }
    let mut outputs = Outputs::new();
    outputs.reads("--image", &photo).unwrap();
    assert!(outputs.file("--overlay", &root.path().join("b.png")).is_ok());
    assert_eq!(fs::read(&photo).unwrap(), b"photo");
}

#[test]
fn nothing_is_written_into_a_folder_that_is_read() {
    let root = folder();
    let model = root.path().join("model");
    fs::create_dir_all(model.join("sub")).unwrap();
    fs::write(model.join("config.json"), "{}").unwrap();
    let mut outputs = Outputs::new();
    outputs.reads_folder("--model", &model).unwrap();
    for inside in ["config.json", "new.png", "sub/new.png"] {
        conflict(outputs.file("--overlay", &model.join(inside)), &["--overlay", "--model"]);
    }
    conflict(outputs.folder("--out", &model, &["a.json"]), &["--out", "--model"]);
    conflict(outputs.folder("--out", &model.join("new"), &["a.json"]), &["--out", "--model"]);
    assert!(!model.join("new").exists());
    assert!(outputs.file("--overlay", &root.path().join("model.png")).is_ok());
    #[cfg(unix)]
    {
        // What a file of the folder links to is one of its files.
        let blob = root.path().join("blob");
        fs::write(&blob, "weights").unwrap();
        std::os::unix::fs::symlink(&blob, model.join("model.safetensors")).unwrap();
        let mut outputs = Outputs::new();
        outputs.reads_folder("--model", &model).unwrap();
        conflict(outputs.file("--dump", &blob), &["--dump", "--model"]);
        // A link that leads inside, to nothing yet.
        let link = root.path().join("link");
        std::os::unix::fs::symlink(model.join("nothing"), &link).unwrap();
        conflict(outputs.file("--dump", &link), &["--dump", "--model"]);
    }
}

#[test]
fn a_folder_that_is_not_there_yet_is_kept_apart_too() {
    let root = folder();
    let cache = root.path().join("hub/models--a--b");
    let mut outputs = Outputs::new();
    outputs.reads_folder("--model", &cache).unwrap();
    let inside = cache.join("snapshots/x");
    conflict(outputs.folder("--out", &inside, &["run.json"]), &["--out", "--model"]);
    assert!(!root.path().join("hub").exists());
}

#[test]
fn two_outputs_are_two_files() {
    let root = folder();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("d")).unwrap();
    let mut outputs = Outputs::new();
    outputs.file("--out", &at("b.json")).unwrap();
    conflict(outputs.file("--markdown", &at("d/../b.json")), &["--out", "--markdown"]);
    conflict(outputs.folder("--plots", root.path(), &["a", "b.json"]), &["--out", "--plots"]);
    #[cfg(feature = "eval")]
    {
        outputs.beside("--out", &at("b.jsonl"), "the journal").unwrap();
        conflict(outputs.file("--plot", &at("b.jsonl")), &["journal", "--out", "--plot"]);
    }
    assert!(outputs.file("--plot", &at("b.svg")).is_ok());
}

#[cfg(feature = "eval")]
#[test]
fn results_may_stand_beside_data_and_replace_none() {
    let root = folder();
    let (data, images) = (root.path().join("data"), root.path().join("data/images"));
    fs::create_dir_all(&images).unwrap();
    fs::write(images.join("b.png"), "picture").unwrap();
    let names = ["a.json", "b.png"];
    let plan = |out: &Path| {
        let mut outputs = Outputs::new();
        outputs.reads_data("--data", &data).unwrap();
        outputs.folder("--out", out, &names)
    };
    conflict(plan(&images), &["--out", "--data", "b.png"]);
    let out = data.join("out");
    let folder = plan(&out).unwrap();
    names.iter().for_each(|name| folder.write(name, "result").unwrap());
    // Earlier results may be replaced.
    plan(&out).unwrap().write("b.png", "newer").unwrap();
    assert_eq!(fs::read(images.join("b.png")).unwrap(), b"picture");
}

#[test]
fn links_are_followed_and_devices_refused() {
    let root = folder();
    let real = root.path().join("real");
    fs::write(&real, "old").unwrap();
    let failed = |path: &Path| {
        let failure = Outputs::new().file("--out", path).unwrap_err();
        assert!(failure.status() == FAILED && failure.to_string().contains("--out"), "{failure}");
    };
    #[cfg(unix)]
    {
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        Outputs::new().file("--out", &link).unwrap().write("new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        failed(Path::new("/dev/null"));
    }
    failed(root.path());
    failed(&root.path().join("no/such"));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), if cfg!(unix) { 2 } else { 1 });
}
