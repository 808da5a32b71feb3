//! Single scoring rules on JSON lines, as `mico score --raw` applies them.

use mico_score::raw::Lines;

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "score",
    about: "the scoring rules on whatever a model may have answered",
    run,
    tokens: &[
        "id",
        "scorer",
        "kind",
        "in",
        "item",
        "set",
        "items",
        "prompt",
        "answer",
        "prediction",
        "gold",
        "options",
        "choices",
        "category",
        "question",
        "vlmevalkit.mcq",
        "bbox",
        "Answer: (B)",
        "The answer is",
        "yes",
        "no",
        "\\boxed{",
        "A.",
        "(C)",
        "12,500.5%",
        "$3",
        "[[0.1, 0.2, 0.3, 0.4]]",
        "<box>",
        "</box>",
        "{\"bbox_2d\": [",
        "1/2",
        "\u{ff08}A\u{ff09}",
        "None",
        "nan",
        "inf",
    ],
    short_run: 3000,
};

fn run(data: &[u8], seen: &mut Seen) {
    let text = String::from_utf8_lossy(data);
    let mut lines = Lines::new();
    for line in text.split_inclusive('\n').take(64) {
        let Some(answer) = lines.apply(line) else { continue };
        if let Some(error) = answer.get("error").and_then(|error| error.as_str()) {
            seen.refused(&error);
        } else {
            assert!(answer.get("out").is_some(), "neither a result nor an error: {answer}");
            let keys = answer["out"].as_object().into_iter().flatten().map(|(key, _)| &key[..]);
            seen.accepted(keys.take(4).collect::<Vec<_>>().join(" "));
        }
    }
}
