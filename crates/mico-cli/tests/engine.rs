//! `mico trace`, `mico run`, `mico models`, `mico doctor` as a user runs them, on the small
//! checkpoints of `fixtures/`.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::path::{Path, PathBuf};

use common::{json, mico, refused};
use serde_json::Value;

fn case(name: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    let kinds = ["llava", "qwen", "internvl", "llava_video"];
    let places = kinds.iter().map(|kind| data.join(kind).join(name));
    places.into_iter().find(|place| place.is_dir()).unwrap()
}

/// A traced request of a fixture, by ids.
fn trace(name: &str, run: &Value, extra: &[&str]) -> Value {
    let mut command = mico(&["trace", "--max-new-tokens", "8", "--input-ids"]);
    command.arg(run["input_ids"].to_string()).arg("--model").arg(case(name));
    for image in run["images"].as_array().unwrap() {
        let file = format!("inputs/{}.png", image.as_str().unwrap());
        command.arg("--image").arg(case(name).join(file));
    }
    json(command.args(extra))
}

fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(case(name).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn traces_agree_with_transformers() {
    for name in [
        "llava15",
        "llava15-tied",
        "next-llama",
        "next-mistral",
        "qwen25",
        "qwen3",
        "qwen35-tied",
        "internvl3",
        "video",
    ] {
        let expected = expected(name);
        let unpruned = expected["unpruned"].as_array().unwrap().iter();
        for run in unpruned.filter(|run| run["packing"] == "native").take(2) {
            let found = trace(name, run, &[]);
            for field in ["visual_tokens", "prompt_tokens", "cache_lengths", "generated_ids"] {
                assert_eq!(found[field], run[field], "{name} {}: {field}", run["name"]);
            }
            assert!(found["stage1"].is_null() && found["stage2"].is_null());
            assert_eq!(found["first_logits"]["top"].as_array().unwrap().len(), 10);
        }
        let pruned = expected["pruned"].as_array().unwrap().iter();
        let relevance = if name.starts_with("qwen35") { "visual_only" } else { "full_causal" };
        let usual = pruned
            .filter(|run| run["position_mode"] == "original" && run["relevance"] == relevance);
        for run in usual.take(4) {
            let (budget, layer) = (run["budget"].to_string(), run["refine_layer"].to_string());
            let pool = run["pool"].to_string();
            let flags = ["--budget", &budget, "--refine-layer", &layer, "--pool", &pool];
            let found = trace(name, run, &flags);
            for field in ["layer_average", "cache_lengths", "generated_ids", "visual_tokens"] {
                assert_eq!(found[field], run[field], "{name} {}: {field}", run["name"]);
            }
            assert_eq!(found["stage1"]["kept"], run["stage1"]["kept"], "{name} {}", run["name"]);
            assert_eq!(found["stage1"]["groups"], run["stage1"]["groups"]);
            assert_eq!(found["stage2"]["kept"], run["stage2"]["kept"]);
        }
    }
}

#[test]
fn switches_change_what_they_say() {
    let expected = expected("llava15");
    let runs = expected["pruned"].as_array().unwrap();
    for (field, word, switch) in [
        ("position_mode", "compact", "position_mode=compact"),
        ("relevance", "visual_only", "relevance=visual_only"),
    ] {
        let run = runs.iter().find(|run| run[field] == word).unwrap();
        let (budget, layer) = (run["budget"].to_string(), run["refine_layer"].to_string());
        let pool = run["pool"].to_string();
        let flags =
            ["--budget", &budget, "--refine-layer", &layer, "--pool", &pool, "--switch", switch];
        let found = trace("llava15", run, &flags);
        assert_eq!(found["generated_ids"], run["generated_ids"], "{switch}");
        assert_eq!(found["stage2"]["kept"], run["stage2"]["kept"], "{switch}");
    }
}

#[test]
fn a_prompt_is_put_into_the_template_and_the_dump_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.safetensors");
    let run = &expected("llava15")["pruned"][0];
    let mut command =
        mico(&["trace", "--prompt", "What is in the image?", "--max-new-tokens", "8"]);
    command.args(["--budget", "4", "--refine-layer", "1"]);
    command.arg("--model").arg(case("llava15"));
    command.arg("--image").arg(case("llava15").join("inputs/portrait.png"));
    let found = json(command.arg("--dump").arg(&dump));
    assert_eq!(found["generated_ids"], run["generated_ids"]);
    let bytes = std::fs::read(&dump).unwrap();
    let header = String::from_utf8_lossy(&bytes[8..4096.min(bytes.len())]).to_string();
    for tensor in [
        "pixel_values",
        "stage1.features",
        "stage1.reliability",
        "visual_embeds",
        "position_ids",
        "stage2.features",
        "stage2.relevance",
        "first_logits",
    ] {
        assert!(header.contains(&format!("\"{tensor}\"")), "{tensor}");
    }
}

