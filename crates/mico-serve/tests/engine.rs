//! The embedded model behind HTTP: answers, counts and pictures are those of the engine, at any concurrency.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use std::io::{BufReader, Write as _};
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use clap::{Args as _, Command, FromArgMatches as _};
use common::{Reply, Server, config, posted};
use mico_engine::{
    Engine, EngineOptions, GenerationOptions, ImageInput, Prompt, Request, SessionOptions,
};
use mico_select::pruner::PruningSpec;
use mico_serve::config::ServeFlags;
use mico_serve::engine::{EngineServer, Served};
use serde_json::{Value, json};

const QUESTION: &str = "What letter is on the purple circle?";

static PICTURE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shapes.png")).unwrap()
});

fn engine() -> Engine {
    Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap().0
}

fn server(flags: &[&str]) -> Server {
    let args = std::iter::once("serve").chain(flags.iter().copied());
    let matches = ServeFlags::augment_args(Command::new("serve")).get_matches_from(args);
    let flags = ServeFlags::from_arg_matches(&matches).unwrap();
    let served = Served::new("tiny", "tiny", SessionOptions::default());
    let server = Server::loading(config());
    let metrics = Arc::clone(&server.app.metrics);
    let backend = EngineServer::start(engine(), served, &flags.capacity, metrics).unwrap();
    server.app.set_backend(Arc::new(backend));
    server
}

