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
    let mut all: Vec<String> = [
        "'a' * 10 ** 9", "'a' * 9223372036854775807", "[1] * 10 ** 9", "(1,) * 10 ** 12", "10 ** 10000", "2 ** 63",
        "9223372036854775807 + 1", "-9223372036854775807 - 2", "9223372036854775807 * 2", "99999999999999999999",
        "'%9999999999d'|format(1)", "'%-9999999999d'|format(1)", "'%0.9999999999f'|format(1)", "'%.99999f'|format(1)",
        "'%*d' % (99999999999, 1)", "'%.*f' % (99999999999, 1.5)", "'%99999999s' % 'a'", "'%.9999999999d' % 1",
        "'{:>9999999999}'.format(1)", "'{:99999999}'.format('a')", "'{:.9999999999f}'.format(1.5)", "'{:{w}}'.format(1, w=99999999)",
        "'a\nb'|indent(9999999999)", "s|indent(9999999999, true)", "'a\nb\nc'|indent(99999999)", "xs|tojson(indent=999999999)",
        "xs|tojson(separators=('x' * 9000000, ''))", "s|center(9999999999)", "s.center(9999999999)", "s.ljust(99999999999)",
        "s.rjust(2 ** 62)", "s.zfill(9999999999)", "'\t'.expandtabs(9999999999)", "xs|batch(9999999999, 'x')|list",
        "xs|slice(9999999999)|list", "xs|slice(99999999, 1)|list", "range(10 ** 9)|list", "range(100001)", "range(0, 0 - 10 ** 18, -1)|list",
        "(big * 10000).replace('x', big)", "(big * 1000)|replace('x', big * 10)", "(big * 9000)|replace('', 'yyyy')",
        "(['a'] * 400000)|join(big)", "(big * 10).join(['a'] * 10000)", "(big * 16000)|list", "(big * 10000).split('x')",
        "(big * 10000)|map('upper')|list", "(['x' * 16000000] * 100)|join", "[big * 16000, big * 16000, big * 16000, big * 16000, big * 16000]",
        "(big * 16000)|upper|lower|title|capitalize|upper|lower", "([big * 1000] * 1000)|string", "([[1] * 1000] * 1000)|tojson",
        "([1] * 400000)|sort|sort|sort|sort", "([xs] * 100000)|sort", "(range(100000)|list)|unique|list", "(range(90000)|list) == (range(90000)|list) and [xs] * 200000 == [xs] * 200000",
        "1 in [2] * 500000 or 1 in [2] * 500000 or 1 in [2] * 500000 or 1 in [2] * 500000 or 1 in [2] * 500000",
        "1.5|round(99999999)", "1e300|round(-99999999999)", "(big * 16000)|e|e", "('<' * 16000000)|e", "('\\n' * 16000000)|tojson",
        "(big * 16000)|urlencode|urlencode", "('é' * 8000000)|urlencode", "dict([[1, 2]] * 400000)", "big * 20000", "(big * 16000)[::-1][::-1][::-1][::-1][::-1]",
        "('\\n' * 16000000).splitlines()", "(' a' * 8000000).split()", "(xs * 100000)|groupby('a')", "'%s' * 8000000 % ((1,) * 8000000)",
        "(big * 16000).count('')|string ~ (big * 16000).partition('y')[0] ~ big * 16000 ~ big * 16000", "xs|sum(start=[0] * 600000)",
        "((xs|string) * 3000000)|length", "(big * 15000) ~ (big * 15000)", "(big * 9000) + (big * 9000)", "[big * 9000] + [big * 9000] * 99999999",
        "'{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}'.format(big * 1000)", "'%(a)s%(a)s%(a)s' % {'a': big * 9000}", "(big * 9000)|format|format",
    ]
    .map(str::to_owned)
    .to_vec();
    let map = format!("'a'|map({})|list", ["'map'"; 5000].join(", "));
    all.push(map);
    all
}

