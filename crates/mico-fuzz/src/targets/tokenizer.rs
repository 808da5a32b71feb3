//! `tokenizer.json` and `tokenizer_config.json`: checked, then used on texts of every kind.

use std::sync::Arc;

use mico_engine::prompt::ChatTemplate;
use mico_engine::tokenizer::{TextStream, Tokenizer};

use super::Target;
use crate::folder::with_folder;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "tokenizer",
    about: "tokenizer.json with tokenizer_config.json, or vocab.json with merges.txt",
    run,
    tokens: &[
        "type",
        "BPE",
        "WordLevel",
        "Unigram",
        "WordPiece",
        "vocab",
        "merges",
        "unk_token",
        "unk_id",
        "dropout",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
        "normalizer",
        "pre_tokenizer",
        "post_processor",
        "decoder",
        "added_tokens",
        "Sequence",
        "Replace",
        "Prepend",
        "NFC",
        "NFKC",
        "Precompiled",
        "precompiled_charsmap",
        "ByteLevel",
        "Split",
        "Metaspace",
        "Whitespace",
        "FixedLength",
        "Digits",
        "TemplateProcessing",
        "pattern",
        "Regex",
        "String",
        "behavior",
        "Isolated",
        "Removed",
        "invert",
        "add_prefix_space",
        "trim_offsets",
        "use_regex",
        "prepend_scheme",
        "first",
        "always",
        "Fuse",
        "Strip",
        "ByteFallback",
        "content",
        "special",
        "lstrip",
        "rstrip",
        "single_word",
        "normalized",
        "truncation",
        "padding",
        "bos_token",
        "eos_token",
        "add_bos_token",
        "chat_template",
        "(?i:'s|'t)|\\p{L}+",
        "(a+)+$",
        "\\s+(?!\\S)",
        "[^",
        "<s>",
        "\u{2581}",
        "\u{120}",
        "<0x0A>",
    ],
    short_run: 1200,
};

/// What people write, and what no one should.
const TEXTS: [&str; 7] = [
    "",
    "a",
    "What is on the table? 12 apples, b\u{e9}.",
    "  \n\t two  spaces \u{1F642}\u{1F642} \u{4e2d}\u{6587} \u{fb01} \u{130}",
    "<s></s><image><|im_start|>user\n<|im_end|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "\u{0}\u{1b}\u{ffff}\u{301}\u{301}\u{200d}\u{2581}",
];
/// Ids that are asked for whether they are in the vocabulary or not.
const IDS: [u32; 8] = [0, 1, 2, 5, 20, 300, 70_000, u32::MAX];

fn run(data: &[u8], seen: &mut Seen) {
    with_folder(data, "tokenizer.json", |folder| {
        let Some(tokenizer) = seen.result("tokenizer", Tokenizer::open(folder)) else { return };
        let tokenizer = Arc::new(tokenizer);
        for text in TEXTS {
            let ids = seen.result("ids", tokenizer.encode(text));
            let continued = seen.result("continued", tokenizer.encode_continued(text));
            for ids in [ids, continued].into_iter().flatten() {
                // Whatever a person writes reaches no special token but the one for the unknown.
                let unknown = tokenizer.named("unk_token");
                let special = |id: &u32| {
                    let mut specials = tokenizer.specials().iter();
                    specials.any(|s| s.id == *id && Some(s.text.as_str()) != unknown)
                };
                assert!(!ids.iter().any(special), "a special token in the ids of {text:?}");
                let again = tokenizer.encode(text).ok();
                assert_eq!(tokenizer.encode(text).ok(), again, "two answers for {text:?}");
                decode(&tokenizer, &ids, seen);
            }
        }
        decode(&tokenizer, &IDS, seen);
        let template = ChatTemplate::open(folder, &tokenizer);
        if let Some(found) = seen.result("template", template) {
            seen.accepted(format_args!("template: {}", found.is_some()));
        }
    });
}

/// The text of ids, at once and token by token.
fn decode(tokenizer: &Arc<Tokenizer>, ids: &[u32], seen: &mut Seen) {
    let _ = seen.result("text", tokenizer.decode(ids));
    let mut stream = TextStream::new(Arc::clone(tokenizer));
    for id in ids {
        if seen.result("piece", stream.push(*id)).is_none() {
            return;
        }
    }
    let _ = seen.result("rest", stream.finish());
}
