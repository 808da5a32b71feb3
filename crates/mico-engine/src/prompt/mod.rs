//! From messages to token ids with one placeholder per image.
//!
//! A template is rendered with private marks in place of the texts; what comes out is cut at those
//! marks, so that only the template's own words can be special tokens.

mod chatml;
mod encode;
mod styles;
mod template;

pub use encode::Piece;
pub use template::ChatTemplate;

pub(crate) use encode::{enclosed, encode, image_token_text};

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
    /// Qwen2.5-VL's, with its system text.
    Qwen25Vl,
    /// Qwen3-VL's.
    Qwen3Vl,
    /// Qwen3.5's, without thinking.
    Qwen35,
    /// InternVL3's, with the system text of its original code.
    InternVl,
    /// LLaVA-Video's, with Qwen's system text.
    LlavaVideo,
    /// The texts as they are.
    Plain,
}

impl FromStr for PromptStyle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wanted = text.trim().to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|style| style.name() == wanted);
        found.ok_or_else(|| Error::Unknown {
            what: "prompt style",
            found: wanted,
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl PromptStyle {
    /// Every style, the checkpoint's own first.
    pub const ALL: [Self; 9] = [
        Self::Template,
        Self::Vicuna,
        Self::Mistral,
        Self::Qwen25Vl,
        Self::Qwen3Vl,
        Self::Qwen35,
        Self::InternVl,
        Self::LlavaVideo,
        Self::Plain,
    ];

    /// The name it goes by on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Vicuna => "vicuna",
            Self::Mistral => "mistral",
            Self::Qwen25Vl => "qwen2.5-vl",
            Self::Qwen3Vl => "qwen3-vl",
            Self::Qwen35 => "qwen3.5",
            Self::InternVl => "internvl",
            Self::LlavaVideo => "llava-video",
            Self::Plain => "plain",
        }
    }

    /// The style of a checkpoint that brings no template: its family's, and Mistral's for a LLaVA-NeXT
    /// whose text model shares key/value heads as Mistral does.
    pub fn without_template(config: &ModelConfig) -> Self {
        let grouped = config.decoder.kv_heads < config.decoder.heads;
        match config.family {
            Family::LlavaNext if grouped => Self::Mistral,
            Family::Llava | Family::LlavaNext => Self::Vicuna,
            Family::Qwen25Vl => Self::Qwen25Vl,
            Family::Qwen3Vl => Self::Qwen3Vl,
            Family::Qwen35 => Self::Qwen35,
            Family::InternVl => Self::InternVl,
            Family::LlavaVideo => Self::LlavaVideo,
        }
    }

    /// The style of a checkpoint with this template. Original InternVL and LLaVA-Video folders bring
    /// their text model's, which has no word for images; there the family's own prompt counts.
    pub(crate) fn with_template(config: &ModelConfig, template: &ChatTemplate) -> Self {
        let own = matches!(config.family, Family::InternVl | Family::LlavaVideo);
        if !own || template.shows_images() {
            Self::Template
        } else {
            Self::without_template(config)
        }
    }
}

/// Cuts a whole conversation into pieces in the given style. With `continues`, what was answered is
/// in caches already.
pub(crate) fn pieces(
    style: PromptStyle,
    template: Option<&ChatTemplate>,
    messages: &[Message],
    image_token: &str,
    continues: bool,
) -> Result<Vec<Piece>> {
    match (style, template) {
        (PromptStyle::Template, Some(template)) => {
            template.render(messages, image_token, continues)
        }
        (PromptStyle::Template, None) => Err(Error::Template {
            file: "chat_template.jinja".into(),
            message: format!(
                "the checkpoint has none; accepted styles: {}",
                PromptStyle::ALL.map(PromptStyle::name)[1..].join(", ")
            ),
        }),
        (PromptStyle::Vicuna, _) => Ok(styles::vicuna(messages)),
        (PromptStyle::Mistral, _) => Ok(styles::mistral(messages)),
        (PromptStyle::Qwen25Vl, _) => Ok(chatml::QWEN2_5_VL.pieces(messages)),
        (PromptStyle::Qwen3Vl, _) => Ok(chatml::QWEN3_VL.pieces(messages)),
        (PromptStyle::Qwen35, _) => Ok(chatml::QWEN3_5.pieces(messages)),
        (PromptStyle::InternVl, _) => Ok(chatml::INTERNVL.pieces(messages)),
        (PromptStyle::LlavaVideo, _) => Ok(chatml::LLAVA_VIDEO.pieces(messages)),
        (PromptStyle::Plain, _) => Ok(styles::plain(messages)),
    }
}