/// Whole templates: loops, macros and chains of them.
fn templates() -> Vec<String> {
    let mut all = vec![
        "{% set x='a'*1000000 %}{% for i in range(9999) %}{{ x }}{% endfor %}".to_owned(),
        "{% set ns=namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x }}".into(),
        "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=ns.x+ns.x %}{% endfor %}{{ ns.x }}".into(),
        "{% set ns=namespace(x='a') %}{% for i in range(60) %}{% set ns.x=ns.x ~ ns.x %}{% endfor %}{{ ns.x }}".into(),
        "{% set ns=namespace(x=[1]) %}{% for i in range(100000) %}{% set ns.x=[ns.x] %}{% endfor %}{{ ns.x }}".into(),
        "{% set ns=namespace(x=1) %}{% for i in range(100000) %}{% set ns.x={'a': ns.x} %}{% endfor %}".into(),
        "{% set ns=namespace(x=s.upper) %}{% for i in range(100000) %}{% set ns.x=(ns.x, ns.x)|map('string') %}{% endfor %}".into(),
        "{% set ns=namespace(x=[1]) %}{% for i in range(50) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x == ns.x }}{{ ns.x|tojson|length }}".into(),
        "{% set ns=namespace(x=[1], y=[1]) %}{% for i in range(50) %}{% set ns.x=[ns.x,ns.x] %}{% set ns.y=[ns.y,ns.y] %}{% endfor %}{{ ns.x == ns.y }}".into(),
        "{% set ns=namespace(x=(1,), y=(1,)) %}{% for i in range(50) %}{% set ns.x=(ns.x,ns.x) %}{% set ns.y=(ns.y,ns.y) %}{% endfor %}{{ ns.x < ns.y }}".into(),
        "{% set ns=namespace(x=(1,)) %}{% for i in range(50) %}{% set ns.x=(ns.x,ns.x) %}{% endfor %}{{ {ns.x: 1} }}".into(),
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}".into(),
        "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{{ a }}{% endfor %}{% endfor %}{% endfor %}".into(),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".into(),
        "{% macro m(n) %}{{ m(n + 1) ~ m(n + 2) }}{% endmacro %}{{ m(0) }}".into(),
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller() }}{% endmacro %}{{ m() }}".into(),
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}".into(),
        "{% macro m(k) %}{% if k %}{{ m(k - 1) }}{{ m(k - 1) }}{% endif %}x{% endmacro %}{{ m(30) }}".into(),
        "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}".into(),
        "{% set ns=namespace() %}{% for x in [1] recursive %}{% set ns.l = loop %}{% endfor %}{{ ns.l([1]) }}{% for x in range(9999) %}{{ ns.l(range(9999)) }}{% endfor %}".into(),
        "{% set ns=namespace(x='ab') %}{% for i in range(60) %}{% set ns.x=ns.x|replace('a', 'aa')|replace('b', 'bb') %}{% endfor %}".into(),
        "{% set ns=namespace(x='ab') %}{% for i in range(60) %}{% set ns.x=ns.x.join([ns.x, ns.x]) %}{% endfor %}".into(),
        "{% set ns=namespace(x='<') %}{% for i in range(60) %}{% set ns.x=ns.x|e|string|forceescape %}{% endfor %}{% for i in range(99999) %}{% set y = [1] * 10000 %}{% endfor %}".into(),
        "{% set ns=namespace(x='') %}{% for i in range(100000) %}{% set ns.x %}{{ ns.x }}{{ big }}{% endset %}{% endfor %}".into(),
        "{% filter upper %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endfilter %}".into(),
        "{% for i in range(99999) %}{{ xs|map('string')|list|sort|join|upper|lower|replace('1', big) }}{% endfor %}".into(),
        "{% for i in range(100000) %}{% macro m() %}{{ i }}{% endmacro %}{% endfor %}{% for i in range(100000) %}{% set c = cycler(1) %}{% endfor %}".into(),
        "{% for i in range(100000) %}{% set n = namespace(a=xs) %}{% endfor %}{% for i in range(100000) %}{% set n = joiner() %}{% endfor %}".into(),
        "{% set ns = namespace(d={}) %}{% for i in range(9999) %}{% set ns.d = dict(ns.d, **{i|string: i}) %}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% for i in range(100000) %}{{ 'y' in x }}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% for i in range(100000) %}{{ x|length }}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% for i in range(100000) %}{{ x == x ~ '' }}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% for i in range(100000) %}{{ x[9000000] }}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% set y = big * 9 %}{% for i in range(100000) %}{{ x.strip(y) }}{% endfor %}".into(),
        "{% set x = big * 10000 %}{% for i in range(100000) %}{{ x.isdigit() }}{{ x.startswith('y', 99999) }}{% endfor %}".into(),
        "{% set x = range(100000)|list %}{% for i in range(100000) %}{{ x.index(99999) }}{% endfor %}".into(),
        "{% set x = range(100000)|list %}{% for i in range(100000) %}{{ x[1:]|length }}{% endfor %}".into(),
        "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}".into(),
        "{% for i in range(5000) %}{% for a, b in [[big * 1000, 1]] %}{{ a }}{% endfor %}{% endfor %}".into(),
        "{% set x %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endset %}".into(),
    ];
    all.push(format!("{{{{ {} }}}}", vec!["1"; 60_000].join("+")));
    all.push(format!("{{{{ {} }}}}", "x".repeat(300_000)));
    all.push("{{ 1 }}".repeat(40_000));
    all
}

