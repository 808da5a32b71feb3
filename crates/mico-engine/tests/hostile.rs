//! Bad requests and bad folders: one line each, nothing panics.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::path::Path;

use mico_engine::families::LLAVA;
use mico_engine::pruner::Pruning;
use mico_engine::{
    Engine, EngineOptions, Error, GenerationOptions, ImageInput, ImageLimits, Prompt, PromptStyle,
    Request, SessionOptions,
};
use mico_model::config::LlavaVision;
use mico_model::{Model, Preset, SyntheticOptions};
use mico_select::schedule::Budget;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{RgbImage, Size};
use support::{Case, copy, folder, pooled, refined, stage2};

fn open(folder: &Path) -> mico_engine::Result<Engine> {
    Engine::open(folder, &EngineOptions::default()).map(|(engine, _)| engine)
}

fn line(error: &Error) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.is_empty(), "{text}");
    text
}

#[test]
fn counts_that_do_not_belong_together() {
    let case = Case::load("llava15");
    let image = || case.image("portrait");
    for (images, ids) in
        [(vec![image()], vec![1, 5]), (vec![], vec![1, 120]), (vec![image()], vec![120, 5, 120])]
    {
        let request = Request::new(images, Prompt::InputIds(ids));
        let error = case.engine.run(&request, &mut ()).unwrap_err();
        assert!(matches!(error, Error::Placeholders { .. }), "{error}");
        line(&error);
    }
    let request = Request::new(vec![image(), image()], Prompt::question("What?", 1));
    assert!(case.engine.run(&request, &mut ()).is_err());
    let request = Request::new(vec![], Prompt::InputIds(vec![1, 4_000]));
    assert!(line(&case.engine.run(&request, &mut ()).unwrap_err()).contains("4000"));
    assert!(case.engine.run(&Request::new(vec![], Prompt::InputIds(vec![])), &mut ()).is_err());
    assert!(case.engine.run(&Request::new(vec![], Prompt::Messages(vec![])), &mut ()).is_err());
}

#[test]
fn budgets_and_blocks_out_of_range() {
    let case = Case::load("llava15");
    let request = case.request(&case.runs("unpruned")[0]);
    let try_with = |pruning: Pruning| {
        let request = request.clone().with(pruning);
        line(&case.engine.run(&request, &mut ()).unwrap_err())
    };
    assert!(try_with(Pruning::mico(Budget::Tokens(0))).contains("budget is 0"));
    for share in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(try_with(Pruning::mico(Budget::Share(share))).contains("keep is"));
    }
    for refine_layer in [0, 4, 99] {
        let pruning = refined(4, refine_layer);
        let message = try_with(pruning);
        assert!(message.contains("refine-layer") && message.contains("1 to 3"), "{message}");
    }
    assert!(try_with(pooled(4, 0)).contains("pool is 0"));
}

#[test]
fn generation_options_out_of_range() {
    let case = Case::load("llava15");
    let request = case.request(&case.runs("unpruned")[0]);
    let plain = GenerationOptions::default();
    for generation in [
        GenerationOptions { temperature: -1.0, ..plain.clone() },
        GenerationOptions { temperature: f32::NAN, ..plain.clone() },
        GenerationOptions { top_p: 0.0, ..plain.clone() },
        GenerationOptions { top_p: 1.5, ..plain.clone() },
        GenerationOptions { stop: vec![String::new()], ..plain.clone() },
    ] {
        let mut request = request.clone();
        request.turn.generation = generation;
        line(&case.engine.run(&request, &mut ()).unwrap_err());
    }
}

#[test]
fn a_folder_without_tokenizer_answers_ids_alone() {
    let copy = copy("llava15");
    std::fs::remove_file(copy.path().join("tokenizer.json")).unwrap();
    let engine = open(copy.path()).unwrap();
    let case = Case::load("llava15");
    let request = case.request(&case.runs("unpruned")[0]);
    let outcome = engine.run(&request, &mut ()).unwrap();
    assert_eq!(outcome.answer.ids, case.run(&request).answer.ids);
    assert_eq!(outcome.answer.text, "");
    let text = Request::new(vec![case.image("small")], Prompt::question("What?", 1));
    let error = line(&engine.run(&text, &mut ()).unwrap_err());
    assert!(error.contains("tokenizer.json"), "{error}");
}

#[test]
fn broken_side_files_are_named() {
    for (file, content) in [
        ("tokenizer.json", "{"),
        ("tokenizer.json", "{\"model\": 3}"),
        ("tokenizer_config.json", "nonsense"),
        ("chat_template.jinja", "{% for message in messages %}"),
        ("chat_template.jinja", "{{ message[ }}"),
        ("preprocessor_config.json", "[]"),
        ("preprocessor_config.json", "{\"crop_size\": 14, \"size\": 14}"),
        ("preprocessor_config.json", "{\"size\": {\"shortest_edge\": 56, \"longest_edge\": 99}}"),
    ] {
        let copy = copy("llava15");
        std::fs::write(copy.path().join(file), content).unwrap();
        let error = line(&open(copy.path()).unwrap_err());
        assert!(
            error.contains(file) || error.starts_with("image preprocessing: "),
            "{file}: {error}"
        );
    }
}

