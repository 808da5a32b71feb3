//! One and three clients on the embedded model and on a small one with random weights. No time is asserted.

#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use mico_engine::families::FamilySpec;
use mico_engine::{Engine, EngineOptions, GenerationOptions, Request, Setting};
use mico_model::config::LlavaVision;
use mico_model::{Model, SyntheticOptions};
use mico_select::schedule::Budget;

use super::client::Client;
use super::{Concurrency, Level, LevelTurn};
use crate::{
    Benchmark, Comparison, Configuration, Error, Input, InputOptions, Journal, Loaded, Pareto,
    Report, Subject,
};

const LEVEL: Level = Level { clients: 3, requests: 2 };

fn subject(engine: Engine, name: &str) -> Subject {
    let input = Input::noise(&engine, &InputOptions::default()).unwrap();
    Subject::new(engine, input, Loaded::named(name))
}

fn embedded() -> Subject {
    let (engine, _) = Engine::open(&mico_tiny::MODEL, &EngineOptions::default()).unwrap();
    subject(engine.with_threads(2).unwrap(), "tiny")
}

/// LLaVA-1.5's shape, a few narrow blocks of it.
fn synthetic() -> Subject {
    let (family, preset) = FamilySpec::preset("llava-1.5-7b").unwrap();
    let mut config = preset.config();
    let decoder = &mut config.decoder;
    (decoder.hidden_size, decoder.intermediate_size, decoder.blocks) = (64, 128, 4);
    (decoder.heads, decoder.kv_heads, decoder.head_dim, decoder.vocab_size) = (4, 2, 16, 512);
    config.image_token_id = 511;
    let vision = config.vision.get_mut::<LlavaVision>().unwrap();
    let tower = &mut vision.tower;
    (tower.hidden_size, tower.intermediate_size) = (32, 64);
    (tower.blocks, tower.heads, vision.feature_layer) = (2, 2, -1);
    let preprocessing = family.default_preprocessing(&config).unwrap();
    let (model, _) = Model::synthetic(config, &SyntheticOptions::default()).unwrap();
    let engine = Engine::from_parts(family, model, None, preprocessing).unwrap();
    subject(engine.with_threads(2).unwrap(), "small")
}

fn benchmark(clients: &[usize]) -> Benchmark {
    let mut comparison = Comparison::new(vec!["mico".parse().unwrap()]);
    comparison.budgets = vec![Budget::Tokens(8)];
    let conditions = comparison.conditions(&Setting::default()).unwrap();
    let mut benchmark = Benchmark::new(conditions, Configuration::new(2, None, []));
    (benchmark.warmups, benchmark.rounds, benchmark.new_tokens) = (1, 2, 3);
    benchmark.concurrency = Concurrency::new(clients.to_vec(), LEVEL.requests).unwrap();
    benchmark
}

