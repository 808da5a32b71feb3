//! `tokenizer.json` from strangers: one line each, nothing panics, nothing grows without bounds.
#![allow(clippy::unwrap_used, reason = "tests state their expectations by unwrapping")]

mod support;

use std::path::PathBuf;

use mico_engine::tokenizer::Tokenizer;
use mico_engine::{Error, ErrorKind};
use mico_util::SplitMix64;
use serde_json::{Value, json};
use support::{folder, json as read};

/// Texts of every script that a component may treat differently.
const TEXTS: [&str; 8] = [
    "",
    "a",
    "hello aaa bé 😀 12",
    "What  is\tthe\r\n\r\nanswer?!  ",
    "e\u{301}\u{302} \u{fdfa} İ ﬁ",
    "日本語のテキスト 한국어",
    "<s><image></s>[INST]<0x41>▁▁",
    "1234567890 ½ \u{0}\u{7f}\u{202e}",
];

fn file(case: &str) -> Value {
    read(&folder(case).join("tokenizer.json"))
}

fn parse(file: &Value) -> Result<Tokenizer, Error> {
    Tokenizer::parse(&file.to_string(), Value::Null, PathBuf::from("M/tokenizer.json"))
}

/// The message and kind of a refusal, which is one short line that names the file.
fn refused(file: &Value) -> (String, ErrorKind) {
    let error = parse(file).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("tokenizer M/tokenizer.json: "), "{text}");
    assert!(!text.contains('\n') && text.chars().count() < 400, "{text}");
    (text, error.kind())
}

/// The file of a case with one part replaced.
fn with(case: &str, pointer: &str, value: Value) -> Value {
    let mut file = file(case);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    file.pointer_mut(parent).unwrap()[key] = value;
    file
}

#[test]
fn unknown_components_and_fields_are_refused_by_name() {
    let named = |pointer: &str, value: Value, part: &str| {
        let (text, kind) = refused(&with("llava15-tied", pointer, value));
        assert!(text.contains(part), "{text}");
        assert_eq!(kind, ErrorKind::Unsupported, "{text}");
    };
    let fixed = json!({"type": "FixedLength", "length": 0});
    named("/pre_tokenizer", fixed.clone(), "pre_tokenizer 'FixedLength' is not supported");
    let nested = json!({"type": "Sequence", "pretokenizers": [fixed]});
    named("/pre_tokenizer", nested, "pre_tokenizer 'FixedLength'");
    for map in ["AAAA", "/////w=="] {
        let precompiled = json!({"type": "Precompiled", "precompiled_charsmap": map});
        named("/normalizer", precompiled, "normalizer 'Precompiled' is not supported");
    }
    named("/model/continuing_subword_prefix", json!("hello"), "`model.continuing_subword_prefix`");
    named("/model/end_of_word_suffix", json!("</w>"), "`model.end_of_word_suffix`");
    named("/model", json!({"type": "Unigram", "unk_id": 0, "vocab": []}), "model 'Unigram'");
    named("/model/novelty", json!(1), "field 'novelty' of the model");
    named("/decoder", json!({"type": "CTC"}), "decoder 'CTC'");
    named("/post_processor", json!({"type": "BertProcessing"}), "post_processor 'BertProcessing'");
    named("/normalizer", json!({"type": "NFC", "form": 2}), "normalizer 'NFC': field 'form'");
    named("/normalizer", json!({"type": "x\u{1b}[31m".repeat(900)}), r"normalizer 'x\u{1b}[31m");
    let deep = (0..20).fold(
        json!({"type": "NFC"}),
        |inner, _| json!({"type": "Sequence", "normalizers": [inner]}),
    );
    named("/normalizer", deep, "normalizer 'Sequence' is not supported");
}

