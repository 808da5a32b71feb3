//! Tensors for `mico select`, with every method. Three bytes choose method, budget and memory; the rest is the
//! file.

use mico_cli::select::select_from_bytes;
use mico_select::Settings;
use mico_select::methods::{selector_by_name, selectors};

use super::Target;
use crate::seen::Seen;

pub(super) const TARGET: Target = Target {
    name: "select",
    about: "the input of mico select, with every method",
    run,
    tokens: &[
        "features",
        "weights",
        "reliability",
        "relevance",
        "projected",
        "text",
        "keys",
        "group",
        "token",
        "reliability_shallow",
        "clip_image",
        "clip_text",
        "text_attention",
        "visual_embeds",
        "stage1.features",
        "stage2.features",
        "stage1.token",
        "dtype",
        "shape",
        "data_offsets",
        "F32",
        "F16",
        "BF16",
        "I64",
        "I32",
    ],
    short_run: 3000,
};

fn run(data: &[u8], seen: &mut Seen) {
    let [method, budget, memory, file @ ..] = data else { return };
    let methods: Vec<_> = selectors().collect();
    let method = methods[usize::from(*method) % methods.len()].name;
    let selector = selector_by_name(method, Settings::default());
    let selector = selector.unwrap_or_else(|error| panic!("{method} by default: {error}"));
    let (budget, memory) = (usize::from(*budget), 1_usize << (10 + memory % 16));
    let selected = select_from_bytes(file, &*selector, budget, memory);
    let Some(selection) = seen.result(method, selected) else { return };
    let kept = &selection.kept;
    // HoloV's slots without a token have no index.
    assert!(!kept.is_empty() || method == "holov", "{method} keeps nothing");
    assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{method}: {kept:?}");
    let mut order = selection.order.clone();
    order.sort_unstable();
    order.dedup();
    assert_eq!(order.len(), selection.order.len(), "{method} picks twice: {:?}", selection.order);
    assert!(order.iter().all(|token| kept.binary_search(token).is_ok()), "{method}");
    for merge in &selection.merges {
        assert!(kept.binary_search(&merge.target).is_ok(), "{method}: {merge:?}");
        assert_eq!(merge.sources.len(), merge.shares.len(), "{method}: {merge:?}");
        assert!(merge.own.is_finite() && merge.shares.iter().all(|share| share.is_finite()));
    }
    assert!(selection.objective.is_none_or(f64::is_finite), "{method}: {:?}", selection.objective);
    // Cluster centres of SparseVLM are kept on top; groups take a token each, however small the budget.
    seen.accepted(format_args!("{method} {}", kept.len().min(budget + 1) > budget));
}