#[test]
fn templates_that_fail_when_rendered_are_named() {
    for (template, word) in [
        ("{{ raise_exception('no pictures here') }}", "no pictures here"),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
            "chat_template.jinja",
        ),
        ("{{ messages[0]['content'][1]['text'][:2] }} type", "in two"),
        ("nothing of it, whatever the type", "leaves out the text of message 1 (user)"),
        ("{{ 1 + 'type' }}", "(line 1)"),
        ("{{ '%9999999999d'|format(1) }}", "value_bytes"),
        ("{% set x='a'*1000000 %}{% for i in range(9999) %}{{ x }}{% endfor %}", "limit"),
        (
            "{% set ns=namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x }}",
            "limit",
        ),
    ] {
        let copy = copy("llava15");
        std::fs::write(copy.path().join("chat_template.jinja"), template).unwrap();
        let engine = open(copy.path()).unwrap();
        let case = Case::load("llava15");
        let request = Request::new(vec![case.image("small")], Prompt::question("What is it?", 1));
        let error = line(&engine.run(&request, &mut ()).unwrap_err());
        assert!(error.contains(word) && error.contains("chat_template.jinja"), "{error}");
    }
}

#[test]
fn templates_are_found_where_checkpoints_keep_them() {
    let case = Case::load("llava15");
    let source = std::fs::read_to_string(folder("llava15").join("chat_template.jinja")).unwrap();
    let config = std::fs::read_to_string(folder("llava15").join("tokenizer_config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let with = |template: serde_json::Value| {
        let mut config = config.clone();
        config["chat_template"] = template;
        config.to_string()
    };
    let named = serde_json::json!([{"name": "tool", "template": "type"}, {"name": "default", "template": source}]);
    let old = "{% for m in messages %}{{ m['role'] | upper + ': ' + m['content'].strip() + ' ' }}{% endfor %}ASSISTANT:";
    for (file, content) in [
        ("chat_template.json", serde_json::json!({"chat_template": source}).to_string()),
        ("tokenizer_config.json", with(source.clone().into())),
        ("tokenizer_config.json", with(named)),
        ("tokenizer_config.json", with(old.into())),
    ] {
        let copy = copy("llava15");
        std::fs::remove_file(copy.path().join("chat_template.jinja")).unwrap();
        std::fs::write(copy.path().join(file), content).unwrap();
        let engine = open(copy.path()).unwrap();
        assert_eq!(engine.describe().prompt_style, "template");
        let chat = support::messages(&case.expected["conversations"]["hostile"]["messages"]);
        let ids = engine.encode_messages(&chat, None).unwrap();
        assert_eq!(ids, support::u32s(&case.expected["conversations"]["hostile"]["input_ids"]));
    }
    let copy = copy("next-mistral");
    std::fs::remove_file(copy.path().join("chat_template.jinja")).unwrap();
    let engine = open(copy.path()).unwrap();
    assert_eq!(engine.describe().prompt_style, "mistral");
    let chat = [mico_engine::Message::user("What?", 0)];
    let error = engine.encode_messages(&chat, Some(PromptStyle::Template)).unwrap_err();
    assert!(matches!(error, Error::Template { .. }), "{error}");
}

#[test]
fn a_template_that_the_checkpoint_lacks_is_refused_before_anything_is_asked() {
    let mut template = SessionOptions::default();
    template.style = Some(PromptStyle::Template);
    let copy = copy("next-mistral");
    assert!(open(copy.path()).unwrap().check(&template).is_ok());
    for (file, reason) in [("chat_template.jinja", "has none"), ("tokenizer.json", "a tokenizer")] {
        std::fs::remove_file(copy.path().join(file)).unwrap();
        let engine = open(copy.path()).unwrap();
        let error = engine.check(&template).unwrap_err();
        assert!(matches!(error, Error::Template { .. }), "{error}");
        let said = line(&error);
        assert!(said.contains(reason) && said.contains("mistral"), "{said}");
        // The family's own prompt, by name or by default, needs no template.
        let mut format = SessionOptions::default();
        assert!(engine.check(&format).is_ok());
        format.style = Some("mistral".parse().unwrap());
        assert!(engine.check(&format).is_ok());
    }
}

#[test]
fn a_space_before_the_first_word_alone() {
    // As the tokenizers library encodes the whole prompt: no space piece (6) after the image.
    let copy = copy("llava15");
    let file = copy.path().join("tokenizer.json");
    let mut tokenizer = support::json(&file);
    tokenizer["normalizer"] = serde_json::Value::Null;
    tokenizer["pre_tokenizer"] = serde_json::json!({
        "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "first", "split": false
    });
    std::fs::write(&file, tokenizer.to_string()).unwrap();
    let engine = open(copy.path()).unwrap();
    let ids = engine.encode_messages(&[mico_engine::Message::user("What?", 1)], None).unwrap();
    assert_eq!(ids, [1, 105, 71, 6, 120, 3, 55, 95, 72, 114, 71]);
}

#[test]
fn images_that_are_none_or_odd() {
    let case = Case::load("next-llama");
    let ask = |image: ImageInput| {
        let mut request = Request::new(vec![image], Prompt::InputIds(vec![1, 120, 5]));
        request.turn.generation = GenerationOptions::greedy(2);
        request.options.pruning = Pruning::mico(Budget::Tokens(6));
        case.engine.run(&request, &mut ())
    };
    for bytes in [&b""[..], b"not a picture", b"\x89PNG\r\n\x1a\n"] {
        assert!(
            line(&ask(ImageInput::Encoded(bytes.to_vec())).unwrap_err()).starts_with("image 0")
        );
    }
    for size in [Size::new(1, 1), Size::new(1, 4000), Size::new(4000, 1)] {
        let outcome = ask(ImageInput::Decoded(RgbImage::filled(size, [9, 99, 200]))).unwrap();
        assert_eq!(outcome.answer.ids.len(), 2);
    }
}

#[test]
fn weights_and_logits_that_are_no_numbers() {
    let copy = copy("llava15-tf5");
    let file = copy.path().join("model.safetensors");
    let device = candle_core::Device::Cpu;
    let mut tensors = candle_core::safetensors::load(&file, &device).unwrap();
    let name = tensors.keys().find(|name| name.ends_with("lm_head.weight")).unwrap().clone();
    let zeros = tensors[&name].zeros_like().unwrap();
    let mut with = |head: candle_core::Tensor| {
        tensors.insert(name.clone(), head);
        std::fs::remove_file(&file).unwrap();
        candle_core::safetensors::save(&tensors, &file).unwrap();
        open(copy.path())
    };
    let dtype = zeros.dtype();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        // One number of many, which a sum would not show.
        let mut values = zeros.flatten_all().unwrap().to_dtype(candle_core::DType::F32).unwrap();
        let mut numbers = values.to_vec1::<f32>().unwrap();
        *numbers.last_mut().unwrap() = bad;
        values = candle_core::Tensor::from_vec(numbers, zeros.dims(), &device).unwrap();
        let text = line(&with(values.to_dtype(dtype).unwrap()).unwrap_err());
        assert!(text.contains(&format!("tensor `{name}` holds NaN or infinity")), "{text}");
        assert!(text.contains("model.safetensors"), "{text}");
    }
    // Finite weights whose products are not.
    let engine = with(((zeros + 1.0).unwrap() * 3e38).unwrap()).unwrap();
    let request = Request::new(vec![], Prompt::InputIds(vec![1, 5, 6]));
    let error = engine.run(&request, &mut ()).unwrap_err();
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
    assert!(line(&error).contains("the computation overflows"), "{error}");
}

