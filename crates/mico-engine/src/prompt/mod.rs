//! From messages to token ids with one placeholder per image.
//!
//! A template is rendered with private marks in place of the texts; what comes out is cut at those
//! marks, so that only the template's own words can be special tokens.

mod chatml;
mod encode;
mod styles;
mod template;

pub use chatml::ChatMl;
pub use encode::Piece;
pub use styles::{MISTRAL, PLAIN, VICUNA};
pub use template::ChatTemplate;

pub(crate) use encode::{enclosed, encode, image_token_text};

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::families::FAMILIES;

/// The author of a message, as chat templates distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions to the assistant.
    System,
    /// The person who asks.
    User,
    /// The model, whose earlier answers are part of a conversation.
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
    /// Whose message it is; templates mark each role differently.
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

    /// Instructions that hold for the whole conversation (a system prompt).
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, parts: vec![Part::Text(text.into())] }
    }

    /// Number of images in it.
    pub fn images(&self) -> usize {
        self.parts.iter().filter(|part| **part == Part::Image).count()
    }

    /// All text parts joined without a separator; images are left out.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Image => "",
        });
        texts.collect()
    }
}

/// A prompt that needs no template: how messages become text around images.
pub struct PromptFormat {
    /// The word for it.
    pub name: &'static str,
    /// A whole conversation that ends with the assistant's turn to speak.
    pub render: fn(&[Message]) -> Vec<Piece>,
}

impl fmt::Debug for PromptFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How messages become a prompt. Two styles are the same if their names are.
#[derive(Debug, Clone, Copy)]
pub enum PromptStyle {
    /// The checkpoint's own chat template.
    Template,
    /// A format of this engine, or of the caller.
    Format(&'static PromptFormat),
}

/// The formats that ship with the engine: those of the families, and the texts as they are.
fn formats() -> Vec<&'static PromptFormat> {
    let mut formats: Vec<&'static PromptFormat> = Vec::new();
    let own = FAMILIES.iter().flat_map(|family| family.prompt.formats);
    for format in own.copied().chain([&PLAIN]) {
        if !formats.iter().any(|known| known.name == format.name) {
            formats.push(format);
        }
    }
    formats
}

/// The words for some formats, as messages list them.
fn listed(formats: &[&PromptFormat]) -> String {
    formats.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for PromptStyle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wanted = text.trim().to_ascii_lowercase();
        if wanted == Self::Template.name() {
            return Ok(Self::Template);
        }
        let formats = formats();
        let found = formats.iter().copied().find(|format| format.name == wanted);
        found.map(Self::Format).ok_or_else(|| Error::Unknown {
            what: "prompt style",
            found: wanted,
            known: format!("{}, {}", Self::Template.name(), listed(&formats)),
        })
    }
}

impl PromptStyle {
    /// The words for the styles that ship with the engine, the checkpoint's own first.
    pub fn names() -> Vec<&'static str> {
        let formats = formats();
        [Self::Template.name()].into_iter().chain(formats.iter().map(|f| f.name)).collect()
    }

    /// The name it goes by on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Format(format) => format.name,
        }
    }
}

impl Serialize for PromptStyle {
    /// The word for it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PromptStyle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl PartialEq for PromptStyle {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for PromptStyle {}

/// The error of a request for the checkpoint's own template where it cannot be had.
pub(crate) fn no_template(reason: &str) -> Error {
    Error::Template {
        file: "chat_template.jinja".into(),
        message: format!("{reason}; accepted styles: {}", listed(&formats())),
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
        (PromptStyle::Template, None) => Err(no_template("the checkpoint has none")),
        (PromptStyle::Format(format), _) => Ok((format.render)(messages)),
    }
}
