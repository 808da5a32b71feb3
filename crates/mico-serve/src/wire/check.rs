//! From the body of a chat completion to what is to be done: every rule on a field is here, in `sampling` or in
//! `pruning`, and nothing is ignored unless it is listed.

use super::chat::{ChatRequest, MediaIo};
use super::content::{Content, MediaUrl, Message, Part};
use super::loose::Loose;
use super::pruning::MicoRequest;
use super::sampling::{TokenLimits, sampling};
use crate::backend::{Sampling, Speaker, Turn, TurnPart};
use crate::error::{Code, Result, ServeError};

/// The bounds on one request that flags set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckLimits {
    /// Most messages.
    pub messages: usize,
    /// Most bytes of text in all messages together.
    pub text_bytes: usize,
    /// Most images and videos.
    pub images: usize,
    /// Most tokens of an answer; larger requests are cut to it.
    pub max_tokens: usize,
    /// Tokens of an answer unless a request says otherwise.
    pub default_max_tokens: usize,
    /// Fields whose unsupported values are ignored, and named in the response.
    pub lenient: Vec<String>,
}

impl Default for CheckLimits {
    fn default() -> Self {
        Self {
            messages: 256,
            text_bytes: 1 << 20,
            images: 16,
            max_tokens: 4096,
            default_max_tokens: 1024,
            lenient: Vec::new(),
        }
    }
}

/// How closely a client wants an image to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// The server decides; also what an image without the field has.
    Auto,
    /// Cheaply.
    Low,
    /// Closely.
    High,
    /// As it is.
    Original,
}

impl Detail {
    /// By the word of the API.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "auto" => Self::Auto,
            "low" => Self::Low,
            "high" => Self::High,
            "original" => Self::Original,
            _ => return None,
        })
    }
}

/// What a URL is said to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A video.
    Video,
}

/// An image or video of a request, still a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaUse {
    /// The field it came from.
    pub param: String,
    /// The URL as it was written.
    pub url: String,
    /// What the URL is said to lead to.
    pub kind: MediaKind,
    /// How closely to look.
    pub detail: Detail,
}

/// Which frames of a video are taken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VideoSampling {
    /// Most frames, evenly spaced.
    pub frames: Option<usize>,
    /// Frames per second of the video.
    pub fps: Option<f64>,
}

/// A chat completion that has been checked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChatCall {
    /// The name asked for; `None` for the first served one.
    pub model: Option<String>,
    /// The conversation.
    pub turns: Vec<Turn>,
    /// Its images and videos in order.
    pub media: Vec<MediaUse>,
    /// How the answer is made.
    pub sampling: Sampling,
    /// Whether to send it as it is made.
    pub stream: bool,
    /// Whether a stream ends with the token counts.
    pub include_usage: bool,
    /// The pruning object, if there was one.
    pub mico: Option<MicoRequest>,
    /// Which frames of videos are taken.
    pub video: VideoSampling,
    /// Fields that were ignored although they ask for something.
    pub ignored: Vec<String>,
}

impl ChatRequest {
    /// Checks every field.
    pub fn check(self, limits: &CheckLimits) -> Result<ChatCall> {
        let ignored = self.check_unsupported(&limits.lenient)?;
        if let Some(n) = self.n.filter(|n| *n != 1) {
            return Err(ServeError::invalid("n", format!("n is {n}, accepted: 1")));
        }
        let stream = self.stream.unwrap_or(false);
        if self.stream_options.is_some() && !stream {
            let message = "stream_options needs stream to be true";
            return Err(ServeError::invalid("stream_options", message));
        }
        let tokens = TokenLimits { most: limits.max_tokens, default: limits.default_max_tokens };
        let sampling = sampling(&self, tokens)?;
        if let Some(mico) = &self.mico {
            mico.check()?;
        }
        let video = video_sampling(self.media_io_kwargs.as_ref())?;
        let mut conversation = Conversation::default();
        conversation.read(self.messages, limits)?;
        Ok(ChatCall {
            model: self.model.filter(|name| !name.is_empty()),
            turns: conversation.turns,
            media: conversation.media,
            sampling,
            stream,
            include_usage: self
                .stream_options
                .and_then(|options| options.include_usage)
                .unwrap_or(false),
            mico: self.mico,
            video,
            ignored,
        })
    }

