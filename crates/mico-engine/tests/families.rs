//! What the families' own files leave to the engine: prompts without a template, tokenizers in parts,
//! switches, videos in the forms they come in, other sizes of a published model.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use candle_core::Tensor;
use mico_engine::pruner::Pruning;
use mico_engine::tokenizer::Tokenizer;
use mico_engine::{
    Engine, EngineOptions, Error, GenerationOptions, ImageInput, ImageLimits, Message, Outcome,
    Prompt, PromptStyle, Request, Switches,
};
use mico_select::schedule::Budget;
use mico_vision::RgbImage;
use support::{Case, close, copy, folder, json, messages, refined, strings, u32s};

/// Cases whose chat template says what the family's own prompt says.
const CHATS: [&str; 4] = ["qwen25", "qwen3", "qwen35", "video"];

#[test]
fn a_family_knows_its_prompt_without_a_template() {
    for name in CHATS {
        let case = Case::load(name);
        let style = case.engine.family().prompt_style(case.engine.model().config(), None);
        for (key, chat) in case.expected["conversations"].as_object().unwrap().clone() {
            // What an earlier answer began with is a template's own affair.
            if key == "turns" || key == "spaces" {
                continue;
            }
            let messages = messages(&chat["messages"]);
            let ids = case.engine.encode_messages(&messages, Some(style)).unwrap();
            assert_eq!(ids, u32s(&chat["input_ids"]), "{name} {key}");
        }
    }
}

#[test]
fn internvl_introduces_itself_and_encloses_images() {
    let case = Case::load("internvl3-original");
    let style: PromptStyle = "internvl".parse().unwrap();
    let encode = |chat: &[Message]| case.engine.encode_messages(chat, Some(style)).unwrap();
    let ids = encode(&[Message::user("What?", 1)]);
    let tokenizer = case.engine.tokenizer().unwrap();
    let id = |token: &str| tokenizer.id(token).unwrap();
    let place = ids.iter().position(|&found| found == id("<IMG_CONTEXT>")).unwrap();
    assert_eq!((ids[place - 1], ids[place + 1]), (id("<img>"), id("</img>")));
    assert_eq!(ids.iter().filter(|&&found| found == id("<|im_start|>")).count(), 3);
    let system = tokenizer.encode("英文名是InternVL").unwrap();
    assert!(ids.windows(system.len()).any(|window| window == system));
    // A conversation with instructions of its own keeps them.
    let own = [Message::system("Be brief."), Message::user("What?", 1)];
    let ids = encode(&own);
    assert!(!ids.windows(system.len()).any(|window| window == system));
}

#[test]
fn a_template_without_a_word_for_images_gives_way_to_the_familys_prompt() {
    let copy = copy("internvl3-original");
    let texts_only = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
    std::fs::write(copy.path().join("chat_template.jinja"), texts_only).unwrap();
    let (engine, _) = Engine::open(copy.path(), &EngineOptions::default()).unwrap();
    assert_eq!(engine.describe().prompt_style, "internvl");
    assert_eq!(Case::load("internvl3-original").engine.describe().prompt_style, "template");
}

#[test]
fn qwen2_tokenizers_may_come_in_parts() {
    let files = folder("qwen25").join("../../qwen2_tokenizer");
    let tokenizer = Tokenizer::open(&files).unwrap();
    let expected = json(&files.join("expected.json"));
    for case in expected["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        assert_eq!(tokenizer.encode(text).unwrap(), u32s(&case["ids"]), "{text:?}");
    }
    for (token, id) in expected["added"].as_object().unwrap() {
        assert_eq!(tokenizer.id(token), id.as_u64().map(|id| id as u32), "{token}");
        assert!(tokenizer.specials().iter().any(|special| special.text == *token));
    }
}

fn pruned(case: &Case, run: usize, tokens: usize) -> Outcome {
    let mut request = case.request(&case.runs("unpruned")[run]);
    request.options.pruning = Pruning::mico(Budget::Tokens(tokens));
    case.run(&request)
}

/// A fixture tensor of every image of a run, as the dump has it.
fn stored(case: &Case, run: usize, what: &str) -> Tensor {
    let images = strings(&case.runs("unpruned")[run]["images"]);
    let parts = images.iter().map(|image| {
        let tensor = case.tensor(&format!("{image}.{what}"));
        tensor.flatten(0, 1).unwrap()
    });
    Tensor::cat(&parts.collect::<Vec<_>>(), 0).unwrap()
}

