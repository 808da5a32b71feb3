//! The prompts of LLaVA's text models, for checkpoints that bring no template or when the paper's
//! numbers are wanted.

use super::{Message, Part, Piece, PromptFormat, Role};

/// The paper's prompt for Vicuna checkpoints, with its system text.
pub static VICUNA: PromptFormat = PromptFormat { name: "vicuna", render: vicuna };
/// The paper's prompt for Mistral checkpoints.
pub static MISTRAL: PromptFormat = PromptFormat { name: "mistral", render: mistral };
/// The texts as they are.
pub static PLAIN: PromptFormat = PromptFormat { name: "plain", render: plain };

/// What every Vicuna conversation begins with.
const VICUNA_SYSTEM: &str = "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions.";
/// Ends an assistant's turn.
const END: &str = "</s>";

/// `{system} USER: <image>\n{question} ASSISTANT: {answer}</s>USER: ...`
fn vicuna(messages: &[Message]) -> Vec<Piece> {
    let mut out = Vec::new();
    match messages.first() {
        Some(first) if first.role == Role::System => {}
        _ => out.extend([Piece::own(VICUNA_SYSTEM), Piece::own(" ")]),
    }
    for message in messages {
        match message.role {
            Role::System => {
                content(message, &mut out);
                out.push(Piece::own(" "));
            }
            Role::User => {
                out.push(Piece::own("USER: "));
                content(message, &mut out);
                out.push(Piece::own(" ASSISTANT:"));
            }
            Role::Assistant => {
                out.push(Piece::own(" "));
                content(message, &mut out);
                out.push(Piece::own(END));
            }
        }
    }
    out
}

/// `[INST] <image>\n{question} [/INST] {answer} </s>[INST] ...`; a system text goes before the
/// question it precedes.
fn mistral(messages: &[Message]) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut open = false;
    for message in messages {
        if message.role == Role::Assistant {
            out.push(Piece::own(" "));
            content(message, &mut out);
            out.extend([Piece::own(" "), Piece::own(END)]);
            continue;
        }
        if !open {
            out.push(Piece::own("[INST] "));
        }
        content(message, &mut out);
        open = message.role == Role::System;
        out.push(Piece::own(if open { "\n" } else { " [/INST]" }));
    }
    out
}

/// The messages' contents, a line each.
fn plain(messages: &[Message]) -> Vec<Piece> {
    let mut out = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.push(Piece::own("\n"));
        }
        content(message, &mut out);
    }
    out
}

/// Images first, each on a line of its own, then the texts.
fn content(message: &Message, out: &mut Vec<Piece>) {
    for _ in 0..message.images() {
        out.extend([Piece::Image, Piece::own("\n")]);
    }
    for part in &message.parts {
        if let Part::Text(text) = part {
            out.push(Piece::Given { text: text.clone(), answer: message.role == Role::Assistant });
        }
    }
}
