//! The prompts of the families that mark turns with `<|im_start|>` and `<|im_end|>`.

use super::{Message, Part, Piece, Role};

const OPENS: &str = "<|im_start|>";
const CLOSES: &str = "<|im_end|>\n";
const ASSISTANT: &str = "You are a helpful assistant.";
/// What InternVL3's original code says of itself when nothing else is said.
const INTERN_SYSTEM: &str = "你是书生·万象，英文名是InternVL，是由上海人工智能实验室、清华大学及多家合作单位联合开发的多模态大语言模型。";

/// What distinguishes one family's prompt from another's.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChatMl {
    /// The instructions of a conversation that brings none.
    system: Option<&'static str>,
    /// Around every image.
    image: (&'static str, &'static str),
    /// What the assistant's turn begins with.
    answer: &'static str,
    /// Whether texts lose the space around them.
    trims: bool,
}

pub(super) const QWEN2_5_VL: ChatMl = ChatMl {
    system: Some(ASSISTANT),
    image: ("<|vision_start|>", "<|vision_end|>"),
    answer: "",
    trims: false,
};

pub(super) const QWEN3_VL: ChatMl = ChatMl { system: None, ..QWEN2_5_VL };

/// Thinking is over before it begins.
pub(super) const QWEN3_5: ChatMl =
    ChatMl { answer: "<think>\n\n</think>\n\n", trims: true, ..QWEN3_VL };

pub(super) const INTERNVL: ChatMl =
    ChatMl { system: Some(INTERN_SYSTEM), image: ("<img>", "</img>\n"), ..QWEN2_5_VL };

pub(super) const LLAVA_VIDEO: ChatMl = ChatMl { image: ("", "\n"), ..QWEN2_5_VL };

impl ChatMl {
    /// A whole conversation that ends with the assistant's turn to speak.
    pub(super) fn pieces(&self, messages: &[Message]) -> Vec<Piece> {
        let mut out = Vec::new();
        let own = |text: String| Piece::Own(text);
        let instructed = messages.first().is_some_and(|first| first.role == Role::System);
        if let Some(system) = self.system.filter(|_| !instructed) {
            out.push(own(format!("{OPENS}system\n{system}{CLOSES}")));
        }
        for message in messages {
            let begin = if message.role == Role::Assistant { self.answer } else { "" };
            out.push(own(format!("{OPENS}{}\n{begin}", message.role.name())));
            self.content(message, &mut out);
            out.push(own(CLOSES.into()));
        }
        out.push(own(format!("{OPENS}assistant\n{}", self.answer)));
        out
    }

    /// Images and texts in their order.
    fn content(&self, message: &Message, out: &mut Vec<Piece>) {
        for part in &message.parts {
            match part {
                Part::Image => {
                    let (before, after) = self.image;
                    let marks =
                        [before, after].map(|mark| (!mark.is_empty()).then(|| Piece::own(mark)));
                    let [before, after] = marks;
                    out.extend(before.into_iter().chain([Piece::Image]).chain(after));
                }
                Part::Text(text) => {
                    let text = if self.trims { text.trim() } else { text };
                    let answer = message.role == Role::Assistant;
                    out.push(Piece::Given { text: text.to_owned(), answer });
                }
            }
        }
    }
}
