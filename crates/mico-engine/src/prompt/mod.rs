//! From messages to token ids with one placeholder per image.
//!
//! A template is rendered with private marks in place of the texts; what comes out is cut at those
//! marks, so that only the template's own words can be special tokens.

mod encode;
mod styles;
mod template;

pub use encode::Piece;
pub use template::ChatTemplate;

pub(crate) use encode::{encode, image_token_text};

use std::str::FromStr;

use mico_model::{Family, ModelConfig};

use crate::error::{Error, Result};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions to the assistant.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name templates use.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words; whatever they are, they stay words.
    Text(String),
    /// The next image of the request.
    Image,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said and shown.
    pub parts: Vec<Part>,
}

impl Message {
    /// A question about `images` images.
    pub fn user(text: impl Into<String>, images: usize) -> Self {
        let mut parts = vec![Part::Image; images];
        parts.push(Part::Text(text.into()));
        Self { role: Role::User, parts }
    }

    /// What the model answered.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![Part::Text(text.into())] }
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, parts: vec![Part::Text(text.into())] }
    }

    /// Number of images in it.
    pub fn images(&self) -> usize {
        self.parts.iter().filter(|part| **part == Part::Image).count()
    }

    /// Its texts joined.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Image => "",
        });
        texts.collect()
    }
}

/// How messages become a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptStyle {
    /// The checkpoint's own chat template.
    Template,
    /// The paper's prompt for Vicuna checkpoints, with its system text.
    Vicuna,
    /// The paper's prompt for Mistral checkpoints.
    Mistral,
    /// The texts as they are.
    Plain,
}

impl FromStr for PromptStyle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "template" => Ok(Self::Template),
            "vicuna" => Ok(Self::Vicuna),
            "mistral" => Ok(Self::Mistral),
            "plain" => Ok(Self::Plain),
            other => {
                let known = "template, vicuna, mistral, plain".into();
                Err(Error::Unknown { what: "prompt style", found: other.into(), known })
            }
        }
    }
}

impl PromptStyle {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Vicuna => "vicuna",
            Self::Mistral => "mistral",
            Self::Plain => "plain",
        }
    }

    /// The style of a checkpoint that brings no template: Mistral's for a LLaVA-NeXT whose text model
    /// shares key/value heads as Mistral does, else Vicuna's.
    pub fn without_template(config: &ModelConfig) -> Self {
        let grouped = config.decoder.kv_heads < config.decoder.heads;
        if config.family == Family::LlavaNext && grouped { Self::Mistral } else { Self::Vicuna }
    }
}

/// Cuts a whole conversation into pieces in the given style.
pub(crate) fn pieces(
    style: PromptStyle,
    template: Option<&ChatTemplate>,
    messages: &[Message],
    image_token: &str,
) -> Result<Vec<Piece>> {
    match (style, template) {
        (PromptStyle::Template, Some(template)) => template.render(messages, image_token),
        (PromptStyle::Template, None) => Err(Error::Template {
            file: "chat_template.jinja".into(),
            message: "the checkpoint has none; accepted styles: vicuna, mistral, plain".into(),
        }),
        (PromptStyle::Vicuna, _) => Ok(styles::vicuna(messages)),
        (PromptStyle::Mistral, _) => Ok(styles::mistral(messages)),
        (PromptStyle::Plain, _) => Ok(styles::plain(messages)),
    }
}
