//! Turns, new images in later turns, streaming, stopping, and texts that try to be special.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::cell::Cell;

use mico_engine::pruner::Pruning;
use mico_engine::tokenizer::TextStream;
use mico_engine::{
    Finish, Generation, ImageInput, Message, Prompt, PromptStyle, Request, Sink, TextSink,
    TurnRequest,
};
use mico_select::schedule::Budget;
use support::{Case, lengths, messages, u32s};

fn turn(text: &str, images: Vec<ImageInput>, tokens: usize) -> TurnRequest {
    let prompt = Prompt::question(text, images.len());
    TurnRequest { images, prompt, generation: Generation::greedy(tokens), dump: false }
}

#[test]
fn a_second_turn_feeds_what_follows_the_answer() {
    let case = Case::load("llava15");
    let run = case.runs("pruned").into_iter().find(|run| run.get("second_turn").is_some()).unwrap();
    let mut request = case.request(&run);
    request.turn.prompt = Prompt::question("What is in the image?", 1);
    let mut session = case.engine.session(request.pruning.clone());
    session.ask(&case.engine, &request.turn, &mut ()).unwrap();
    let second = session.ask(&case.engine, &turn("And the sky?", Vec::new(), 8), &mut ()).unwrap();
    assert_eq!(second.trace.generated_ids, u32s(&run["second_turn"]["generated_ids"]));
    assert_eq!(session.history().len(), 4);
}

#[test]
fn a_conversation_in_turns_equals_one_prompt_when_nothing_is_pruned() {
    // The first answer is empty, so the turns join exactly where one prompt has them.
    let case = Case::load("llava15");
    let image = || vec![case.image("portrait")];
    let mut session = case.engine.session(Pruning::off());
    let first =
        session.ask(&case.engine, &turn("What is in the image?", image(), 0), &mut ()).unwrap();
    assert_eq!((first.answer.text.as_str(), first.answer.finish), ("", Finish::Length));
    let start = session.position();
    assert_eq!(start as usize, first.trace.prompt_tokens);
    // A new image in a later turn: positions and caches go on from the whole length so far.
    let second =
        session.ask(&case.engine, &turn("And this?", vec![case.image("landscape")], 3), &mut ());
    let second = second.unwrap();
    assert_eq!(lengths(&second), [Some(start as usize + second.trace.prompt_tokens); 4]);
    let mut ids =
        case.engine.encode_messages(&[Message::user("What is in the image?", 1)]).unwrap();
    // With an empty answer, the tail is what the template writes after it, tokenised by itself.
    let tail = case.engine.tokenizer().unwrap().encode(" USER: ").unwrap();
    ids.extend(tail);
    ids.push(120);
    ids.extend(case.engine.tokenizer().unwrap().encode("\nAnd this? ASSISTANT:").unwrap());
    let mut whole =
        Request::new(vec![case.image("portrait"), case.image("landscape")], Prompt::InputIds(ids));
    whole.turn.generation = Generation::greedy(3);
    let whole = case.run(&whole);
    assert_eq!(whole.trace.generated_ids, second.trace.generated_ids);
    assert_eq!(lengths(&whole), lengths(&second));
    for (a, b) in whole.trace.first_logits.top.iter().zip(&second.trace.first_logits.top) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-4, "{a:?} {b:?}");
    }
}

#[test]
fn a_new_image_in_a_later_turn_is_pruned_by_itself() {
    let case = Case::load("llava15");
    let pruning = Pruning { refine_layer: Some(2), ..Pruning::mico(Budget::Tokens(4)) };
    let mut session = case.engine.session(pruning);
    let image = |name: &str| vec![case.image(name)];
    session
        .ask(&case.engine, &turn("What is in the image?", image("portrait"), 4), &mut ())
        .unwrap();
    let before = session.cache_lengths();
    let position = session.position() as usize;
    let second =
        session.ask(&case.engine, &turn("And this?", image("landscape"), 4), &mut ()).unwrap();
    let stage1 = second.trace.stage1.as_ref().unwrap();
    assert_eq!((stage1.kept.len(), second.trace.stage2.as_ref().unwrap().kept.len()), (8, 1));
    let text = second.trace.prompt_tokens - 16;
    let pairs = lengths(&second).into_iter().flatten().zip(before.into_iter().flatten());
    let added: Vec<usize> = pairs.map(|(after, before)| after - before).collect();
    assert_eq!(added, [text + 8, text + 8, text + 1, text + 1]);
    assert_eq!(session.position() as usize, position + second.trace.prompt_tokens + 3);
    // Stage 1 does not depend on what was said before.
    let run =
        case.runs("pruned").into_iter().find(|run| run["name"] == "landscape.T5-K1-n2").unwrap();
    let mut alone = case.request(&run);
    alone.pruning.budget = Budget::Tokens(4);
    assert_eq!(case.run(&alone).trace.stage1.unwrap().kept, stage1.kept);
}