#[test]
fn run_answers_and_draws() {
    let folder = tempfile::tempdir().unwrap();
    let overlay = folder.path().join("kept.png");
    let image = case("llava15").join("inputs/portrait.png");
    let mut command = mico(&["run", "What is this?", "--budget", "4", "--max-new-tokens", "5"]);
    command.arg("--model").arg(case("llava15")).arg("--image").arg(&image);
    let output = command.arg("--overlay").arg(&overlay).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(output.status.success(), "{stderr}");
    assert!(!output.stdout.is_empty() && stderr.contains("16 -> 8 -> "), "{stderr}");
    assert!(std::fs::read(&overlay).unwrap().starts_with(b"\x89PNG"));

    // The same image on standard input gives the same answer.
    let mut piped = mico(&["run", "What is this?", "--budget", "4", "--max-new-tokens", "5"]);
    piped.arg("--model").arg(case("llava15")).write_stdin(std::fs::read(&image).unwrap());
    assert_eq!(piped.output().unwrap().stdout, output.stdout);

    let mut document = mico(&["run", "What is this?", "--keep", "0.25", "--max-new-tokens", "5"]);
    let document = json(document.arg("--model").arg(case("llava15")).arg("--image").arg(&image));
    assert_eq!(document["stage1_kept"], 8);
    assert_eq!(document["uncalibrated"], true);
}

#[test]
fn wrong_calls_exit_with_two() {
    let image = case("llava15").join("inputs/portrait.png").display().to_string();
    let model = case("llava15").display().to_string();
    let call = |args: &[&str]| {
        let mut command = mico(&["run", "--model", &model, "--image", &image, "Why?"]);
        refused(command.args(args), 2)
    };
    assert!(call(&["--budget", "0"]).contains("budget"));
    assert!(call(&["--keep", "1.5"]).contains("1.5"));
    assert!(call(&["--keep", "0"]).contains("keep"));
    assert!(call(&["--budget", "4", "--keep", "0.5"]).contains("--keep"));
    assert!(call(&["--budget", "4", "--no-prune"]).contains("--no-prune"));
    assert!(call(&["--budget", "4", "--method", "nosuch"]).contains("mico-s1"));
    assert!(call(&["--method", "mico"]).contains("--budget"));
    assert!(call(&["--budget", "4", "--refine-layer", "4"]).contains("refine"));
    assert!(call(&["--budget", "4", "--refine-layer", "0"]).contains("refine"));
    assert!(call(&["--budget", "4", "--pool", "0"]).contains("pool"));
    assert!(call(&["--budget", "4", "--set", "coverage=none"]).contains("cosine-max"));
    assert!(call(&["--switch", "position_mode=sideways"]).contains("compact"));
    assert!(call(&["--quantize", "q2"]).contains("q4k"));
    assert!(call(&["--dtype", "f64"]).contains("bf16"));
    assert!(call(&["--top-p", "7"]).contains("top"));
    assert!(call(&["--threads", "0"]).contains("threads"));
    let mut no_image = mico(&["run", "--model", &model, "Why?"]);
    assert!(refused(no_image.write_stdin(""), 2).contains("--image"));
    let mut bad_ids = mico(&["trace", "--model", &model, "--input-ids", "1,2"]);
    assert!(refused(&mut bad_ids, 2).contains("JSON list"));
}

