//! GQA: three ways to compare a short answer.

use crate::text::{delete_ascii_punctuation, lower, strip};

/// LLaVA: trailing full stops dropped, lower-cased, then equal to the gold as it stands.
pub fn llava(prediction: &str, answer: &str) -> bool {
    lower(prediction.trim_end_matches('.')) == answer
}

/// lmms-eval: lower-cased and without ASCII punctuation on both sides. Only the prediction is trimmed.
pub fn lmms(prediction: &str, answer: &str) -> bool {
    // The reference lower-cases in place: a text that gets longer (`İ`) loses its end.
    let plain = |text: &str| {
        let room = text.chars().count();
        delete_ascii_punctuation(&lower(text).chars().take(room).collect::<String>())
    };
    plain(strip(prediction)) == plain(answer)
}

/// VLMEvalKit: trimmed and lower-cased on both sides.
pub fn vlmevalkit(prediction: &str, answer: &str) -> bool {
    strip(&lower(prediction)) == strip(&lower(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_drops_something_else() {
        assert!(
            llava("Yes.", "yes")
                && llava("No...", "no")
                && !llava(" no", "no")
                && !llava("a dog", "dog")
        );
        assert!(!llava("no", "No"));
        assert!(lmms("T-shirt", "t-shirt") && lmms(" Yes! ", "yes") && !lmms("yes it is", "yes"));
        assert!(!lmms("İno", "i\u{307}no") && lmms("İno", "İna"));
        assert!(!lmms("left ", "left ") && lmms("left ", "Left!"));
        assert!(vlmevalkit(" Left\n", "left") && !vlmevalkit("left.", "left"));
    }
}