#[test]
fn stage_one_takes_the_features_the_switches_say() {
    for (name, switch, what) in [
        ("internvl3", "intern_feature=concat", "stage1.features_concat"),
        ("internvl3-tied", "intern_feature=concat", "stage1.features_concat"),
        ("video", "video_stage1_feature=projected", "stage1.features_projected"),
    ] {
        let mut case = Case::load(name);
        let usual = pruned(&case, 0, 1);
        case.options.switches = switch.parse::<Switches>().unwrap();
        let other = pruned(&case, 0, 1);
        let dumped = |outcome: &Outcome| {
            outcome.tensors.as_ref().unwrap().get("stage1.features").unwrap().clone()
        };
        close(name, &dumped(&other), &stored(&case, 0, what), 1e-4);
        close(name, &dumped(&usual), &stored(&case, 0, "stage1.features"), 1e-4);
    }
}

#[test]
fn frames_are_one_video_however_they_are_given() {
    let case = Case::load("video");
    let run =
        case.runs("pruned").into_iter().find(|run| strings(&run["images"]).len() > 1).unwrap();
    let request = case.request(&run);
    let frames: Vec<RgbImage> = request
        .turn
        .images
        .iter()
        .enumerate()
        .map(|(index, image)| case.engine.decode_image(index, image).unwrap())
        .collect();
    let placeholder = case.engine.describe().image_token_id;
    let mut ids = u32s(&run["input_ids"]);
    ids.dedup_by(|a, b| *a == placeholder && a == b);
    let mut whole = request.clone();
    whole.turn.images = vec![ImageInput::Frames(frames)];
    whole.turn.prompt = Prompt::InputIds(ids);
    let (apart, together) = (case.run(&request), case.run(&whole));
    assert_eq!(apart.answer.ids, together.answer.ids);
    assert_eq!(apart.stage1, together.stage1);
    assert_eq!(apart.usage.layer_average, together.usage.layer_average);
    assert_eq!(together.images.len(), 1);
    // A family that takes images refuses a video by name.
    let other = Case::load("qwen3");
    let mut request = other.request(&other.runs("unpruned")[0]);
    request.turn.images = whole.turn.images;
    let error = other.engine.run(&request, &mut ()).unwrap_err().to_string();
    assert!(error.contains("video") && error.contains("qwen3_vl"), "{error}");
}

#[test]
fn refinement_follows_a_block_with_attention() {
    let case = Case::load("qwen35");
    assert_eq!(case.engine.describe().refine_layer, 4);
    assert!(case.engine.describe().uncalibrated);
    let mut request: Request = case.request(&case.runs("unpruned")[0]);
    request.turn.generation = GenerationOptions::greedy(1);
    request.options.pruning = refined(20, 3);
    let error = case.engine.run(&request, &mut ()).unwrap_err().to_string();
    assert!(error.contains("refine-layer is 3") && error.ends_with("attention: 4"), "{error}");
}

/// What is wrong with a case's options, which a request is told as well.
fn refused(case: &Case) -> String {
    let error = case.engine.check(&case.options).unwrap_err().to_string();
    let request = case.request(&case.runs("unpruned")[0]);
    assert_eq!(case.engine.run(&request, &mut ()).unwrap_err().to_string(), error);
    error
}

#[test]
fn limits_of_the_caller_replace_those_of_the_file() {
    let mut case = Case::load("internvl3");
    case.options.limits = ImageLimits { max_tiles: Some(12), ..ImageLimits::default() };
    case.engine.check(&case.options).unwrap();
    let image = &case.runs("unpruned")[0]["images"][0];
    let outcome = case.run(&case.request(&case.runs("unpruned")[0]));
    let expected = case.tensor(&format!("{}.pixel_values_max12", image.as_str().unwrap()));
    let found = outcome.tensors.as_ref().unwrap().get("pixel_values").unwrap();
    assert_eq!(support::bits(found), support::bits(expected));
    case.options.limits = ImageLimits { max_tiles: Some(0), ..ImageLimits::default() };
    let error = refused(&case);
    assert!(error.contains("max-tiles is 0"), "{error}");
    let mut case = Case::load("qwen25");
    case.options.limits = ImageLimits { max_pixels: Some(10), ..ImageLimits::default() };
    let error = refused(&case);
    assert!(error.contains("max-pixels is 10"), "{error}");
    case.options.limits = ImageLimits::default();
    case.options.switches = "image_limits=paper".parse::<Switches>().unwrap();
    case.engine.check(&case.options).unwrap();
    let request = case.request(&case.runs("unpruned")[0]);
    // The paper's lower limit, 1280 x 28 x 28 pixels, in tokens of 8 x 8: more than this toy reads.
    let error = case.engine.run(&request, &mut ()).unwrap_err();
    let least = 1280 * 28 * 28 / 64;
    assert!(matches!(error, Error::TooLong { tokens, .. } if tokens > least), "{error}");
}
