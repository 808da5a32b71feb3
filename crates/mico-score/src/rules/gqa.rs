//! GQA: exact match of a short answer, in the three variants of the public toolkits.

use crate::text::{delete_ascii_punctuation, lower, strip};

/// LLaVA: the answer without trailing full stops, in lower case, equals the gold exactly.
pub fn llava(prediction: &str, answer: &str) -> bool {
    lower(prediction.trim_end_matches('.')) == answer
}

/// lmms-eval: equal in lower case and without ASCII punctuation. Only the prediction is trimmed.
pub fn lmms(prediction: &str, answer: &str) -> bool {
    // The reference lower-cases in place, so a text that grows (`İ`) loses its last character.
    let plain = |text: &str| {
        let room = text.chars().count();
        delete_ascii_punctuation(&lower(text).chars().take(room).collect::<String>())
    };
    plain(strip(prediction)) == plain(answer)
}

/// VLMEvalKit: equal after trimming and lower-casing both sides.
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
