//! Whose fault an error is: every kind, provoked through the engine's public face.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use mico_engine::pruner::{
    Cut, Plan, PlanRequest, Pruner, Pruning, Quota, Signals, Stage1Plan, Stage1View, Stage2View,
};
use mico_engine::{
    Engine, EngineOptions, Error, ErrorKind, GenerationOptions, ImageInput, ImageLimits, Message,
    Prompt, Request, Result, SessionOptions, Sink, Step, Switches, TurnRequest,
};
use mico_select::methods::pruner_by_name;
use mico_select::schedule::Budget;
use mico_select::{Merge, Selection, Settings};
use mico_vision::decode::{DecodeOptions, Limits};
use mico_vision::{RgbImage, Size};
use support::{Case, copy, folder, later, pooled, refined};

/// What was provoked, with its error and the kind it has to be.
type Row = (&'static str, Error, ErrorKind);

fn row<T: Debug>(what: &'static str, result: Result<T>, kind: ErrorKind) -> Row {
    (what, result.unwrap_err(), kind)
}

fn request(case: &Case) -> Request {
    case.request(&case.runs("unpruned")[0])
}

/// Runs a case's first request after a change.
fn run(case: &Case, change: impl FnOnce(&mut Request)) -> Result<()> {
    let mut request = request(case);
    change(&mut request);
    case.engine.run(&request, &mut ()).map(|_| ())
}

fn method(name: &str, tokens: usize) -> Pruning {
    Pruning::new(pruner_by_name(name, Settings::default()).unwrap(), Budget::Tokens(tokens))
}

fn setting(key: &str, value: &str) -> Settings {
    Settings::new([(key.to_owned(), value.to_owned())])
}

fn with_limits(limits: ImageLimits) -> SessionOptions {
    let mut options = SessionOptions::default();
    options.limits = limits;
    options
}

fn wrong_options() -> Vec<Row> {
    let case = Case::load("llava15");
    let prune = |pruning: Pruning| run(&case, |request| request.options.pruning = pruning);
    let mico = |tokens| Pruning::mico(Budget::Tokens(tokens));
    let generate = |generation| run(&case, |request| request.turn.generation = generation);
    let made = |name, settings| Ok(pruner_by_name(name, settings).map(|_| ())?);
    let plain = GenerationOptions::default();
    let tiles = ImageLimits { max_tiles: Some(0), ..ImageLimits::default() };
    let pixels = ImageLimits { max_pixels: Some(10), ..ImageLimits::default() };
    let check = |name: &str, limits| Case::load(name).engine.check(&with_limits(limits));
    let rows = [
        ("budget 0", prune(mico(0))),
        ("budget 0 of a published method", prune(method("fastv", 0))),
        ("share 0", prune(Pruning::mico(Budget::Share(0.0)))),
        ("block 99", prune(refined(4, 99))),
        ("pool 0", prune(pooled(4, 0))),
        ("unknown method", made("fast", Settings::default())),
        ("unknown setting", made("mico", setting("speed", "1"))),
        ("value of a setting", made("mico", setting("relevance", "all"))),
        ("unknown switch", "speed=1".parse::<Switches>().map(|_| ())),
        ("value of a switch", "relevance=all".parse::<Switches>().map(|_| ())),
        ("temperature", generate(GenerationOptions { temperature: -1.0, ..plain.clone() })),
        ("top-p", generate(GenerationOptions { top_p: 0.0, ..plain.clone() })),
        ("empty stop string", generate(GenerationOptions { stop: vec![String::new()], ..plain })),
        ("a limit the family does not know", check("llava15", pixels)),
        ("a limit out of range", check("internvl3", tiles)),
        ("a limit below the least", check("qwen25", pixels)),
    ];
    rows.map(|(what, result)| row(what, result, ErrorKind::Invalid)).into()
}

fn wrong_prompts() -> Vec<Row> {
    let case = Case::load("llava15");
    let ids = |ids: Vec<u32>| run(&case, |request| request.turn.prompt = Prompt::InputIds(ids));
    let say = |messages| run(&case, |request| request.turn.prompt = Prompt::Messages(messages));
    let other = Case::load("llava15-tied");
    let mut session = case.engine.session(SessionOptions::default());
    let mut turn = request(&case).turn;
    turn.prompt = Prompt::question("What?", 1);
    session.ask(&case.engine, &turn, &mut ()).unwrap();
    let mut ask =
        |engine: &Engine, turn: &TurnRequest| session.ask(engine, turn, &mut ()).map(|_| ());
    let long: Vec<u32> = [120].into_iter().chain((0..5_000).map(|i| 5 + i % 50)).collect();
    let refused = ErrorKind::Refused;
    vec![
        row("an image without placeholder", ids(vec![1, 5]), refused),
        row("two placeholders for one image", ids(vec![120, 5, 120]), refused),
        row("an id beyond the vocabulary", ids(vec![1, 120, 4_000]), ErrorKind::Invalid),
        row("no ids", ids(vec![]), refused),
        row("no messages", say(vec![]), refused),
        row("no question", say(vec![Message::assistant("Yes.")]), refused),
        row("ids after messages", ask(&case.engine, &later(&turn, vec![5])), refused),
        row("a conversation of another engine", ask(&other.engine, &turn), refused),
        row("a long prompt", ids(long), ErrorKind::TooLarge),
    ]
}

/// The header of a BMP file of that size, which holds no pixels.
fn header(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    for word in [1_u32 << 20, 0, 54, 40, width, height, 1 | (24 << 16), 0, 0, 0, 0, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn wrong_images() -> Vec<Row> {
    use ErrorKind::{Corrupt, TooLarge, Unsupported};
    let case = Case::load("llava15");
    let show = |case: &Case, image| run(case, |request| request.turn.images = vec![image]);
    let file = |bytes: &[u8]| show(&case, ImageInput::Encoded(bytes.to_vec()));
    let ImageInput::Encoded(png) = case.image("portrait") else { panic!("not a file") };
    let mut damaged = png.clone();
    damaged[41..].iter_mut().for_each(|byte| *byte = !*byte);
    let strict = |limits: Limits| {
        let decode = DecodeOptions { limits, ..DecodeOptions::default() };
        let options = EngineOptions { decode, ..EngineOptions::default() };
        let (engine, _) = Engine::open(&folder("llava15"), &options).unwrap();
        engine.run(&request(&case), &mut ())
    };
    let strip = ImageInput::Decoded(RgbImage::filled(Size::new(1, 4_000), [9; 3]));
    vec![
        row("an empty file", file(b""), Corrupt),
        row("a truncated image", file(&png[..png.len() / 2]), Corrupt),
        row("a damaged image", file(&damaged), Corrupt),
        row("no image", file(b"not a picture"), Unsupported),
        row("a format that is not read", file(b"II*\0\x08\0\0\0"), Unsupported),
        row(
            "an image of a shape the family cannot take",
            show(&Case::load("qwen25"), strip),
            Unsupported,
        ),
        row("a few bytes that claim many pixels", file(&header(30_000, 30_000)), TooLarge),
        row("a few bytes that claim a long side", file(&header(1, 40_000)), TooLarge),
        row(
            "more pixels than asked for",
            strict(Limits { pixels: 9, ..Limits::default() }),
            TooLarge,
        ),
        row(
            "more bytes than asked for",
            strict(Limits { encoded_bytes: 9, ..Limits::default() }),
            TooLarge,
        ),
    ]
}

fn open(folder: &Path) -> Result<Engine> {
    Engine::open(folder, &EngineOptions::default()).map(|(engine, _)| engine)
}

fn wrong_folders() -> Vec<Row> {
    use ErrorKind::{Corrupt, Io, Unsupported};
    let written = |file: &str, content: &[u8]| {
        let copy = copy("llava15-tf5");
        std::fs::write(copy.path().join(file), content).unwrap();
        open(copy.path())
    };
    let weights = std::fs::read(folder("llava15-tf5").join("model.safetensors")).unwrap();
    let text_only = {
        let copy = copy("llava15");
        std::fs::remove_file(copy.path().join("tokenizer.json")).unwrap();
        let engine = open(copy.path()).unwrap();
        engine.run(&Request::new(vec![], Prompt::question("What?", 0)), &mut ())
    };
    let empty = tempfile::tempdir().unwrap();
    vec![
        row("a missing folder", open(&empty.path().join("none")), Io),
        row("an empty folder", open(empty.path()), Io),
        row("config.json that is not JSON", written("config.json", b"{"), Corrupt),
        row("config.json without a model", written("config.json", b"{}"), Corrupt),
        row("an unknown model", written("config.json", br#"{"model_type": "x"}"#), Unsupported),
        row(
            "truncated weights",
            written("model.safetensors", &weights[..weights.len() / 2]),
            Corrupt,
        ),
        row("weights without a header", written("model.safetensors", b"\xff"), Corrupt),
        row("a broken tokenizer", written("tokenizer.json", b"{"), Corrupt),
        row("a file that is not text", written("tokenizer.json", b"\xff\xfe"), Corrupt),
        row("a broken template", written("chat_template.jinja", b"{{ message[ }}"), Corrupt),
        row("broken preprocessing", written("preprocessor_config.json", b"[]"), Corrupt),
        row(
            "preprocessing for another tower",
            written("preprocessor_config.json", b"{\"crop_size\": 14, \"size\": 14}"),
            Corrupt,
        ),
        row("text without a tokenizer", text_only, Unsupported),
    ]
}

fn refused_methods() -> Vec<Row> {
    let (llava, linear) = (Case::load("llava15"), Case::load("qwen35"));
    let rows = [
        ("a method the model gives no ground for", &llava, method("cdpruner", 4)),
        ("a budget the first blocks exceed", &llava, method("fastv", 2)),
        ("attention that is not there", &linear, method("sparsevlm", 8)),
        ("a schedule out of reach", &linear, Pruning::mico(Budget::Tokens(3))),
    ];
    rows.map(|(what, case, pruning)| {
        row(what, run(case, |request| request.options.pruning = pruning), ErrorKind::Refused)
    })
    .into()
}

/// A pruner that plans to keep four tokens, and then two, and answers with something else.
#[derive(Debug)]
struct Breach {
    before: Option<Selection>,
    after: Option<Selection>,
}

impl Pruner for Breach {
    fn name(&self) -> &'static str {
        "breach"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> mico_select::Result<Plan> {
        let quotas = vec![Quota::Image(4); request.images().len()];
        let stage1 = Stage1Plan::new(Signals::default(), quotas, request.images());
        let cuts = vec![Cut::new(2, 2, Signals::default())];
        Ok(Plan::before_decoder(stage1).with_cuts(cuts))
    }

    fn before_decoder(&self, _: &Stage1View<'_>, _: &Quota) -> mico_select::Result<Selection> {
        Ok(self.before.clone().unwrap_or_else(|| keep(&[0, 1, 2, 3])))
    }

    fn after_block(&self, _: &Stage2View<'_>, _: usize) -> mico_select::Result<Selection> {
        Ok(self.after.clone().unwrap_or_else(|| keep(&[0, 1])))
    }
}

fn keep(kept: &[usize]) -> Selection {
    Selection::keeping(kept.to_vec())
}

/// Plans what it never carries out.
#[derive(Debug)]
struct Silent;

impl Pruner for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> mico_select::Result<Plan> {
        Breach { before: None, after: None }.plan(request)
    }
}

fn broken_contracts() -> Vec<Row> {
    let case = Case::load("llava15");
    let with = |pruner: Arc<dyn Pruner>| {
        run(&case, |request| request.options.pruning = Pruning::new(pruner, Budget::Tokens(4)))
    };
    let honest = Breach { before: None, after: None };
    assert!(with(Arc::new(honest)).is_ok());
    let merging = |kept: &[usize], target, source| {
        let merge = Merge { target, own: 0.5, sources: vec![source], shares: vec![0.5] };
        let mut selection = keep(kept);
        selection.merges.push(merge);
        selection
    };
    let twice = |kept: &[usize]| {
        let mut selection = keep(kept);
        selection.sequence = vec![kept[0]; kept.len()];
        selection
    };
    let (four, two) = ([0, 1, 2, 3], [0, 1]);
    let before = |what, selection| (what, Some(selection), None);
    let after = |what, selection| (what, None, Some(selection));
    let rows = [
        before("too many", keep(&[0, 1, 2, 3, 4])),
        before("too few", keep(&[0, 1, 2])),
        before("none", keep(&[])),
        before("not ascending", keep(&[3, 2, 1, 0])),
        before("one twice", keep(&[0, 1, 1, 2])),
        before("one that is not there", keep(&[0, 1, 2, 16])),
        before("an order with one twice", twice(&four)),
        before("merged from nowhere", merging(&four, 0, 99)),
        before("merged into one that goes", merging(&four, 9, 8)),
        after("too many inside", keep(&[0, 1, 2])),
        after("not ascending inside", keep(&[1, 0])),
        after("one that is not there inside", keep(&[0, 4])),
        after("an order with one twice inside", twice(&two)),
        after("merged from nowhere inside", merging(&two, 0, 4)),
        after("merged into nothing inside", merging(&two, 99, 2)),
    ];
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|(what, before, after)| {
            row(what, with(Arc::new(Breach { before, after })), ErrorKind::Internal)
        })
        .collect();
    rows.push(row("nothing at all", with(Arc::new(Silent)), ErrorKind::Internal));
    rows
}

/// Encodes the image of a case's first request under some options, and asks under others.
fn reuse(
    case: &Case,
    asked_of: &Case,
    encoded: &SessionOptions,
    asked: &SessionOptions,
) -> Result<()> {
    let image = &request(case).turn.images[0];
    let image = case.engine.encode_image(image, encoded, &mut ()).unwrap();
    run(asked_of, |request| {
        request.turn.images = vec![ImageInput::Features(image)];
        request.options = asked.clone();
    })
}

fn encoded_otherwise() -> Vec<Row> {
    let switched = |text: &str| {
        let mut options = SessionOptions::default();
        options.switches = text.parse().unwrap();
        options
    };
    let plain = SessionOptions::default();
    let pruned = SessionOptions::from(Pruning::mico(Budget::Tokens(6)));
    let small = with_limits(ImageLimits { max_pixels: Some(2_048), ..ImageLimits::default() });
    let (llava, again) = (Case::load("llava15"), Case::load("llava15"));
    let (next, qwen) = (Case::load("next-llama"), Case::load("qwen25"));
    // What does not concern the image may differ.
    let elsewhere = switched("position_mode=compact,relevance=visual_only");
    assert!(reuse(&llava, &llava, &plain, &elsewhere).is_ok());
    assert!(reuse(&llava, &llava, &pruned, &plain).is_ok());
    let rows = [
        ("of another engine", reuse(&llava, &again, &plain, &plain)),
        ("with other switches", reuse(&llava, &llava, &switched("llava15_pad=crop"), &plain)),
        ("packed otherwise", reuse(&next, &next, &pruned, &plain)),
        ("with other limits", reuse(&qwen, &qwen, &small, &plain)),
    ];
    rows.map(|(what, result)| row(what, result, ErrorKind::Invalid)).into()
}

/// Stops at once.
struct Impatient;

impl Sink for Impatient {
    fn progress(&mut self, _: Step) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

fn cancelled() -> Vec<Row> {
    let case = Case::load("llava15");
    let request = request(&case);
    let image = &request.turn.images[0];
    let encoded = case.engine.encode_image(image, &request.options, &mut Impatient);
    let kind = ErrorKind::Cancelled;
    vec![
        row("a request", case.engine.run(&request, &mut Impatient), kind),
        row("an image", encoded, kind),
    ]
}

#[test]
fn errors_say_whose_fault_they_are() {
    let mut met = Vec::new();
    for rows in [
        wrong_options(),
        wrong_prompts(),
        wrong_images(),
        wrong_folders(),
        refused_methods(),
        broken_contracts(),
        encoded_otherwise(),
        cancelled(),
    ] {
        for (what, error, kind) in rows {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{what}: {text}");
            assert_eq!(error.kind(), kind, "{what}: {text}");
            met.push(kind);
        }
    }
    assert!(ErrorKind::ALL.iter().all(|kind| met.contains(kind)), "{met:?}");
}