fn run(benchmark: &Benchmark, subject: &Subject, journal: &mut Journal) -> Report {
    benchmark.run(subject, journal, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn answers_to_several_clients_are_those_made_alone() {
    for subject in [embedded(), synthetic()] {
        for setting in ["unpruned", "mico T=8"] {
            let options = setting.parse::<Setting>().unwrap().options().unwrap();
            let generation = GenerationOptions { ignore_eos: true, ..GenerationOptions::greedy(6) };
            let turn = LevelTurn { subject: &subject, options: &options, generation, meter: None };
            let (sample, answers) = turn.run(LEVEL).unwrap();
            assert_eq!((sample.answered, sample.tokens), (6, 36));
            assert_eq!(sample.steps.rows, 6 * 5, "the first tokens come out of the prompts");
            assert!(sample.steps.count <= sample.steps.rows);
            let mut images: Vec<Request> = Vec::new();
            for (number, answers) in answers.iter().enumerate() {
                let image = subject.input.other_image(number as u64).unwrap();
                let client = Client { turn: &turn, name: String::new(), image };
                assert_eq!(answers.len(), LEVEL.requests);
                for (number, answer) in answers.iter().enumerate() {
                    let request = client.request(number);
                    let alone = subject.engine.run(&request, &mut ()).unwrap();
                    assert_eq!(answer.ids, alone.answer.ids);
                    images.push(request);
                }
            }
            let key = |request: &Request| {
                let prepared = subject.engine.prepare(request, &mut ()).unwrap();
                prepared.image_keys()[0]
            };
            let keys: std::collections::BTreeSet<[u8; 32]> =
                images.iter().map(|request| *key(request).as_bytes()).collect();
            assert_eq!(keys.len(), 6, "no encoder cache could help");
            // All that were admitted at once, and never more than three with one prompt.
            let memory = subject.engine.prepare(&images[0], &mut ()).unwrap().memory();
            assert!(
                (memory.total()..=memory.total() + 2 * memory.kv_bytes).contains(&sample.admitted)
            );
        }
    }
}

#[test]
fn the_document_has_every_level_of_every_setting() {
    let subject = embedded();
    let report = run(&benchmark(&[3, 1, 3]), &subject, &mut Journal::in_memory());
    let document = serde_json::to_value(&report).unwrap();
    for row in document["rows"].as_array().unwrap() {
        let levels = row["concurrency"].as_array().unwrap();
        let clients: Vec<u64> = levels.iter().map(|l| l["clients"].as_u64().unwrap()).collect();
        assert_eq!(clients, [1, 3]);
        for level in levels {
            let clients = level["clients"].as_u64().unwrap();
            assert_eq!(
                (level["requests"].as_u64(), level["answered"].as_u64()),
                (Some(2), Some(clients * 2 * 2))
            );
            let positive = |value: &serde_json::Value| value["median"].as_f64().unwrap() > 0.0;
            for field in ["requests_per_second", "tokens_per_second", "decode_tokens_per_second"] {
                assert!(positive(&level[field]) && positive(&level["pause_in_steps"]), "{field}");
            }
            for part in ["first_token", "between_tokens", "request"] {
                let at = |key: &str| level["seconds"][part][key]["max"].as_f64().unwrap();
                assert!([0.0, at("median"), at("p90"), at("longest")].is_sorted(), "{part}");
            }
            assert!(level["admitted_bytes"].as_u64().unwrap() > 0);
            // Nobody counts here.
            assert!(level["allocated_bytes"].is_null() && level["allocated_to_admitted"].is_null());
        }
        assert_eq!(levels[0]["rows_per_step"]["max"], 1.0);
        assert_eq!(levels[0]["relative_to_one"]["requests_per_second"]["median"], 1.0);
        assert!(levels[1]["relative_to_one"]["between_tokens"]["median"].is_number());
    }
    for text in [report.text(), report.markdown()] {
        assert!(text.contains("| unpruned | 3 |") && text.contains("| mico T=8 | 1 |"), "{text}");
    }
    let picture = Pareto::draw(&report, None).drawing.svg();
    assert!(picture.contains("clients at once") && picture.contains("decode tokens/s"));
    let without = run(&benchmark(&[]), &subject, &mut Journal::in_memory());
    let text = serde_json::to_string(&without).unwrap() + &without.markdown();
    assert!(!text.contains("concurrency") && !text.contains("clients"), "{text}");
}

#[test]
fn a_journal_keeps_levels_and_takes_further_ones() {
    let (folder, subject) = (tempfile::tempdir().unwrap(), synthetic());
    let out = folder.path().join("bench.json");
    let lines = |out: &Path| fs::read_to_string(Journal::path_of(out)).unwrap();
    let resumed = |clients: &[usize]| {
        let report = run(&benchmark(clients), &subject, &mut Journal::open(&out, true).unwrap());
        serde_json::to_value(&report).unwrap()
    };
    let first = resumed(&[1]);
    let whole = lines(&out);
    // What the runs have in common, and two rounds of two settings, each alone and at one level.
    assert_eq!(whole.lines().count(), 1 + 2 * 2 * 2);
    // Cut in the middle of the last line, a level.
    fs::write(Journal::path_of(&out), &whole[..whole.len() - 40]).unwrap();
    let after = resumed(&[1]);
    assert_eq!(lines(&out).lines().count(), 1 + 2 * 2 * 2);
    assert_eq!(after["rows"][0], first["rows"][0], "nothing of it was missing");
    assert_eq!(after["rounds"][1]["interrupted"], true);
    let kept = lines(&out);
    let more = resumed(&[1, 3]);
    assert!(lines(&out).starts_with(&kept) && lines(&out).lines().count() == 1 + 2 * 2 * 3);
    assert_eq!(more["rows"][1]["concurrency"][0], after["rows"][1]["concurrency"][0]);
    // Nothing is missing, so that nothing is run.
    let journal = Journal::open(&out, true).unwrap();
    assert!(benchmark(&[1, 3]).is_complete(&journal).unwrap());
    assert!(benchmark(&[3]).is_complete(&journal).unwrap());
    assert!(!benchmark(&[2]).is_complete(&journal).unwrap());
    let alone = benchmark(&[3]).report(&journal).unwrap();
    assert!(
        alone.rows[0].concurrency[0].relative_to_one.is_some(),
        "one client was measured before"
    );
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (clients, requests, words) in
        [(65, 2, "65 clients, accepted: 1 to 64"), (0, 2, "0 clients"), (2, 0, "0 requests")]
    {
        let error = Concurrency::new(vec![clients], requests).unwrap_err();
        assert!(matches!(error, Error::Concurrency { .. }) && error.to_string().contains(words));
    }
}

#[test]
fn what_the_engine_refuses_stops_all_clients() {
    let subject = embedded();
    // The whole image in the first block alone is more than that on average.
    let options = "fastv T=8".parse::<Setting>().unwrap().options().unwrap();
    let generation = GenerationOptions::greedy(2);
    let turn = LevelTurn { subject: &subject, options: &options, generation, meter: None };
    assert!(matches!(turn.run(LEVEL), Err(Error::Engine(_))));
}