/// Nesting of every kind, far beyond what any stack holds.
fn nestings() -> Vec<String> {
    let times = 20_000;
    let print = |text: String| format!("{{{{ {text} }}}}");
    let mut all = vec![
        print(nested("(", "1", ")", times)),
        print(nested("[", "1", "]", times)),
        print(nested("{'a':", "1", "}", times)),
        print(nested("not ", "1", "", times)),
        print(nested("-", "1", "", times)),
        print(nested("+ ", "1", "", times)),
        print(nested("1+(", "1", ")", times)),
        print(nested("xs[", "1", "]", times)),
        print(nested("f(", "1", ")", times)),
        print(nested("1|default(", "1", ")", times)),
        print(nested("1 is eq(", "1", ")", times)),
        print(nested("(1 if ", "1", ")", times)),
        print(nested("1 if 0 else (", "1", ")", times)),
        print(nested("a.b(", "1", ")", times)),
        print(nested("1 if 1 if ", "1", "", times)),
        print(nested("'a' ~ (", "1", ")", times)),
        print(nested("f(x=", "1", ")", times)),
        print(nested("f(*", "1", ")", times)),
        print(nested("1 is eq [", "1", "]", times)),
        print(nested("xs[1:", "1", "]", times)),
        print(nested("1 or 1 and not 1 == 1 + 1 ~ 1 * 1 ** -(", "1", ")", 3000)),
        print("(".repeat(times)),
        print("[".repeat(times)),
        nested("{% if 1 %}", "x", "{% endif %}", 5000),
        nested("{% for i in xs %}", "x", "{% endfor %}", 5000),
        nested("{% set x %}", "x", "{% endset %}", 5000),
        nested("{% filter upper %}", "x", "{% endfilter %}", 5000),
        nested("{% with %}", "x", "{% endwith %}", 5000),
        nested("{% macro m() %}", "x", "{% endmacro %}", 5000),
        nested("{% generation %}", "x", "{% endgeneration %}", 5000),
        nested("{% call m() %}", "x", "{% endcall %}", 5000),
        nested("{% if 1 %}{% else %}", "x", "{% endif %}", 5000),
        nested("{% if 1 %}{% elif 1 %}", "x", "{% endif %}", 5000),
        format!("{{% set {} = 1 %}}", nested("(", "a", ")", times)),
        format!("{{% for {} in xs %}}{{% endfor %}}", nested("(", "a", ",)", times)),
        "{% if 1 %}".repeat(5000),
        "{% macro m(a=".to_owned() + &nested("[", "1", "]", times) + ") %}{% endmacro %}",
    ];
    all.push(print("1 ".to_owned() + &"if 1 ".repeat(30_000)));
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