    /// Refuses what this server does not do; what is to be ignored comes back.
    fn check_unsupported(&self, lenient: &[String]) -> Result<Vec<String>> {
        let zero = |value: &Loose| value.is_null() || *value == Loose::Number(0.0);
        let one = |value: &Loose| value.is_null() || *value == Loose::Number(1.0);
        let nothing = |value: &Loose| value.is_null() || *value == Loose::Empty;
        let no_tools = nothing(&self.tools) && nothing(&self.functions);
        let no_choice = |value: &Loose| {
            let word = |word: &str| *value == Loose::Text(word.to_owned());
            value.is_null() || word("none") || (no_tools && word("auto"))
        };
        let text_format = self.response_format.text_at("type") == Some("text");
        let text_only = self.modalities.texts().all(|modality| modality == "text");
        let rules = [
            ("response_format", self.response_format.is_null() || text_format, "text"),
            ("tools", nothing(&self.tools), "none"),
            ("functions", nothing(&self.functions), "none"),
            ("tool_choice", no_choice(&self.tool_choice), "none"),
            ("function_call", no_choice(&self.function_call), "none"),
            ("frequency_penalty", zero(&self.frequency_penalty), "0"),
            ("presence_penalty", zero(&self.presence_penalty), "0"),
            ("logit_bias", nothing(&self.logit_bias), "{}"),
            ("repetition_penalty", one(&self.repetition_penalty), "1"),
            ("min_p", zero(&self.min_p), "0"),
            ("modalities", text_only, "[\"text\"]"),
            ("audio", self.audio.is_null(), "null"),
            ("chat_template", self.chat_template.is_null(), "null"),
            ("chat_template_kwargs", nothing(&self.chat_template_kwargs), "{}"),
            ("mm_processor_kwargs", nothing(&self.mm_processor_kwargs), "{}"),
            ("prompt_embeds", self.prompt_embeds.is_null(), "null"),
            ("image_embeds", self.image_embeds.is_null(), "null"),
        ];
        let mut ignored = Vec::new();
        for (name, _, accepted) in rules.into_iter().filter(|(_, neutral, _)| !neutral) {
            let group = match name {
                "functions" | "tool_choice" | "function_call" => "tools",
                other => other,
            };
            if !lenient.iter().any(|field| field == group) {
                let message = format!("{name} is not supported, accepted: {accepted}");
                return Err(ServeError::unsupported(name, message));
            }
            ignored.push(name.to_owned());
        }
        Ok(ignored)
    }
}

/// Checks a conversation by itself.
pub fn turns(messages: Vec<Message>, limits: &CheckLimits) -> Result<Vec<Turn>> {
    let mut conversation = Conversation::default();
    conversation.read(messages, limits)?;
    Ok(conversation.turns)
}

fn video_sampling(options: Option<&MediaIo>) -> Result<VideoSampling> {
    let video = options.and_then(|options| options.video.clone()).unwrap_or_default();
    let refused = |field: &str, found: String| {
        let message = format!("{field} is {found}, accepted: a number above 0");
        Err(ServeError::invalid(format!("media_io_kwargs.video.{field}"), message))
    };
    if video.num_frames == Some(0) {
        return refused("num_frames", "0".to_owned());
    }
    if let Some(fps) = video.fps.filter(|fps| !(fps.is_finite() && *fps > 0.0)) {
        return refused("fps", fps.to_string());
    }
    let frames = video.num_frames.map(|frames| usize::try_from(frames).unwrap_or(usize::MAX));
    Ok(VideoSampling { frames, fps: video.fps })
}

/// The conversation as far as it has been read.
#[derive(Default)]
struct Conversation {
    turns: Vec<Turn>,
    media: Vec<MediaUse>,
    text_bytes: usize,
}

impl Conversation {
    fn read(&mut self, messages: Vec<Message>, limits: &CheckLimits) -> Result<()> {
        let (count, most) = (messages.len(), limits.messages);
        if count == 0 || count > most {
            let message = format!("{count} messages, accepted: 1 to {most}");
            return Err(ServeError::invalid("messages", message));
        }
        for (index, message) in messages.into_iter().enumerate() {
            self.read_message(index, message, limits)?;
        }
        if self.turns.last().is_none_or(|turn| turn.speaker != Speaker::User) {
            let param = format!("messages[{}].role", count - 1);
            let message = "the last message must be the user's; to continue an assistant's message \
                           is not supported";
            return Err(ServeError::invalid(param, message));
        }
        Ok(())
    }