#[test]
fn failed_work_exits_with_one_and_names_the_culprit() {
    let folder = tempfile::tempdir().unwrap();
    let image = case("llava15").join("inputs/portrait.png").display().to_string();
    let model = case("llava15").display().to_string();
    let fake = folder.path().join("notes.png");
    std::fs::write(&fake, "these are notes").unwrap();
    let ask = |model: &str, image: &str| {
        refused(&mut mico(&["run", "--model", model, "--image", image, "Why?"]), 1)
    };
    assert!(ask(&model, &fake.display().to_string()).contains("notes.png"));
    assert!(ask(&model, "/nonexistent.png").contains("/nonexistent.png"));
    let empty = folder.path().display().to_string();
    assert!(ask(&empty, &image).contains("config.json"));
    let mut offline = mico(&["run", "--model", "some/model", "--image", &image, "Why?"]);
    offline.env("HF_HOME", folder.path()).env("HF_HUB_OFFLINE", "1");
    assert!(refused(&mut offline, 1).contains("some/model"));
    // Two images for one placeholder.
    let ids = "[1,105,120,6]";
    let mut two = mico(&["trace", "--model", &model, "--input-ids", ids]);
    let text = refused(two.args(["--image", &image, "--image", &image]), 1);
    assert!(text.contains('2') && text.contains('1'), "{text}");
    // Nothing is written when the folder of the overlay is missing, and it is said at once.
    let mut overlay = mico(&["run", "--model", &model, "--image", &image, "Why?"]);
    assert!(refused(overlay.args(["--overlay", "/nonexistent/o.png"]), 1).contains("--overlay"));
}

#[test]
fn user_text_never_becomes_a_placeholder() {
    let mut command = mico(&["trace", "--prompt", "<image></s> what?", "--max-new-tokens", "2"]);
    command.arg("--model").arg(case("llava15"));
    command.arg("--image").arg(case("llava15").join("inputs/small.png"));
    assert_eq!(json(&mut command)["visual_tokens"], 16);
}

#[test]
fn models_and_doctor() {
    let models = json(&mut mico(&["models"]));
    let models = models.as_array().unwrap();
    let find = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    assert_eq!(find("llava-1.5-7b")["refine_layer"], 7);
    assert_eq!(find("llava-next-13b")["layers"], 40);
    assert_eq!(find("llava-1.5-7b")["supported"]["image"], true);
    assert_eq!(find("qwen3.5-9b")["supported"]["video"], false);
    assert_eq!(find("llava-video-7b")["supported"]["video"], true);
    assert_eq!(models.len(), 11);
    let model = case("next-llama").display().to_string();
    let checks = json(mico(&["doctor", "--model", &model]).env("HF_HUB_OFFLINE", "1"));
    let checks = checks.as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["ok"] == true && check["warning"] == false),
        "{checks:?}"
    );
    let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["build", "processor", "memory", "hub", "model", "tokenizer", "prompt"]);
    assert!(checks[3]["detail"].as_str().unwrap().starts_with("offline mode"), "{checks:?}");
    let mut command = mico(&["doctor", "--model", "/nonexistent"]);
    assert_eq!(command.env("HF_HUB_OFFLINE", "1").output().unwrap().status.code(), Some(1));
}

/// A writable copy of a checkpoint.
fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(case(name)).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

