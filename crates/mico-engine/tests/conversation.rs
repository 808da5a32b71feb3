//! Turns, new images in later turns, streaming, ends, and texts that try to be special.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use mico_engine::prompt::{MISTRAL, VICUNA};
use mico_engine::pruner::Pruning;
use mico_engine::tokenizer::TextStream;
use mico_engine::{
    Finish, GenerationOptions, ImageInput, Message, Observe, Prompt, PromptStyle, Request, Sink,
    TextSink, TurnRequest,
};
use mico_select::schedule::Budget;
use support::{Case, later, messages, refined, stage2, top, u32s};

fn turn(text: &str, images: Vec<ImageInput>, tokens: usize) -> TurnRequest {
    let prompt = Prompt::question(text, images.len());
    let mut turn = TurnRequest::new(images, prompt);
    turn.generation = GenerationOptions::greedy(tokens);
    turn.observe = Observe::TRACE;
    turn
}

#[test]
fn a_second_turn_feeds_what_follows_the_answer() {
    let case = Case::load("llava15");
    let run = case.runs("pruned").into_iter().find(|run| run.get("second_turn").is_some()).unwrap();
    let mut request = case.request(&run);
    request.turn.prompt = Prompt::question("What is in the image?", 1);
    let mut session = case.engine.session(request.options.clone());
    session.ask(&case.engine, &request.turn, &mut ()).unwrap();
    let second = session.ask(&case.engine, &turn("And the sky?", Vec::new(), 8), &mut ()).unwrap();
    assert_eq!(second.answer.ids, u32s(&run["second_turn"]["generated_ids"]));
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
    assert_eq!(start as usize, first.usage.prompt_tokens);
    // A new image in a later turn: positions and caches go on from the whole length so far.
    let second =
        session.ask(&case.engine, &turn("And this?", vec![case.image("landscape")], 3), &mut ());
    let second = second.unwrap();
    assert_eq!(second.cache_lengths, [Some(start as usize + second.usage.prompt_tokens); 4]);
    let mut ids =
        case.engine.encode_messages(&[Message::user("What is in the image?", 1)], None).unwrap();
    // With an empty answer, the tail is what the template writes after it, tokenised by itself.
    let tail = case.engine.tokenizer().unwrap().encode(" USER: ").unwrap();
    ids.extend(tail);
    ids.push(120);
    ids.extend(case.engine.tokenizer().unwrap().encode("\nAnd this? ASSISTANT:").unwrap());
    let mut whole =
        Request::new(vec![case.image("portrait"), case.image("landscape")], Prompt::InputIds(ids));
    whole.turn.generation = GenerationOptions::greedy(3);
    whole.turn.observe = Observe::TRACE;
    let whole = case.run(&whole);
    assert_eq!(whole.answer.ids, second.answer.ids);
    assert_eq!(whole.cache_lengths, second.cache_lengths);
    for (a, b) in top(&whole).top.iter().zip(&top(&second).top) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-4, "{a:?} {b:?}");
    }
}

#[test]
fn a_new_image_in_a_later_turn_is_pruned_by_itself() {
    let case = Case::load("llava15");
    let pruning = refined(4, 2);
    let mut session = case.engine.session(pruning);
    let image = |name: &str| vec![case.image(name)];
    session
        .ask(&case.engine, &turn("What is in the image?", image("portrait"), 4), &mut ())
        .unwrap();
    let before = session.cache_lengths();
    let position = session.position() as usize;
    let second =
        session.ask(&case.engine, &turn("And this?", image("landscape"), 4), &mut ()).unwrap();
    let stage1 = second.stage1.as_ref().unwrap();
    assert_eq!((stage1.kept.len(), stage2(&second).unwrap().len()), (8, 1));
    let text = second.usage.prompt_tokens - 16;
    let pairs = second.cache_lengths.iter().flatten().zip(before.iter().flatten());
    let added: Vec<usize> = pairs.map(|(after, before)| after - before).collect();
    assert_eq!(added, [text + 8, text + 8, text + 1, text + 1]);
    assert_eq!(session.position() as usize, position + second.usage.prompt_tokens + 3);
    // Stage 1 does not depend on what was said before.
    let run =
        case.runs("pruned").into_iter().find(|run| run["name"] == "landscape.T5-K1-n2").unwrap();
    let mut alone = case.request(&run);
    alone.options.pruning.budget = Budget::Tokens(4);
    assert_eq!(case.run(&alone).stage1.unwrap().kept, stage1.kept);
}