    fn read_message(&mut self, index: usize, message: Message, limits: &CheckLimits) -> Result<()> {
        let path = format!("messages[{index}]");
        let speaker = speaker(&path, &message)?;
        if !matches!(message.tool_calls, Loose::Null | Loose::Empty) {
            let param = format!("{path}.tool_calls");
            return Err(ServeError::unsupported(param, "calls of tools are not supported"));
        }
        let parts = match message.content {
            Content::Null if speaker == Speaker::Assistant => vec![self.text("", limits)?],
            Content::Null => {
                let param = format!("{path}.content");
                return Err(ServeError::invalid(param, "content is missing"));
            }
            Content::Text(text) => vec![self.text(&text, limits)?],
            Content::Parts(parts) => {
                let read =
                    |(at, part)| self.part(&format!("{path}.content[{at}]"), part, speaker, limits);
                parts.into_iter().enumerate().map(read).collect::<Result<Vec<_>>>()?
            }
        };
        if parts.is_empty() {
            let param = format!("{path}.content");
            return Err(ServeError::invalid(param, "content has no parts"));
        }
        self.turns.push(Turn { speaker, parts });
        Ok(())
    }

    fn text(&mut self, text: &str, limits: &CheckLimits) -> Result<TurnPart> {
        self.text_bytes += text.len();
        if self.text_bytes > limits.text_bytes {
            let most = limits.text_bytes;
            let message = format!("more than {most} bytes of text in all messages");
            return Err(ServeError::invalid("messages", message));
        }
        Ok(TurnPart::Text(text.to_owned()))
    }

    fn part(
        &mut self,
        path: &str,
        part: Part,
        speaker: Speaker,
        limits: &CheckLimits,
    ) -> Result<TurnPart> {
        let (kind, field, url) = match part.kind.as_str() {
            "text" => {
                let missing = || ServeError::invalid(format!("{path}.text"), "text is missing");
                return self.text(&part.text.ok_or_else(missing)?, limits);
            }
            "image_url" | "input_image" => (MediaKind::Image, "image_url", part.image_url),
            "video_url" => (MediaKind::Video, "video_url", part.video_url),
            other => {
                let other = mico_util::text::quoted(other);
                let accepted = "text, image_url, input_image, video_url";
                let message = format!("a part of type '{other}', accepted: {accepted}");
                return Err(
                    ServeError::new(Code::UnsupportedContent, message).at(format!("{path}.type"))
                );
            }
        };
        let Some(url) = url else {
            let message = format!("{field} is missing");
            return Err(ServeError::invalid(format!("{path}.{field}"), message));
        };
        if speaker != Speaker::User {
            let message = "images and videos are accepted in messages of the user alone";
            return Err(ServeError::new(Code::UnsupportedContent, message).at(path));
        }
        if self.media.len() >= limits.images {
            let message = format!("more than {} images", limits.images);
            return Err(ServeError::invalid(path, message));
        }
        self.media.push(media_use(path, field, kind, url, part.detail)?);
        Ok(TurnPart::Media)
    }
}

fn speaker(path: &str, message: &Message) -> Result<Speaker> {
    match message.role.as_str() {
        "system" | "developer" => Ok(Speaker::System),
        "user" => Ok(Speaker::User),
        "assistant" => Ok(Speaker::Assistant),
        other => {
            let other = mico_util::text::quoted(other);
            let accepted = "system, developer, user, assistant";
            let message = format!("role is '{other}', accepted: {accepted}");
            Err(ServeError::invalid(format!("{path}.role"), message))
        }
    }
}

fn media_use(
    path: &str,
    field: &str,
    kind: MediaKind,
    url: MediaUrl,
    beside: Option<String>,
) -> Result<MediaUse> {
    let param = if url.nested { format!("{path}.{field}.url") } else { format!("{path}.{field}") };
    let detail = match url.detail.or(beside) {
        None => Detail::Auto,
        Some(word) => Detail::named(&word).ok_or_else(|| {
            let word = mico_util::text::quoted(&word);
            let message = format!("detail is '{word}', accepted: auto, low, high, original");
            ServeError::invalid(format!("{path}.{field}.detail"), message)
        })?,
    };
    Ok(MediaUse { param, url: url.url, kind, detail })
}