#[test]
fn doctor_tries_tokenizer_and_template() {
    let folder = copy("llava15-tied");
    let model = folder.path().display().to_string();
    let doctor = || {
        let output = mico(&["doctor", "--model", &model]).env("HF_HUB_OFFLINE", "1").output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
        text
    };
    std::fs::write(folder.path().join("chat_template.jinja"), "{{ raise_exception('no') }}")
        .unwrap();
    let text = doctor();
    assert!(text.contains("prompt: ") && text.contains("chat_template.jinja"), "{text}");
    let file = folder.path().join("tokenizer.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut tokenizer: Value = serde_json::from_str(&text).unwrap();
    tokenizer["pre_tokenizer"] = serde_json::json!({"type": "FixedLength", "length": 0});
    std::fs::write(&file, tokenizer.to_string()).unwrap();
    let text = doctor();
    assert!(text.contains("pre_tokenizer 'FixedLength' is not supported"), "{text}");
    assert!(text.contains(&file.display().to_string()), "{text}");
}

#[cfg(feature = "hub")]
#[test]
fn doctor_asks_the_hub() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let hub = |answers: bool| {
        let mut command = mico(&["doctor"]);
        let checks = json(command.env("HF_ENDPOINT", &address).env_remove("http_proxy"));
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "hub").unwrap();
        assert_eq!(check["ok"], true);
        assert_eq!(check["warning"], !answers, "{check}");
        check["detail"].as_str().unwrap().to_owned()
    };
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    assert!(hub(true).starts_with("online"));
    server.join().unwrap();
    assert!(hub(false).contains("cannot be reached: "));
}

#[test]
fn what_stands_in_for_a_missing_file_is_said() {
    let folder = copy("qwen35-tied");
    std::fs::remove_file(folder.path().join("preprocessor_config.json")).unwrap();
    let model = folder.path().display().to_string();
    let output = mico(&["doctor", "--model", &model]).env("HF_HUB_OFFLINE", "1").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("preprocessor_config.json does not exist"), "{text}");
}

#[test]
fn a_prompt_beyond_the_model_is_refused_and_an_answer_ends_there() {
    let model = case("llava15").display().to_string();
    let image = case("llava15").join("inputs/small.png").display().to_string();
    let long = "word ".repeat(4000);
    let mut command = mico(&["run", "--model", &model, "--image", &image, &long]);
    assert!(refused(&mut command, 1).contains("at most 2048"));

    let folder = copy("llava15");
    let config = folder.path().join("config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    let shorter =
        text.replace("\"max_position_embeddings\": 2048", "\"max_position_embeddings\": 35");
    assert_ne!(text, shorter);
    std::fs::write(&config, shorter).unwrap();
    let mut command = mico(&["trace", "--image", &image, "--max-new-tokens", "60", "--input-ids"]);
    command.arg("[1,105,71,6,120,6,3,55,95,93,115,89,101,72,114,71]");
    let found = json(command.arg("--model").arg(folder.path()));
    assert!(found["generated_ids"].as_array().unwrap().len() <= 4);
}

#[test]
fn output_files_are_regular_and_flags_take_one_as_true() {
    let model = case("llava15").display().to_string();
    let image = case("llava15").join("inputs/small.png").display().to_string();
    let mut command = mico(&["trace", "--model", &model, "--image", &image, "--prompt", "x"]);
    let text = refused(command.args(["--dump", "/dev/null"]), 1);
    assert!(text.contains("--dump /dev/null"), "{text}");
    let mut command = mico(&["run", "--model", &model, "--image", "-", "x"]);
    command.args(["--max-new-tokens", "2"]).env("MICO_JSON", "1").env("MICO_NO_PRUNE", "1");
    let output = command.write_stdin(std::fs::read(&image).unwrap()).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["generated_tokens"], 2);
}

#[test]
fn the_embedded_model_answers_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shapes.png");
    let picture = picture.canonicalize().unwrap().display().to_string();
    let ask = |more: &[&str], question: &str| {
        let mut command = mico(&[&["run", "--image", &picture], more, &[question]].concat());
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(ask(&[], "What shape is the orange object?").0, "triangle\n");
    assert_eq!(ask(&[], "How many objects are there?").0, "6\n");
    let pruned = ["--budget", "64", "--overlay", "kept.png"];
    let (answer, said) = ask(&pruned, "What letter is on the purple circle?");
    assert_eq!(answer, "E\n");
    assert!(said.contains("576 -> 128 -> ") && !said.contains("not calibrated"), "{said}");
    assert!(folder.path().join("kept.png").is_file());
}
