//! Chat templates: programs from strangers, under limits small enough to reach them often.

use std::sync::LazyLock;

use mico_template::{Functions, Limits, Template};
use serde_json::{Value, json};

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "template",
    about: "chat templates, compiled and rendered",
    run,
    tokens: &[
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{%-",
        "-%}",
        " if ",
        " else ",
        " elif ",
        " endif ",
        " for ",
        " in ",
        " endfor ",
        " set ",
        " endset ",
        " macro m(a, b=1) ",
        " endmacro ",
        " call ",
        " filter ",
        " endfilter ",
        " generation ",
        " endgeneration ",
        " raw ",
        " endraw ",
        " break ",
        " continue ",
        " recursive ",
        " is ",
        " not ",
        " and ",
        " or ",
        "messages",
        "message['content']",
        "loop.index0",
        "loop(",
        "namespace(x=1)",
        "ns.x",
        "range(",
        "add_generation_prompt",
        "raise_exception('",
        "strftime_now('%d')",
        "|tojson(indent=2)",
        "|trim",
        "|length",
        "|join(',')",
        "|map(attribute='",
        "|selectattr('",
        "|groupby('",
        "|sort",
        "|batch(3)",
        "|slice(2)",
        "|format(1)",
        "|replace('a','b')",
        "|indent(4)",
        "|default('",
        "|items",
        "|list",
        "|string",
        "|int",
        "|float",
        "|round(2)",
        "|first",
        "|last",
        "|reverse",
        "|unique",
        "|tojson",
        "|e",
        ".split(",
        ".startswith(",
        ".format(",
        "'%5d' % ",
        "{:>9}",
        "[::-1]",
        "[1:",
        "**",
        "//",
        "~",
        "*",
        "9223372036854775807",
        "1e308",
        "''",
        "\"",
        "\\",
    ],
    short_run: 4000,
};

const LIMITS: Limits = Limits {
    source_bytes: 16 << 10,
    tokens: 5000,
    syntax_depth: 48,
    evaluation_depth: 96,
    value_depth: 32,
    steps: 20_000,
    value_bytes: 64 << 10,
    total_bytes: 512 << 10,
    output_bytes: 64 << 10,
    precision: 200,
};

/// A conversation with everything that templates look for.
static VALUES: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "image" }, { "type": "text", "text": " What? \u{e9}\u{1F642} " }] },
            { "role": "assistant", "content": "A cat.", "tool_calls": null },
            { "role": "user", "content": "And now <b>'&'</b>?" },
        ],
        "tools": [{ "name": "f", "parameters": { "x": [1, 2.5, true, null] } }],
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "",
        "add_generation_prompt": true, "enable_thinking": false,
    })
});

fn run(data: &[u8], seen: &mut Seen) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let Some(template) = seen.result("template", Template::compile(source, LIMITS)) else { return };
    let functions = Functions { strftime_now: Some(&|_| "26 Jul 2024".to_owned()) };
    let rendered = template.render(&VALUES, &functions);
    assert_eq!(rendered.is_ok(), template.render(&VALUES, &functions).is_ok());
    if let Some(text) = seen.result("text", rendered) {
        assert!(text.len() <= LIMITS.output_bytes, "{} bytes of text", text.len());
        seen.accepted(format_args!("text of 2^{} bytes", text.len().checked_ilog2().unwrap_or(0)));
    }
}