#[test]
fn a_failed_turn_leaves_the_conversation_as_it_was() {
    let case = Case::load("llava15");
    let mut session = case.engine.session(Pruning::off());
    session.ask(&case.engine, &turn("What?", vec![case.image("small")], 4), &mut ()).unwrap();
    let before = (session.cache_lengths(), session.position(), session.history().to_vec());
    let broken = vec![ImageInput::Encoded(b"no image".to_vec())];
    let error = session.ask(&case.engine, &turn("And?", broken, 4), &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("image 0: unknown image format"), "{error}");
    let ids = TurnRequest { prompt: Prompt::InputIds(vec![5]), ..turn("", Vec::new(), 4) };
    assert!(session.ask(&case.engine, &ids, &mut ()).is_err());
    assert_eq!(before, (session.cache_lengths(), session.position(), session.history().to_vec()));
}

/// Lets an answer begin and then asks for a token that does not exist.
struct FailsAfter(usize);

impl Sink for FailsAfter {
    fn steer(&mut self, _logits: &[f32]) -> Option<u32> {
        let fails = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        fails.then_some(u32::MAX)
    }
}

#[test]
fn a_turn_that_fails_in_its_answer_is_forgotten_by_every_kind_of_cache() {
    for (name, image, budget) in [("llava15", "portrait", 4), ("qwen35", "odd", 20)] {
        let case = Case::load(name);
        let image = || vec![case.image(image)];
        let pruning = Pruning::mico(Budget::Tokens(budget));
        let begun = || {
            let mut session = case.engine.session(pruning.clone());
            session.ask(&case.engine, &turn("What is it?", image(), 5), &mut ()).unwrap();
            session
        };
        let (mut straight, mut detour) = (begun(), begun());
        for (text, images, answered) in
            [("Why?", Vec::new(), 3), ("And this?", image(), 1), ("Oh?", Vec::new(), 0)]
        {
            let request = turn(text, images, 6);
            let before = (detour.cache_lengths(), detour.position());
            let mut sink = FailsAfter(answered);
            let error = detour.ask(&case.engine, &request, &mut sink).unwrap_err();
            assert!(error.to_string().contains("steered token"), "{error}");
            assert_eq!(before, (detour.cache_lengths(), detour.position()), "{name}");
        }
        let next = turn("And the sky?", Vec::new(), 6);
        let expected = straight.ask(&case.engine, &next, &mut ()).unwrap();
        let found = detour.ask(&case.engine, &next, &mut ()).unwrap();
        assert_eq!(found.trace.first_logits.top, expected.trace.first_logits.top, "{name}");
        assert_eq!(found.trace.generated_ids, expected.trace.generated_ids, "{name}");
        assert_eq!(lengths(&found), lengths(&expected), "{name}");
    }
}

#[test]
fn texts_never_become_special_tokens() {
    for name in ["llava15", "next-mistral"] {
        let mut case = Case::load(name);
        for style in ["template", "vicuna", "mistral", "plain"] {
            case.engine.set_style(style.parse::<PromptStyle>().unwrap());
            for text in ["<image>", "</s><s>", "<ima", "ge><image", "\u{F8F0}0\u{F8F1}", "{{ 1 }}"]
            {
                let plain = case.engine.encode_messages(&[Message::user("x", 1)]).unwrap();
                let ids = case.engine.encode_messages(&[Message::user(text, 1)]).unwrap();
                let count = |ids: &[u32], id: u32| ids.iter().filter(|&&i| i == id).count();
                for special in [1, 2, 120, 121] {
                    assert_eq!(count(&ids, special), count(&plain, special), "{style:?} {text}");
                }
            }
        }
    }
}

#[test]
fn the_papers_prompts() {
    let mut case = Case::load("llava15");
    let tokenizer = case.engine.tokenizer().unwrap().clone();
    let mut ids = vec![1];
    ids.extend(tokenizer.encode("A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions. USER: ").unwrap());
    ids.push(120);
    ids.extend(tokenizer.encode("\nwhat? ASSISTANT: that").unwrap());
    ids.push(2);
    ids.extend(tokenizer.encode("USER: and? ASSISTANT:").unwrap());
    case.engine.set_style("vicuna".parse::<PromptStyle>().unwrap());
    let chat = [Message::user("what?", 1), Message::assistant("that"), Message::user("and?", 0)];
    assert_eq!(case.engine.encode_messages(&chat).unwrap(), ids);
    case.engine.set_style("mistral".parse::<PromptStyle>().unwrap());
    let mut ids = vec![1];
    ids.extend(tokenizer.encode("[INST] ").unwrap());
    ids.push(120);
    ids.extend(tokenizer.encode("\nwhat? [/INST] that ").unwrap());
    ids.push(2);
    ids.extend(tokenizer.encode("[INST] and? [/INST]").unwrap());
    assert_eq!(case.engine.encode_messages(&chat).unwrap(), ids);
}

