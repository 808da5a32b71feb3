//! Templates that want more than they may: each is an error, and no memory is taken for it.

use std::sync::{Mutex, PoisonError};

use mico_template::{Functions, Limits, Template, TemplateError, TemplateErrorKind};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

/// Peak of the heap that any of these templates may reach.
const MAX_MEGABYTES: f32 = 200.0;

fn render(source: &str) -> Result<String, TemplateError> {
    let values = json!({ "s": "abc", "xs": [1, 2, 3], "big": "x".repeat(1000) });
    Template::compile(source, Limits::default())?.render(&values, &Functions::default())
}

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("{}{middle}{}", open.repeat(times), close.repeat(times))
}

/// Expressions that ask for too much at once, or grow until they do.
fn expressions() -> Vec<String> {
    let mut all: Vec<String> =
        include_str!("data/too_much_expressions.txt").lines().map(str::to_owned).collect();
    all.push(format!("'a'|map({})|list", vec!["'map'"; 5000].join(", ")));
    all
}

/// Whole templates: loops, macros and chains of them.
fn templates() -> Vec<String> {
    let mut all: Vec<String> =
        include_str!("data/too_much_templates.txt").lines().map(str::to_owned).collect();
    all.push(format!("{{{{ {} }}}}", vec!["1"; 60_000].join("+")));
    all.push(format!("{{{{ {} }}}}", "x".repeat(300_000)));
    all.push("{{ 1 }}".repeat(40_000));
    let named: Vec<String> = (0..20_000).map(|index| format!("a{index}=1")).collect();
    all.push(format!("{{{{ dict({}) }}}}", named.join(",")));
    all.push(format!("{{% macro m({}) %}}{{% endmacro %}}", named.join(",")));
    all.push(
        "{% for i in range(99999) %}{{ 1.1|round(1000) }}{{ '%.999f' % i }}{% endfor %}".into(),
    );
    all
}

/// What nests an expression in itself.
const EXPRESSIONS: [(&str, &str); 21] = [
    ("(", ")"),
    ("[", "]"),
    ("{'a':", "}"),
    ("not ", ""),
    ("-", ""),
    ("+ ", ""),
    ("1+(", ")"),
    ("xs[", "]"),
    ("f(", ")"),
    ("1|default(", ")"),
    ("1 is eq(", ")"),
    ("(1 if ", ")"),
    ("1 if 0 else (", ")"),
    ("a.b(", ")"),
    ("1 if 1 if ", ""),
    ("'a' ~ (", ")"),
    ("f(x=", ")"),
    ("f(*", ")"),
    ("1 is eq [", "]"),
    ("xs[1:", "]"),
    ("1 or 1 and not 1 == 1 + 1 ~ 1 * 1 ** -(", ")"),
];
/// What nests a statement in itself.
const STATEMENTS: [(&str, &str); 11] = [
    ("{% if 1 %}", "{% endif %}"),
    ("{% for i in xs %}", "{% endfor %}"),
    ("{% set x %}", "{% endset %}"),
    ("{% filter upper %}", "{% endfilter %}"),
    ("{% with %}", "{% endwith %}"),
    ("{% macro m() %}", "{% endmacro %}"),
    ("{% generation %}", "{% endgeneration %}"),
    ("{% call m() %}", "{% endcall %}"),
    ("{% if 1 %}{% else %}", "{% endif %}"),
    ("{% if 1 %}{% elif 1 %}", "{% endif %}"),
    ("{% if 1 %}", ""),
];