#[test]
fn fields_out_of_range_and_references_to_nothing_are_refused() {
    let named = |pointer: &str, value: Value, part: &str| {
        let (text, kind) = refused(&with("llava15-tied", pointer, value));
        assert!(text.contains(part), "{text}");
        assert_eq!(kind, ErrorKind::Corrupt, "{text}");
    };
    let second = json!([{"Sequence": {"id": "B", "type_id": 0}}]);
    named("/post_processor/single", second, "neither the sequence A");
    named("/post_processor/single", json!([]), "sequence A once");
    named("/post_processor/special_tokens/<s>/ids", json!([9999]), "special token '<s>'");
    named("/post_processor/special_tokens/<s>/ids", json!([]), "special token '<s>'");
    let unnamed = json!([{"SpecialToken": {"id": "<none>", "type_id": 0}}]);
    named("/post_processor/single", unnamed, "<none>");
    named("/model/merges", json!([["hello", "world"]]), "merge 0 needs the token");
    named("/model/merges", json!(["a"]), "merge 0 is");
    named("/model/vocab", json!({"a": -1}), "token 'a' has the id -1");
    named("/model/vocab", json!({"a": 4_000_000_000_u32}), "token 'a' has the id 4000000000");
    named("/model/vocab", json!({"a": 1, "b": 1}), "token 'b' has the id 1, which another");
    named("/model/vocab", json!({"x".repeat(5000): 1}), "has 5000 bytes");
    named("/model/unk_token", json!("<none>"), "`model.unk_token`");
    named("/model/byte_fallback", json!("yes"), "`model.byte_fallback`");
    named("/added_tokens/0/special", json!(1), "added token 0: `special`");
    named("/added_tokens/0/id", json!(77), "has the id 77, expected 0");
    named("/added_tokens/4/id", json!(2000), "has the id 2000, expected 121");
    let strip = json!({"type": "Strip", "content": " ", "start": 0, "stop": 1});
    named("/decoder", strip, "decoder 'Strip': `stop` is 1");
    let empty = json!({"type": "Replace", "pattern": {"String": ""}, "content": "x"});
    named("/normalizer", empty.clone(), "normalizer 'Replace': `pattern`");
    named("/decoder", empty, "decoder 'Replace': `pattern`");
    named("/normalizer", json!({"type": "Prepend", "prepend": "x".repeat(99)}), "`prepend`");
    named("/pre_tokenizer", json!({"type": "Metaspace", "replacement": ""}), "`replacement`");
    named("/normalizer", json!([]), "without a `type`");
    named("/model", json!(3), "`model` is missing");
    for text in ["", "[]", "{", "{}", "null"] {
        assert!(Tokenizer::parse(text, Value::Null, PathBuf::from("t")).is_err(), "{text}");
    }
}

#[test]
fn texts_cannot_be_made_to_grow_without_bounds() {
    let double = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let many = |part: &Value, count: usize| vec![part.clone(); count];
    let grown = json!({"type": "Sequence", "normalizers": many(&double, 16)});
    let (text, _) = refused(&with("llava15-tied", "/normalizer", grown));
    assert!(text.contains("more than 256 times longer"), "{text}");
    let grown = json!({"type": "Sequence", "normalizers": many(&double, 30)});
    assert!(refused(&with("llava15-tied", "/normalizer", grown)).0.contains("at most 16"));
    let long =
        json!({"type": "Replace", "pattern": {"String": "a"}, "content": "b".repeat(100_000)});
    assert!(refused(&with("llava15-tied", "/normalizer", long)).0.contains("`content`"));
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true});
    let bytes = json!({"type": "Sequence", "pretokenizers": many(&bytes, 8)});
    assert!(refused(&with("llava15-tied", "/pre_tokenizer", bytes)).0.contains("256 times"));
    // Together, though neither does alone.
    let four = json!({"type": "Sequence", "normalizers": many(&double, 7)});
    let mut file = with("llava15-tied", "/normalizer", four);
    file["pre_tokenizer"] = json!({"type": "Metaspace", "replacement": "▁"});
    assert!(refused(&file).0.contains("normalizers and pre-tokenizers"));
}