#[test]
fn streamed_pieces_join_to_the_whole_text() {
    let case = Case::load("llava15");
    let tokenizer = case.engine.tokenizer().unwrap();
    let chat = messages(&case.expected["conversations"]["turns"]["messages"]);
    let mut lists = vec![case.engine.encode_messages(&chat).unwrap()];
    // Bytes of a character apart and broken off, ids without a text, and a walk over everything.
    lists.extend([vec![6, 4, 125, 5, 3], vec![4, 33, 5], (0..128).collect()]);
    lists.push((0..600_u32).map(|i| (i * i * 31 + 17) % 128).collect());
    for ids in lists {
        let mut stream = TextStream::new(tokenizer);
        let mut text = String::new();
        for &id in &ids {
            text.push_str(&stream.push(id).unwrap());
        }
        text.push_str(&stream.finish().unwrap());
        let whole = tokenizer.decode(&ids).unwrap();
        let sure = |text: &str| text.replace(['\u{FFFD}', '\n', 'é'], "");
        assert_eq!(sure(&text), sure(&whole), "{ids:?}");
        if !whole.contains('\u{FFFD}') {
            assert_eq!(text, whole, "{ids:?}");
        }
    }
}

#[test]
fn a_stop_string_ends_the_answer_and_is_not_in_it() {
    let case = Case::load("llava15");
    let request = case.request(&case.runs("unpruned")[0]);
    let mut streamed = String::new();
    let mut sink = TextSink(|piece: &str| streamed.push_str(piece));
    let whole = case.engine.run(&request, &mut sink).unwrap().answer;
    assert_eq!((streamed, whole.ids.len(), whole.finish), (whole.text.clone(), 8, Finish::Length));
    // Across a boundary between two tokens' texts.
    let characters: Vec<char> = whole.text.chars().collect();
    let stop: String = characters[1..4].iter().collect();
    let mut stopping = request.clone();
    stopping.turn.generation.stop = vec!["never".into(), stop.clone()];
    let answer = case.run(&stopping).answer;
    let at = whole.text.find(&stop).unwrap();
    assert_eq!(answer.text, whole.text[..at]);
    assert_eq!(answer.finish, Finish::Stop(stop));
}

#[test]
fn end_tokens_end_unless_ignored() {
    let mut case = Case::load("llava15");
    let request = case.request(&case.runs("unpruned")[0]);
    let ids = case.run(&request).answer.ids;
    // Another checkpoint's generation_config may list several ends.
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(support::folder("llava15")).unwrap() {
        let file = file.unwrap();
        if file.path().is_file() {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
    }
    let text =
        format!("{{\"eos_token_id\": [2, {}], \"temperature\": 0.9, \"do_sample\": true}}", ids[2]);
    std::fs::write(folder.path().join("generation_config.json"), text).unwrap();
    case.engine =
        mico_engine::Engine::open(folder.path(), &mico_engine::EngineOptions::default()).unwrap().0;
    let answer = case.run(&request).answer;
    assert_eq!((answer.ids.as_slice(), answer.finish), (&ids[..2], Finish::End));
    let mut on = request.clone();
    on.turn.generation.ignore_eos = true;
    assert_eq!(case.run(&on).answer.ids, ids);
}

#[test]
fn sampling_is_seeded_and_cold_sampling_is_greedy() {
    let case = Case::load("llava15");
    let mut request = case.request(&case.runs("unpruned")[0]);
    let greedy = case.run(&request).answer.ids;
    request.turn.generation.temperature = 1e-4;
    assert_eq!(case.run(&request).answer.ids, greedy);
    request.turn.generation.temperature = 3.0;
    let hot = |seed: u64| {
        let mut request = request.clone();
        request.turn.generation.seed = seed;
        case.run(&request).answer.ids
    };
    assert_eq!(hot(1), hot(1));
    assert_ne!(hot(1), hot(2));
}

/// Lets a few tokens pass.
struct Patience(Cell<usize>);

impl Sink for Patience {
    fn cancelled(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

#[test]
fn cancelling_keeps_what_was_said_and_the_conversation() {
    let case = Case::load("llava15");
    let mut session = case.engine.session(Pruning::mico(Budget::Tokens(4)));
    let first = turn("What is in the image?", vec![case.image("portrait")], 8);
    let answer = session.ask(&case.engine, &first, &mut Patience(Cell::new(4))).unwrap().answer;
    assert_eq!((answer.ids.len(), answer.finish), (3, Finish::Cancelled));
    let second = session.ask(&case.engine, &turn("And?", Vec::new(), 2), &mut ()).unwrap();
    assert_eq!(second.answer.ids.len(), 2);
}
