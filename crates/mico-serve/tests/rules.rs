//! Every rule on a field of a chat completion: what is accepted, what is refused, and by which name.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod common;

use common::{Server, config, mock, text, with};

/// Fields beside a plain question, with the field that the refusal names; `None` where they are accepted.
const FIELDS: &[(&str, Option<&str>)] = &[
    (r#""model":null"#, None),
    (r#""model":"""#, None),
    (r#""model":"tiny""#, None),
    (r#""model":"tiny@16""#, None),
    (r#""model":"gpt-4o""#, Some("model")),
    (r#""model":7"#, Some("model")),
    (r#""max_tokens":1"#, None),
    (r#""max_tokens":32768"#, None),
    (r#""max_tokens":0"#, Some("max_tokens")),
    (r#""max_tokens":-1"#, Some("max_tokens")),
    (r#""max_tokens":1.5"#, Some("max_tokens")),
    (r#""max_completion_tokens":1,"max_tokens":0"#, None),
    (r#""max_completion_tokens":0"#, Some("max_completion_tokens")),
    (r#""temperature":0"#, None),
    (r#""temperature":2"#, None),
    (r#""temperature":2.01"#, Some("temperature")),
    (r#""temperature":-0.1"#, Some("temperature")),
    (r#""temperature":"warm""#, Some("temperature")),
    (r#""top_p":1"#, None),
    (r#""top_p":0"#, Some("top_p")),
    (r#""top_p":1.1"#, Some("top_p")),
    (r#""top_k":1"#, None),
    (r#""top_k":0"#, Some("top_k")),
    (r#""top_k":-1"#, Some("top_k")),
    (r#""seed":-9223372036854775808"#, None),
    (r#""seed":9223372036854775808"#, Some("seed")),
    (r#""stop":"x""#, None),
    (r#""stop":["x","y"]"#, None),
    (r#""stop":null"#, None),
    (r#""stop":[]"#, Some("stop")),
    (r#""stop":"""#, Some("stop[0]")),
    (r#""stop":["x",""]"#, Some("stop[1]")),
    (
        r#""stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]"#,
        Some("stop"),
    ),
    (r#""n":1"#, None),
    (r#""n":0"#, Some("n")),
    (r#""n":2"#, Some("n")),
    (r#""logprobs":true,"top_logprobs":20"#, None),
    (r#""logprobs":true,"top_logprobs":21"#, Some("top_logprobs")),
    (r#""top_logprobs":1"#, Some("top_logprobs")),
    (r#""top_logprobs":0"#, None),
    (r#""stream":false"#, None),
    (r#""stream_options":{"include_usage":true}"#, Some("stream_options")),
    (r#""stream":"yes""#, Some("stream")),
    (r#""response_format":null"#, None),
    (r#""response_format":{"type":"text"}"#, None),
    (r#""response_format":{"type":"json_object"}"#, Some("response_format")),
    (r#""response_format":{"type":"json_schema","json_schema":{}}"#, Some("response_format")),
    (r#""tools":[]"#, None),
    (r#""tools":null,"tool_choice":"none""#, None),
    (r#""tool_choice":"auto""#, None),
    (r#""tools":[{"type":"function"}]"#, Some("tools")),
    (r#""tool_choice":"required""#, Some("tool_choice")),
    (r#""functions":[{}]"#, Some("functions")),
    (r#""frequency_penalty":0,"presence_penalty":0.0"#, None),
    (r#""frequency_penalty":0.1"#, Some("frequency_penalty")),
    (r#""presence_penalty":-1"#, Some("presence_penalty")),
    (r#""logit_bias":{}"#, None),
    (r#""logit_bias":{"50256":-100}"#, Some("logit_bias")),
    (r#""repetition_penalty":1.0"#, None),
    (r#""repetition_penalty":1.1"#, Some("repetition_penalty")),
    (r#""min_p":0"#, None),
    (r#""min_p":0.1"#, Some("min_p")),
    (r#""user":"u","metadata":{"a":"b"},"store":true,"service_tier":"auto""#, None),
    (r#""prompt_cache_key":"k","safety_identifier":"s","verbosity":"low""#, None),
    (r#""parallel_tool_calls":true,"reasoning_effort":"low","unheard_of":[1]"#, None),
    (r#""modalities":["text"]"#, None),
    (r#""modalities":["text","audio"]"#, Some("modalities")),
    (r#""audio":{"voice":"x"}"#, Some("audio")),
    (r#""media_io_kwargs":{"video":{"num_frames":8,"fps":1.0}}"#, None),
    (r#""media_io_kwargs":{"video":{"num_frames":0}}"#, Some("media_io_kwargs.video.num_frames")),
    (r#""media_io_kwargs":{"audio":{}}"#, Some("media_io_kwargs.audio")),
    (r#""chat_template":"{{ x }}""#, Some("chat_template")),
    (r#""chat_template_kwargs":{"a":1}"#, Some("chat_template_kwargs")),
    (r#""mm_processor_kwargs":{"a":1}"#, Some("mm_processor_kwargs")),
    (r#""prompt_embeds":"AAAA""#, Some("prompt_embeds")),
    (r#""image_embeds":[1]"#, Some("image_embeds")),
    (r#""mico":{}"#, None),
    (r#""mico":{"budget":16}"#, None),
    (r#""mico":{"budget":0}"#, Some("mico.budget")),
    (r#""mico":{"budget":-1}"#, Some("mico.budget")),
    (r#""mico":{"keep":0.5}"#, None),
    (r#""mico":{"keep":0}"#, Some("mico.keep")),
    (r#""mico":{"keep":1.1}"#, Some("mico.keep")),
    (r#""mico":{"image_pruning_rate":0.75}"#, None),
    (r#""mico":{"image_pruning_rate":1}"#, Some("mico.image_pruning_rate")),
    (r#""mico":{"video_pruning_rate":-0.1}"#, Some("mico.video_pruning_rate")),
    (r#""mico":{"off":true}"#, None),
    (r#""mico":{"off":true,"budget":1}"#, Some("mico.off")),
    (r#""mico":{"budget":1,"keep":0.5}"#, Some("mico.keep")),
    (r#""mico":{"off":true,"method":"mico"}"#, Some("mico.method")),
    (r#""mico":{"method":"divprune"}"#, Some("mico.method")),
    (r#""mico":{"method":"none"}"#, None),
    (r#""mico":{"budget":1,"method":"nosuch"}"#, Some("mico.method")),
    (r#""mico":{"budget":1,"method":"vispruner","set":{"ratio":0.75}}"#, None),
    (r#""mico":{"budget":1,"set":{"speed":1}}"#, Some("mico.set")),
    (r#""mico":{"budget":1,"refine_layer":0}"#, Some("mico.refine_layer")),
    (r#""mico":{"budget":1,"refine_layer":4}"#, Some("mico.refine_layer")),
    (r#""mico":{"budget":1,"refine_layer":3}"#, None),
    (r#""mico":{"budget":1,"pool":0}"#, Some("mico.pool")),
    (r#""mico":{"budget":1,"pool":3,"authors_budget":true}"#, None),
    (r#""mico":{"return":["indices","layout","overlay","ids"]}"#, None),
    (r#""mico":{"return":["everything"]}"#, Some("mico.return[0]")),
    (r#""mico":{"conversation":"stateless"}"#, None),
    (r#""mico":{"conversation":"continue"}"#, Some("mico.conversation")),
    (r#""mico":{"cache_salt":"s"}"#, None),
    (r#""mico":{"timeout":1}"#, None),
    (r#""mico":{"timeout":0}"#, Some("mico.timeout")),
    (r#""mico":{"timeout":3601}"#, Some("mico.timeout")),
    (r#""mico":{"bugdet":1}"#, Some("mico.bugdet")),
];

/// Lists of messages, with the field that the refusal names.
const MESSAGES: &[(&str, Option<&str>)] = &[
    (r#"[{"role":"user","content":"x"}]"#, None),
    (r#"[{"role":"system","content":"x"},{"role":"user","content":"x"}]"#, None),
    (r#"[{"role":"developer","content":"x"},{"role":"user","content":"x"}]"#, None),
    (r#"[{"role":"user","content":[{"type":"text","text":"x","uuid":"u"}]}]"#, None),
    (
        r#"[{"role":"user","content":"x"},{"role":"assistant","content":null},{"role":"user","content":"x"}]"#,
        None,
    ),
    (r"[]", Some("messages")),
    (r"null", Some("messages")),
    (r#"[{"role":"tool","content":"x"}]"#, Some("messages[0].role")),
    (r#"[{"role":"function","content":"x"}]"#, Some("messages[0].role")),
    (r#"[{"content":"x"}]"#, Some("messages[0]")),
    (r#"[{"role":"user"}]"#, Some("messages[0].content")),
    (r#"[{"role":"user","content":[]}]"#, Some("messages[0].content")),
    (r#"[{"role":"user","content":7}]"#, Some("messages[0].content")),
    (r#"[{"role":"user","content":[{"type":"text"}]}]"#, Some("messages[0].content[0].text")),
    (r#"[{"role":"user","content":[{"type":"audio"}]}]"#, Some("messages[0].content[0].type")),
    (r#"[{"role":"user","content":[{"type":"file"}]}]"#, Some("messages[0].content[0].type")),
    (
        r#"[{"role":"user","content":[{"type":"image_url"}]}]"#,
        Some("messages[0].content[0].image_url"),
    ),
    (
        r#"[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]"#,
        Some("messages[0].content[0].image_url"),
    ),
    (
        r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x","detail":"max"}}]}]"#,
        Some("messages[0].content[0].image_url.detail"),
    ),
    (
        r#"[{"role":"user","content":[{"type":"image_url","image_url":"x"}]}]"#,
        Some("messages[0].content[0].image_url"),
    ),
    (
        r#"[{"role":"assistant","content":[{"type":"image_url","image_url":"x"}]},{"role":"user","content":"x"}]"#,
        Some("messages[0].content[0]"),
    ),
    (
        r#"[{"role":"user","content":"x"},{"role":"assistant","content":"x"}]"#,
        Some("messages[1].role"),
    ),
    (
        r#"[{"role":"assistant","content":"x","tool_calls":[{}]},{"role":"user","content":"x"}]"#,
        Some("messages[0].tool_calls"),
    ),
];

fn check(server: &Server, body: &str, named: Option<&str>) {
    let reply = server.chat(body);
    match named {
        None => assert_eq!(reply.status, 200, "{body}: {}", reply.body),
        Some(field) => {
            let (status, _, param) = reply.error();
            assert_eq!(
                (status, param.as_deref()),
                (reply.status, Some(field)),
                "{body}: {}",
                reply.body
            );
            assert!([400, 404].contains(&status), "{body}: {}", reply.body);
        }
    }
}

#[test]
fn every_field_is_accepted_or_refused_by_name() {
    let server = Server::start(mock());
    for (field, named) in FIELDS {
        check(&server, &with(&text("x"), field), *named);
    }
    for (messages, named) in MESSAGES {
        check(&server, &format!(r#"{{"messages":{messages}}}"#), *named);
    }
}

#[test]
fn lists_are_bounded() {
    let mut config = config();
    config.check.messages = 2;
    config.check.text_bytes = 8;
    let server = Server::with(config, mock());
    let message = r#"{"role":"user","content":"x"}"#;
    let of = |count: usize| format!(r#"{{"messages":[{}]}}"#, vec![message; count].join(","));
    check(&server, &of(2), None);
    check(&server, &of(3), Some("messages"));
    check(&server, &text("123456789"), Some("messages"));
    // Far beyond every limit the parser itself stops.
    let reply = server.chat(&of(20_000));
    assert_eq!((reply.status, reply.error().1.as_str()), (400, "invalid_value"));
}

#[test]
fn fields_that_are_to_be_ignored_are_named_in_the_response() {
    let mut config = config();
    config.check.lenient = vec!["tools".to_owned(), "response_format".to_owned()];
    let server = Server::with(config, mock());
    let fields =
        r#""tools":[{}],"tool_choice":"required","response_format":{"type":"json_object"}"#;
    let reply = server.chat(&with(&text("x"), fields));
    let ignored = reply.json()["mico"]["ignored"].clone();
    assert_eq!(ignored, serde_json::json!(["response_format", "tools", "tool_choice"]));
    assert_eq!(server.chat(&with(&text("x"), r#""min_p":1"#)).status, 400);
}

#[test]
fn a_drawn_answer_without_a_seed_gets_one_and_tells_it() {
    let server = Server::start(mock());
    let seed = |fields: &str| server.chat(&with(&text("x"), fields)).json()["mico"]["seed"].clone();
    assert_eq!(seed(r#""temperature":0"#), 0);
    assert_eq!(seed(r#""temperature":1,"seed":7"#), 7);
    let (one, other) = (seed(r#""temperature":1"#), seed(r#""temperature":1"#));
    assert_ne!(one, other);
    assert!(one.as_u64().unwrap() < 1 << 53);
}