#[test]
fn a_model_from_no_folder_and_one_of_the_papers_schedules() {
    let mut config = Preset::find("llava-1.5-7b").unwrap().config();
    let clip = &mut config.vision.get_mut::<LlavaVision>().unwrap().tower;
    (clip.hidden_size, clip.intermediate_size, clip.blocks, clip.heads) = (16, 16, 2, 2);
    config.decoder.hidden_size = 16;
    config.decoder.intermediate_size = 16;
    config.decoder.heads = 2;
    config.decoder.kv_heads = 2;
    config.decoder.head_dim = 8;
    config.decoder.vocab_size = 32_064;
    let (model, _) = Model::synthetic(config, &SyntheticOptions::default()).unwrap();
    let engine = Engine::from_parts(&LLAVA, model, None, PreprocessorConfig::clip(336)).unwrap();
    let about = engine.describe();
    assert_eq!((about.layers, about.refine_layer, about.uncalibrated), (32, 7, true));
    let image = ImageInput::Decoded(RgbImage::filled(Size::new(90, 60), [10, 200, 30]));
    let mut request = Request::new(vec![image], Prompt::InputIds(vec![1, 32_000, 5, 6]));
    request.turn.generation =
        GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(2) };
    request.options.pruning = Pruning::mico(Budget::Tokens(64));
    let outcome = engine.run(&request, &mut ()).unwrap();
    assert_eq!(outcome.usage.visual_tokens, 576);
    assert_eq!(stage2(&outcome).unwrap().len(), 46);
    assert_eq!(outcome.stage1.unwrap().kept.len(), 128);
    assert_eq!(outcome.cache_lengths[6..8], [Some(131), Some(49)]);
    assert_eq!(outcome.answer.ids.len(), 2);
    // A tower of one input size knows no other.
    for limits in [
        ImageLimits { min_pixels: Some(9), ..ImageLimits::default() },
        ImageLimits { max_pixels: Some(9), ..ImageLimits::default() },
        ImageLimits { max_tiles: Some(9), ..ImageLimits::default() },
    ] {
        let mut options = SessionOptions::default();
        options.limits = limits;
        let error = engine.check(&options).unwrap_err().to_string();
        assert!(error.contains("is 9") && error.contains("llava"), "{error}");
    }
}