#[test]
fn texts_beyond_the_bound_are_refused_before_they_are_encoded() {
    for (case, text) in [("llava15-tied", "a ".repeat(300_000)), ("qwen25", " ".repeat(40_000))] {
        let error = parse(&file(case)).unwrap().encode(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        let expected = format!("a text of {} bytes, accepted: at most ", text.len());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    let ids = vec![5; 200];
    let tokenizer = parse(&file("llava15-tied")).unwrap();
    assert!(tokenizer.decode(&ids).is_ok());
    let mut long = file("llava15-tied");
    let vocabulary = long["model"]["vocab"].as_object_mut().unwrap();
    let last = vocabulary.len();
    vocabulary.insert("x".repeat(4096), json!(last));
    for token in long["added_tokens"].as_array_mut().unwrap() {
        let id = token["id"].as_u64().unwrap();
        token["id"] = json!(if id >= last as u64 { id + 1 } else { id });
    }
    let error = parse(&long).unwrap().decode(&vec![last as u32; 20_000]).unwrap_err().to_string();
    assert!(error.contains("20000 tokens have 81920000 bytes"), "{error}");
}

#[test]
fn patterns_whose_cost_is_unknown_are_refused() {
    for pattern in ["(a+)+$", r"(?=(a+)+b)a", r"(a|a)*(?!b)", "^", r"(\w+)\1", "a{999}{999}"] {
        let value = json!({"Regex": pattern});
        let split = json!({
            "type": "Split", "pattern": value, "behavior": "Isolated", "invert": false,
        });
        let (text, kind) = refused(&with("qwen25", "/pre_tokenizer", split));
        assert!(text.contains(&format!("pattern '{pattern}' is not supported")), "{text}");
        assert_eq!(kind, ErrorKind::Unsupported);
        let replace = json!({"type": "Replace", "pattern": value, "content": "😀"});
        let sequence = json!({"type": "Sequence", "normalizers": [replace, {"type": "NFKC"}]});
        assert!(
            refused(&with("qwen25", "/normalizer", sequence)).0.contains("normalizer 'Replace'")
        );
    }
}

#[test]
fn dropout_never_decides_an_answer() {
    let plain = parse(&file("llava15-tied")).unwrap();
    let dropping = parse(&with("llava15-tied", "/model/dropout", json!(0.9))).unwrap();
    let text = "hello standing there what is in the image";
    for _ in 0..8 {
        assert_eq!(dropping.encode(text).unwrap(), plain.encode(text).unwrap());
    }
}

#[test]
fn special_tokens_keep_the_ids_that_the_file_gives_them() {
    for case in support::weights() {
        let tokenizer = parse(&file(case)).unwrap();
        for special in tokenizer.specials() {
            assert_eq!(tokenizer.id(&special.text), Some(special.id), "{case}");
        }
    }
}

/// A random component of a slot, right or wrong.
fn component(random: &mut SplitMix64, depth: usize) -> Value {
    const PATTERNS: [&str; 12] = [
        r"\s+",
        r"\s+(?!\S)|\s+",
        "(a+)+$",
        "^",
        "",
        r" ?\p{L}+|\p{N}",
        r"(?i:'s|'t)|.",
        "a*",
        "[",
        r"\w{1,9}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"a+b|a",
    ];
    const TEXTS: [&str; 9] = ["", " ", "▁", "a", "aa", "😀", "e\u{301}", "hello", "<s>"];
    let flag = |random: &mut SplitMix64| json!(random.below(2) == 0);
    let text = |random: &mut SplitMix64| json!(TEXTS[random.below(TEXTS.len())]);
    let pattern = |random: &mut SplitMix64| match random.below(3) {
        0 => json!({"String": TEXTS[random.below(TEXTS.len())]}),
        _ => json!({"Regex": PATTERNS[random.below(PATTERNS.len())]}),
    };
    let count = |random: &mut SplitMix64| json!([0, 1, 2, 64, u64::MAX][random.below(5)]);
    let behaviors =
        ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "X"];
    let schemes = ["first", "never", "always", "x"];
    let mut value = match random.below(if depth == 0 { 20 } else { 18 }) {
        0 => json!({"type": "NFC"}),
        1 => json!({"type": "NFKD"}),
        2 => json!({"type": "NFKC"}),
        3 => json!({"type": "Lowercase"}),
        4 => json!({"type": "StripAccents"}),
        5 => json!({"type": "Strip", "strip_left": flag(random), "strip_right": flag(random)}),
        6 => {
            json!({"type": "Strip", "content": text(random), "start": count(random), "stop": count(random)})
        }
        7 => json!({"type": "Prepend", "prepend": text(random)}),
        8 => json!({"type": "Replace", "pattern": pattern(random), "content": text(random)}),
        9 => {
            json!({"type": "Split", "pattern": pattern(random), "behavior": behaviors[random.below(6)], "invert": flag(random)})
        }
        10 => json!({"type": "Digits", "individual_digits": flag(random)}),
        11 => json!({"type": "Punctuation", "behavior": behaviors[random.below(6)]}),
        12 => json!({"type": "Whitespace"}),
        13 => json!({"type": "ByteFallback"}),
        14 => json!({"type": "Fuse"}),
        15 => {
            json!({"type": "ByteLevel", "add_prefix_space": flag(random), "trim_offsets": flag(random), "use_regex": flag(random)})
        }
        16 => {
            json!({"type": "Metaspace", "replacement": text(random), "prepend_scheme": schemes[random.below(4)], "split": flag(random)})
        }
        17 => json!({"type": "FixedLength", "length": count(random)}),
        _ => {
            let parts: Vec<Value> = (0..random.below(5)).map(|_| component(random, 1)).collect();
            let key = ["normalizers", "pretokenizers", "processors", "decoders"][random.below(4)];
            json!({"type": "Sequence", key: parts})
        }
    };
    if random.below(40) == 0 {
        value["type"] = json!(["Precompiled", "CTC", "Nmt", "BertNormalizer", ""][random.below(5)]);
    }
    value
}

/// A component that is likely to fit: its sequence key is that of the slot.
fn fitting(random: &mut SplitMix64, key: &str) -> Value {
    let parts: Vec<Value> = (0..=random.below(3)).map(|_| component(random, 1)).collect();
    json!({"type": "Sequence", key: parts})
}

#[test]
fn random_components_end_in_ids_or_in_an_error() {
    const SLOTS: [(&str, &str); 4] = [
        ("normalizer", "normalizers"),
        ("pre_tokenizer", "pretokenizers"),
        ("post_processor", "processors"),
        ("decoder", "decoders"),
    ];
    let mut random = SplitMix64::new(15);
    let mut used = 0;
    for round in 0..1_500 {
        let mut file = file(["llava15-tied", "qwen25"][round % 2]);
        for _ in 0..=random.below(2) {
            let (slot, key) = SLOTS[random.below(4)];
            file[slot] = if random.below(3) == 0 {
                component(&mut random, 0)
            } else {
                fitting(&mut random, key)
            };
        }
        if random.below(4) == 0 {
            let token = random.below(3);
            let flag =
                ["single_word", "lstrip", "rstrip", "normalized", "special"][random.below(5)];
            file["added_tokens"][token][flag] = json!(random.below(2) == 0);
        }
        let Ok(tokenizer) = parse(&file) else { continue };
        used += 1;
        for text in TEXTS {
            if let Ok(ids) = tokenizer.encode(text) {
                let _ = tokenizer.decode(&ids);
            }
        }
        let _ = tokenizer.decode(&[0, 1, 2, 3, 60, 119, 9999]);
    }
    assert!(used > 100, "only {used} files were accepted");
}

#[test]
fn the_bytes_of_single_tokens_join_to_the_text() {
    for case in ["llava15", "qwen25", "internvl3", "video"] {
        let tokenizer = Tokenizer::open(&folder(case)).unwrap();
        for text in ["What is it?", "café", "a\nb  c"] {
            let ids = tokenizer.encode(text).unwrap();
            let bytes: Vec<u8> =
                ids.iter().flat_map(|&id| tokenizer.token_bytes(id).unwrap()).collect();
            // A vocabulary of pieces writes a space before the first word.
            let joined = String::from_utf8(bytes).unwrap();
            let whole = tokenizer.decode(&ids).unwrap();
            assert_eq!(joined.trim_start(), whole.trim_start(), "{case}: {text}");
        }
        let special = &tokenizer.specials()[0];
        assert_eq!(tokenizer.token_bytes(special.id).unwrap(), special.text.as_bytes(), "{case}");
        assert_eq!(tokenizer.token_bytes(u32::MAX), None, "{case}");
    }
}
