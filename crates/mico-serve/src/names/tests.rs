use super::*;
use crate::wire::MediaKind;

fn names() -> Names {
    let mut names = Names::of("tiny");
    names.served.push("other".to_owned());
    let fast = "mico T=64".parse().unwrap();
    names.profiles.insert("fast".to_owned(), Wanted::Pruned(fast));
    names
}

fn text(resolved: &Resolved) -> String {
    resolved.pruning.as_ref().map_or("none".to_owned(), ToString::to_string)
}

fn ask(names: &Names, model: &str) -> Result<Resolved> {
    names.resolve(Some(model), &[], None)
}

#[test]
fn names_with_budgets_shares_methods_and_profiles() {
    for (model, pruning, source) in [
        ("", "none", Source::Off),
        ("tiny", "none", Source::Off),
        ("other", "none", Source::Off),
        ("tiny@64", "mico T=64", Source::Model),
        ("tiny@0.25", "mico keep=0.25", Source::Model),
        ("tiny@1.0", "mico keep=1", Source::Model),
        ("tiny@64:divprune", "divprune T=64", Source::Model),
        ("tiny@32:vispruner:ratio=0.75", "vispruner:ratio=0.75 T=32", Source::Model),
        ("other@none", "none", Source::Model),
        ("tiny@fast", "mico T=64", Source::Model),
    ] {
        let resolved = ask(&names(), model).unwrap();
        assert_eq!((text(&resolved).as_str(), resolved.source), (pruning, source), "{model}");
        assert_eq!(resolved.model, if model.is_empty() { "tiny" } else { model });
    }
}

#[test]
fn names_that_do_not_resolve() {
    for (model, code) in [
        ("gpt-4o", Code::ModelNotFound),
        ("Tiny", Code::ModelNotFound),
        ("tiny@", Code::ModelNotFound),
        ("tiny@slow", Code::ModelNotFound),
        ("tiny@fast:divprune", Code::ModelNotFound),
        ("tiny@none:mico", Code::ModelNotFound),
        ("tiny@1.2.3", Code::ModelNotFound),
        ("tiny@99999999999999999999999", Code::ModelNotFound),
        ("tiny@0", Code::InvalidValue),
        ("tiny@1.5", Code::InvalidValue),
        ("tiny@64:nosuch", Code::InvalidValue),
        ("tiny@64:none", Code::InvalidValue),
        ("tiny@64:", Code::InvalidValue),
    ] {
        let error = ask(&names(), model).unwrap_err();
        assert_eq!((error.code, error.param.as_deref()), (code, Some("model")), "{model}: {error}");
    }
    let mut any = names();
    any.any_model = true;
    assert_eq!(ask(&any, "gpt-4o").unwrap().model, "gpt-4o");
    assert!(ask(&any, "tiny@slow").is_err());
}

#[test]
fn the_nearest_source_wins() {
    let mut names = names();
    names.default = Wanted::Pruned("mico T=128".parse().unwrap());
    names.detail.insert(Detail::Low, DetailMeaning::Tokens(16));
    names.detail.insert(Detail::High, DetailMeaning::Unpruned);
    let image = |detail| MediaUse {
        param: String::new(),
        url: String::new(),
        kind: MediaKind::Image,
        detail,
    };
    let low = [image(Detail::Low)];
    let mico = |json: &str| serde_json::from_str::<MicoRequest>(json).unwrap();
    let of = |model: &str, media: &[MediaUse], mico: Option<&MicoRequest>| {
        let resolved = names.resolve(Some(model), media, mico).unwrap();
        (text(&resolved), resolved.source.name(), resolved.warnings.len())
    };
    let plain = |text: &str, source, warnings| (text.to_owned(), source, warnings);
    assert_eq!(of("tiny", &[], None), plain("mico T=128", "default", 0));
    assert_eq!(of("tiny", &[image(Detail::Auto)], None), plain("mico T=128", "default", 0));
    assert_eq!(of("tiny", &low, None), plain("mico T=16", "detail", 0));
    let mixed = [image(Detail::Low), image(Detail::High)];
    assert_eq!(of("tiny", &mixed, None), plain("none", "detail", 1));
    assert_eq!(of("tiny@32", &low, None), plain("mico T=32", "model", 0));
    let request = mico(r#"{"budget":8}"#);
    assert_eq!(of("tiny@32", &low, Some(&request)), plain("mico T=8", "request", 0));
    let method = mico(r#"{"method":"divprune"}"#);
    assert_eq!(of("tiny@32", &low, Some(&method)), plain("divprune T=32", "request", 0));
    let off = mico(r#"{"off":true}"#);
    assert_eq!(of("tiny@32", &low, Some(&off)), plain("none", "request", 0));
    let silent = mico(r#"{"return":["indices"]}"#);
    assert_eq!(of("tiny", &[], Some(&silent)), plain("mico T=128", "default", 0));
}

#[test]
fn bounds_hold_for_requests_and_names() {
    let mut names = names();
    names.bounds = (Some(16), Some(64));
    assert!(ask(&names, "tiny@16").is_ok() && ask(&names, "tiny@64").is_ok());
    for model in ["tiny@8", "tiny@65", "tiny@none"] {
        let error = ask(&names, model).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("model"), "{model}: {error}");
    }
    assert!(names.check_tokens(128, "mico.keep").is_err());
}

#[test]
fn names_that_clients_would_split_are_refused() {
    for name in ["", "a=b", "a,b", "a@b", "a b", "a\n"] {
        assert!(Names::check_name(name).is_err(), "{name:?}");
    }
    assert!(Names::check_name("llava-1.5").is_ok());
    assert!(Names::warning("my-o1-model").is_some() && Names::warning("tiny").is_none());
}
