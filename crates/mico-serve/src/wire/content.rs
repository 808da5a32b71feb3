//! Messages and their parts as clients write them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use utoipa::ToSchema;

use super::loose::{Loose, list};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Message {
    /// `system`, `developer`, `user` or `assistant`.
    pub role: String,
    /// A text, or a list of parts.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Part>>)]
    pub content: Content,
    /// Calls of tools, which are not supported.
    #[serde(default)]
    #[schema(ignore)]
    pub tool_calls: Loose,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Content {
    /// Null, or absent.
    #[default]
    Null,
    /// A text.
    Text(String),
    /// Texts, images and videos.
    Parts(Vec<Part>),
}

/// A part of a message. Which fields count depends on its type.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Part {
    /// `text`, `image_url`, `input_image` or `video_url`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a `text` part.
    #[serde(default)]
    pub text: Option<String>,
    /// The image of an `image_url` or `input_image` part.
    #[serde(default)]
    pub image_url: Option<MediaUrl>,
    /// The video of a `video_url` part.
    #[serde(default)]
    pub video_url: Option<MediaUrl>,
    /// How closely to look, in an `input_image` part.
    #[serde(default)]
    pub detail: Option<String>,
}

/// Where an image or video is: an object with `url`, or the URL itself.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
pub struct MediaUrl {
    /// A data URL; others only where the server allows them.
    pub url: String,
    /// `auto`, `low`, `high` or `original`.
    pub detail: Option<String>,
    /// Whether it was written as an object, which is part of the field's path.
    #[schema(ignore)]
    pub nested: bool,
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Content, A::Error> {
        list(sequence).map(Content::Parts)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

#[derive(Deserialize)]
struct UrlObject {
    url: String,
    #[serde(default)]
    detail: Option<String>,
}

struct UrlVisitor;

impl<'de> Visitor<'de> for UrlVisitor {
    type Value = MediaUrl;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL, or an object with `url`")
    }

    fn visit_str<E: serde::de::Error>(self, url: &str) -> Result<MediaUrl, E> {
        self.visit_string(url.to_owned())
    }

    fn visit_string<E>(self, url: String) -> Result<MediaUrl, E> {
        Ok(MediaUrl { url, detail: None, nested: false })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MediaUrl, A::Error> {
        let UrlObject { url, detail } = UrlObject::deserialize(MapAccessDeserializer::new(map))?;
        Ok(MediaUrl { url, detail, nested: true })
    }
}

impl<'de> Deserialize<'de> for MediaUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UrlVisitor)
    }
}
