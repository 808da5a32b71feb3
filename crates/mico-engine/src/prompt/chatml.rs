//! Prompts that mark turns with `<|im_start|>` and `<|im_end|>`.

use super::{Message, Part, Piece, Role};

const OPENS: &str = "<|im_start|>";
const CLOSES: &str = "<|im_end|>\n";

/// What distinguishes one such prompt from another.
#[derive(Debug, Clone, Copy)]
pub struct ChatMl {
    /// The instructions of a conversation that brings none.
    pub system: Option<&'static str>,
    /// Marks before and after every image.
    pub image: (&'static str, &'static str),
    /// What the assistant's turn begins with.
    pub answer: &'static str,
    /// Whether texts lose the space around them.
    pub trims: bool,
}

impl ChatMl {
    /// A whole conversation that ends with the assistant's turn to speak.
    pub fn render(&self, messages: &[Message]) -> Vec<Piece> {
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