fn body(fields: &Value) -> String {
    let url = format!(
        "data:image/png;base64,{}",
        base64::engine::general_purpose::STANDARD.encode(&*PICTURE)
    );
    let mut body = json!({
        "messages": [{ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": url } },
            { "type": "text", "text": QUESTION },
        ] }],
        "max_tokens": 8,
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body.to_string()
}

/// What the engine itself answers.
fn expected(engine: &Engine, pruning: Option<&str>) -> mico_engine::Outcome {
    let images = vec![ImageInput::Encoded(PICTURE.clone())];
    let request = Request::new(images, Prompt::question(QUESTION, 1));
    let request = request.generating(GenerationOptions::greedy(8));
    let request = match pruning {
        Some(spec) => request.with(spec.parse::<PruningSpec>().unwrap().build().unwrap()),
        None => request,
    };
    engine.run(&request, &mut ()).unwrap()
}

const PRUNINGS: [(Option<&str>, &str); 6] = [
    (None, r#"{"off":true}"#),
    (Some("mico T=16"), r#"{"budget":16}"#),
    (Some("mico keep=0.25"), r#"{"keep":0.25}"#),
    (Some("divprune T=32"), r#"{"budget":32,"method":"divprune"}"#),
    (Some("fastv T=200"), r#"{"budget":200,"method":"fastv"}"#),
    (Some("visionzip T=64"), r#"{"budget":64,"method":"visionzip"}"#),
];

#[test]
fn answers_and_counts_are_the_engine_s() {
    let (server, engine) = (server(&[]), engine());
    for (pruning, mico) in PRUNINGS {
        let own = expected(&engine, pruning);
        let mut mico: Value = serde_json::from_str(mico).unwrap();
        mico["return"] = json!(["indices", "ids", "layout"]);
        let told = server.chat(&body(&json!({ "mico": mico }))).json();
        let (choice, usage) = (&told["choices"][0], &told["usage"]);
        assert_eq!(choice["message"]["content"], own.answer.text, "{pruning:?}: {told}");
        assert_eq!(choice["token_ids"], json!(own.answer.ids));
        let text = own.usage.prompt_tokens - own.usage.visual_tokens;
        assert_eq!(usage["prompt_tokens"], text + own.usage.visual_tokens_entered);
        assert_eq!(usage["prompt_tokens_details"]["image_tokens"], own.usage.visual_tokens_entered);
        assert_eq!(usage["completion_tokens"], own.usage.generated_tokens);
        let image = &told["mico"]["images"][0];
        assert_eq!(image["visual_tokens"], own.usage.visual_tokens);
        assert_eq!(image["entered"], own.usage.visual_tokens_entered);
        assert_eq!(image["kept"], own.usage.visual_tokens_kept);
        assert_eq!(image["stage1"], json!(own.stage1_of(&own.images[0])));
        assert_eq!(told["mico"]["cache_lengths"], json!(own.cache_lengths));
        assert_eq!(told["mico"]["prompt_tokens_unpruned"], own.usage.prompt_tokens);
        assert_eq!(image["regions"].as_array().unwrap().len(), 4 * own.usage.visual_tokens);
    }
}

#[test]
fn the_plan_tells_beforehand_what_the_answer_tells_afterwards() {
    let server = server(&[]);
    for (_, mico) in PRUNINGS {
        let mico: Value = serde_json::from_str(mico).unwrap();
        let body = body(&json!({ "mico": mico }));
        let planned = server.post("/v1/chat/completions/input_tokens", &body).json();
        let told = server.chat(&body).json();
        assert_eq!(planned["input_tokens"], told["usage"]["prompt_tokens"]);
        for field in ["method", "budget", "refine_layer", "layer_average", "cache_lengths"] {
            assert_eq!(planned["mico"][field], told["mico"][field], "{mico} {field}");
        }
        for field in ["visual_tokens", "entered", "kept"] {
            assert_eq!(planned["mico"]["images"][0][field], told["mico"]["images"][0][field]);
        }
    }
}

#[test]
fn streams_and_company_change_no_answer() {
    let (server, engine) = (server(&["--max-sequences=4"]), engine());
    let mut asked = Vec::new();
    for round in 0..3 {
        for (pruning, mico) in PRUNINGS {
            let mico: Value = serde_json::from_str(mico).unwrap();
            let body = body(&json!({ "mico": mico, "stream": round == 1 }));
            let mut stream = server.connect();
            stream.write_all(posted("/v1/chat/completions", &body).as_bytes()).unwrap();
            asked.push((pruning, stream));
        }
    }
    for (pruning, stream) in asked {
        let reply = Reply::read(&mut BufReader::new(stream));
        let own = expected(&engine, pruning).answer.text;
        assert_eq!(answer(&reply), own, "{pruning:?}");
    }
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("mico_requests_running 0") && metrics.contains("mico_kv_bytes 0"));
    assert!(metrics.contains("mico_encoder_cache_total{result=\"hit\"}"), "{metrics}");
    assert!(server.join());
}

/// The text of a whole or a streamed answer.
fn answer(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{reply:?}");
    if reply.body.starts_with('{') {
        return reply.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    }
    let lines = reply.body.lines().filter_map(|line| line.strip_prefix("data: {"));
    let chunks = lines.map(|line| serde_json::from_str::<Value>(&format!("{{{line}")).unwrap());
    chunks
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn errors_of_the_engine_name_the_field() {
    let server = server(&["--kv-memory=1000"]);
    let layers = engine().describe().layers;
    for (mico, param) in [
        (json!({ "budget": 16, "refine_layer": layers }), Some("mico.refine_layer")),
        (json!({ "budget": 16 }), None),
    ] {
        let reply = server.chat(&body(&json!({ "mico": mico })));
        assert_eq!((reply.status, reply.error().2.as_deref()), (400, param), "{}", reply.body);
    }
    let refused = server.chat(&body(&json!({ "mico": { "budget": 64, "method": "fastv" } })));
    assert_eq!(refused.error(), (400, "pruning_refused".to_owned(), Some("mico".to_owned())));
    assert!(refused.body.contains("(8 x 64 - 2 x 576) / 6"), "{}", refused.body);
    let long = json!({ "messages": [{ "role": "user", "content": "circle ".repeat(20_000) }] });
    assert_eq!(server.chat(&long.to_string()).error().1, "context_length_exceeded");
}

#[test]
fn a_picture_of_what_was_kept_and_the_likelihood_of_tokens() {
    let server = server(&[]);
    let fields = json!({ "mico": { "budget": 16, "return": ["overlay"] }, "logprobs": true, "top_logprobs": 2 });
    let told = server.chat(&body(&fields)).json();
    let overlay = told["mico"]["images"][0]["overlay"].as_str().unwrap();
    assert!(overlay.starts_with("data:image/png;base64,iVBOR"), "{overlay:.40}");
    let tokens = told["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert_eq!(told["usage"]["completion_tokens"], tokens.len());
    assert_eq!(tokens[0]["token"], tokens[0]["top_logprobs"][0]["token"]);
}

#[test]
fn advisory_09_text_never_becomes_a_special_token() {
    let server = server(&[]);
    let specials: Vec<u32> =
        engine().tokenizer().unwrap().specials().iter().map(|special| special.id).collect();
    for text in ["<image>", "<|image_pad|>", "<|im_end|>", "</s>", "<s>", "<IMG_CONTEXT>"] {
        let request = json!({ "prompt": text, "add_special_tokens": false });
        let reply = server.post("/tokenize", &request.to_string());
        if reply.status == 200 {
            let ids: Vec<u32> = serde_json::from_value(reply.json()["tokens"].clone()).unwrap();
            let unknown = engine().tokenizer().unwrap().id("<unk>");
            assert!(ids.iter().all(|id| !specials.contains(id) || Some(*id) == unknown), "{text}");
        } else {
            assert_eq!(reply.status, 400, "{text}: {}", reply.body);
        }
        let asked = json!({ "messages": [{ "role": "user", "content": text }], "stop": text, "max_tokens": 1 });
        assert!([200, 400].contains(&server.chat(&asked.to_string()).status), "{text}");
    }
    assert_eq!(server.get("/health").status, 200);
}