/// Nesting of every kind, far beyond what any stack holds.
fn nestings() -> Vec<String> {
    let times = 5000;
    let print = |text: String| format!("{{{{ {text} }}}}");
    let mut all = vec![
        print("(".repeat(times)),
        print("[".repeat(times)),
        print("1 ".to_owned() + &"if 1 ".repeat(30_000)),
        format!("{{% set {} = 1 %}}", nested("(", "a", ")", times)),
        format!("{{% for {} in xs %}}{{% endfor %}}", nested("(", "a", ",)", times)),
        format!("{{% macro m(a={}) %}}{{% endmacro %}}", nested("[", "1", "]", times)),
    ];
    all.extend(EXPRESSIONS.iter().map(|(open, close)| print(nested(open, "1", close, times))));
    all.extend(STATEMENTS.iter().map(|(open, close)| nested(open, "x", close, times)));
    all
}

/// The peak is that of the whole process, so one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn check(sources: &[String], at_least: usize) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(sources.len() >= at_least);
    for source in sources {
        let shown: String = source.chars().take(150).collect();
        PEAK.reset_peak_usage();
        let error = render(source).expect_err(&shown);
        let peak = PEAK.peak_usage_as_mb();
        assert!(peak < MAX_MEGABYTES, "{shown}: {peak} MB");
        let message = error.to_string();
        assert!(message.len() < 400 && !message.contains('\n'), "{shown}: {message}");
        assert_ne!(*error.kind(), TemplateErrorKind::Raised, "{shown}");
    }
}

#[test]
fn expressions_that_ask_for_too_much_are_errors() {
    let sources: Vec<String> = expressions().iter().map(|e| format!("{{{{ {e} }}}}")).collect();
    check(&sources, 80);
}

#[test]
fn templates_that_take_too_much_are_errors() {
    check(&templates(), 40);
}

#[test]
fn nesting_without_end_is_an_error() {
    check(&nestings(), 35);
}

#[test]
fn long_chains_that_are_flat_render() {
    let chain = |sign: &str| format!("{{{{ {} }}}}", vec!["1"; 3000].join(sign));
    assert_eq!(render(&chain(" + ")).unwrap(), "3000");
    assert_eq!(render(&chain(" * ")).unwrap(), "1");
    assert_eq!(render(&chain(" and ")).unwrap(), "1");
    assert_eq!(render(&chain(" == ")).unwrap(), "True");
    assert_eq!(render(&chain(" ~ ")).unwrap().len(), 3000);
    assert_eq!(render(&chain(" if 0 else ")).unwrap(), "1");
    assert_eq!(render(&format!("{{{{ s{} }}}}", "|upper".repeat(3000))).unwrap(), "ABC");
    assert_eq!(render(&format!("{{{{ s{} }}}}", ".upper()".repeat(3000))).unwrap(), "ABC");
    assert_eq!(render(&format!("{{{{ s{} }}}}", "[0]".repeat(3000))).unwrap(), "a");
    let elif = format!("{{% if 0 %}}{}{{% else %}}z{{% endif %}}", "{% elif 0 %}y".repeat(3000));
    assert_eq!(render(&elif).unwrap(), "z");
}

#[test]
fn errors_name_the_limit_and_the_line() {
    let error = render("a\n\n{{ 'a' * 10 ** 9 }}").unwrap_err();
    let limit = Limits::default().value_bytes as u64;
    assert_eq!(*error.kind(), TemplateErrorKind::Limit { which: "value_bytes", limit });
    assert_eq!(error.line(), 3);
    let error = render("{% include 'x' %}").unwrap_err();
    assert!(
        matches!(error.kind(), TemplateErrorKind::Unsupported { what } if what.contains("include"))
    );
    let error = render("{{ raise_exception('no\n\x1b[31m' ~ 'x' * 1000) }}").unwrap_err();
    assert_eq!(*error.kind(), TemplateErrorKind::Raised);
    assert!(error.message().starts_with("no\\u{a}\\u{1b}[31mxxx") && error.message().len() < 150);
    assert_eq!(*render("{{ 1 + }}").unwrap_err().kind(), TemplateErrorKind::Syntax);
    assert_eq!(*render("{{ 1 + s }}").unwrap_err().kind(), TemplateErrorKind::Runtime);
}
