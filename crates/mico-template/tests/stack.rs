//! The deepest that the limits allow fits a small stack, in an unoptimised build too.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use mico_template::{Functions, Limits, Template, TemplateError};
use serde_json::json;

/// A stack that any thread of a server can be expected to have.
const STACK: usize = 512 << 10;

fn on_small_stack(source: String) -> Result<String, TemplateError> {
    let work = move || {
        let template = Template::compile(&source, Limits::default())?;
        template.render(&json!({ "s": "abc", "xs": [1] }), &Functions::default())
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("{}{middle}{}", open.repeat(times), close.repeat(times))
}

/// Renders with more and more levels until they are refused; some must have passed.
fn deepest(make: impl Fn(usize) -> String, at_least: usize) {
    let refused = (1..1000).find(|times| on_small_stack(make(*times)).is_err()).unwrap();
    assert!(refused > at_least, "refused at {refused}: {}", make(1));
}

#[test]
fn the_deepest_syntax_renders_and_drops() {
    let kinds = [
        ("(1, ", ")"),
        ("[", "]"),
        ("{'a': ", "}"),
        ("not ", ""),
        ("-", ""),
        ("1 + (", ")"),
        ("1|default(", ")"),
        ("(1 if 1 else ", ")"),
        ("s is eq(", ")"),
        ("range(", ")|length"),
        ("1 or 1 and not 1 == 1 + 1 ~ 1 * 1 ** -(", ")"),
        ("xs[", "]"),
        ("dict(a=", ")"),
    ];
    for (open, close) in kinds {
        let many = usize::from(!open.contains("or 1 and")) * 20;
        deepest(|times| format!("{{{{ {} }}}}", nested(open, "1", close, times)), many);
    }
    let statements = [
        ("{% if 1 %}", "{% endif %}"),
        ("{% for i in xs %}", "{% endfor %}"),
        ("{% set x %}", "{% endset %}{{ x }}"),
        ("{% filter upper %}", "{% endfilter %}"),
        ("{% with %}", "{% endwith %}"),
        ("{% generation %}", "{% endgeneration %}"),
    ];
    for (open, close) in statements {
        deepest(|times| nested(open, "x", close, times), 20);
    }
}

#[test]
fn the_deepest_recursion_of_macros_and_loops_is_refused_in_time() {
    let bodies = [
        "{{ m(n - 1) }}",
        "{% if 1 %}{% for i in xs %}{{ [m(n - 1)] }}{% endfor %}{% endif %}",
        "{% set x %}{{ 'a' ~ (m(n - 1) if n else 'b') }}{% endset %}{{ x }}",
        "{% filter upper %}{{ m(n - 1)|default(m(0)) }}{% endfilter %}",
    ];
    for body in bodies {
        let source = |times: usize| {
            format!(
                "{{% macro m(n) %}}{{% if n > 0 %}}{body}{{% endif %}}{{% endmacro %}}{{{{ m({times}) }}}}"
            )
        };
        deepest(source, 8);
    }
    let recursive = "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}";
    assert!(on_small_stack(recursive.into()).is_err());
    let maps = format!("{{{{ 'a'|map({})|list }}}}", ["'map'"; 1000].join(", "));
    assert!(on_small_stack(maps).is_err());
}

/// Values as deep as they may be, at the bottom of the deepest evaluation.
#[test]
fn the_deepest_values_print_compare_and_drop() {
    let uses = [
        "{{ ns.x }}",
        "{{ ns.x|tojson(indent=1) }}",
        "{{ ns.x == ns.y }}",
        "{{ {(ns.x, 1)|string: 1} }}",
    ];
    for shape in ["[V]", "(V,)", "{'a': V}"] {
        for used in uses {
            let make = |times: usize| {
                let (x, y) = (shape.replace('V', "ns.x"), shape.replace('V', "ns.y"));
                let inside = nested("{% if 1 %}", used, "{% endif %}", 40);
                format!(
                    "{{% set ns = namespace(x=1, y=1) %}}{{% for i in range({times}) %}}{{% set ns.x = {x} %}}{{% set ns.y = {y} %}}{{% endfor %}}{inside}"
                )
            };
            deepest(make, 50);
        }
    }
}