#[test]
fn a_failed_turn_leaves_the_conversation_as_it_was() {
    let case = Case::load("llava15");
    let mut session = case.engine.session(Pruning::off());
    session.ask(&case.engine, &turn("What?", vec![case.image("small")], 4), &mut ()).unwrap();
    let before = (session.cache_lengths(), session.position(), session.history().to_vec());
    let broken = vec![ImageInput::Encoded(b"no image".to_vec())];
    let error = session.ask(&case.engine, &turn("And?", broken, 4), &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("image 0: this is a text"), "{error}");
    let ids = later(&turn("", Vec::new(), 4), vec![5]);
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
        assert_eq!(top(&found).top, top(&expected).top, "{name}");
        assert_eq!(found.answer.ids, expected.answer.ids, "{name}");
        assert_eq!(found.cache_lengths, expected.cache_lengths, "{name}");
    }
}

#[test]
fn texts_never_become_special_tokens() {
    for name in ["llava15", "next-mistral"] {
        let case = Case::load(name);
        for style in ["template", "vicuna", "mistral", "plain"] {
            let style: PromptStyle = style.parse().unwrap();
            let encode = |text: &str| {
                case.engine.encode_messages(&[Message::user(text, 1)], Some(style)).unwrap()
            };
            for text in ["<image>", "</s><s>", "<ima", "ge><image", "\u{F8F0}0\u{F8F1}", "{{ 1 }}"]
            {
                let (plain, ids) = (encode("x"), encode(text));
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
    let case = Case::load("llava15");
    let tokenizer = case.engine.tokenizer().unwrap().clone();
    let mut ids = vec![1];
    ids.extend(tokenizer.encode("A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions. USER: ").unwrap());
    ids.push(120);
    ids.extend(tokenizer.encode("\nwhat? ASSISTANT: that").unwrap());
    ids.push(2);
    ids.extend(tokenizer.encode("USER: and? ASSISTANT:").unwrap());
    let chat = [Message::user("what?", 1), Message::assistant("that"), Message::user("and?", 0)];
    let encode = |style| case.engine.encode_messages(&chat, Some(style)).unwrap();
    assert_eq!(encode(PromptStyle::Format(&VICUNA)), ids);
    let mut ids = vec![1];
    ids.extend(tokenizer.encode("[INST] ").unwrap());
    ids.push(120);
    ids.extend(tokenizer.encode("\nwhat? [/INST] that ").unwrap());
    ids.push(2);
    ids.extend(tokenizer.encode("[INST] and? [/INST]").unwrap());
    assert_eq!(encode(PromptStyle::Format(&MISTRAL)), ids);
}

#[test]
fn streamed_pieces_join_to_the_whole_text() {
    let case = Case::load("llava15");
    let tokenizer = case.engine.tokenizer().unwrap();
    let chat = messages(&case.expected["conversations"]["turns"]["messages"]);
    let mut lists = vec![case.engine.encode_messages(&chat, None).unwrap()];
    // Bytes of a character apart and broken off, ids without a text, and a walk over everything.
    lists.extend([vec![6, 4, 125, 5, 3], vec![4, 33, 5], (0..128).collect()]);
    lists.push((0..600_u32).map(|i| (i * i * 31 + 17) % 128).collect());
    for ids in lists {
        let mut stream = TextStream::new(tokenizer.clone());
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
    let folder = support::copy("llava15");
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

#[test]
fn log_probabilities_are_those_of_the_models_own_logits() {
    let case = Case::load("llava15");
    let mut request = case.request(&case.runs("unpruned")[0]);
    assert_eq!(case.run(&request).answer.logprobs, None);
    request.turn.generation.logprobs = Some(4);
    let greedy = case.run(&request);
    let logprobs = greedy.answer.logprobs.as_ref().unwrap();
    let ids: Vec<u32> = logprobs.iter().map(|token| token.id).collect();
    assert_eq!(ids, greedy.answer.ids);
    for token in logprobs {
        assert_eq!((token.top.len(), token.top[0]), (4, (token.id, token.logprob)));
        assert!(token.top.windows(2).all(|pair| pair[0].1 >= pair[1].1) && token.logprob <= 0.0);
    }
    let logits = &top(&greedy).top;
    for (first, second) in logits.iter().zip(&logprobs[0].top) {
        assert_eq!(first.0, second.0);
        let shift = (first.1 - logits[0].1) - (second.1 - logprobs[0].logprob);
        assert!(shift.abs() < 1e-4, "{shift}");
    }
    // Neither temperature nor a smaller choice changes them; the only choice left is the likeliest.
    request.turn.generation.temperature = 5.0;
    request.turn.generation.top_k = Some(1);
    assert_eq!(case.run(&request).answer, greedy.answer);
    request.turn.generation.top_k = Some(0);
    let error = case.engine.run(&request, &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("top-k is 0"), "{error}");
}
