//! Chat templates: the checkpoint's own Jinja, rendered with marks in place of the texts.

use mico_model::ModelFiles;
use mico_template::{Functions, Limits, Template};
use serde_json::{Value, json};

use super::{Message, Part, Piece, Role};
use crate::error::{Error, Result, read_text};
use crate::tokenizer::{TOKENIZER_CONFIG_FILE, Tokenizer};

/// Brackets around the number of a text: private-use characters no template writes.
const MARK_OPEN: char = '\u{F8F0}';
const MARK_CLOSE: char = '\u{F8F1}';
/// Files that hold a template, in the order they are looked for.
const JINJA_FILE: &str = "chat_template.jinja";
const JSON_FILE: &str = "chat_template.json";
/// The date templates are told, so that a prompt depends on its request alone.
const FIXED_DATE: &str = "26 Jul 2024";

/// A checkpoint's chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    file: String,
    template: Template,
    tokens: Value,
    parts: bool,
    images: bool,
}

impl ChatTemplate {
    /// Looks for `chat_template.jinja`, `chat_template.json` and the `chat_template` of
    /// `tokenizer_config.json`, in this order.
    pub fn open<'a>(
        files: impl Into<ModelFiles<'a>>,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>> {
        let files = files.into();
        let file = files.path(JINJA_FILE);
        if let Some(source) = read_text(files, JINJA_FILE)? {
            return Self::new(&file.display().to_string(), &source, tokenizer).map(Some);
        }
        let file = files.path(JSON_FILE);
        if let Some(text) = read_text(files, JSON_FILE)? {
            let value: Value = serde_json::from_str(&text)
                .map_err(|error| Error::Json { path: file.clone(), message: error.to_string() })?;
            return Self::from_setting(&file.display().to_string(), &value, tokenizer);
        }
        let file = files.path(TOKENIZER_CONFIG_FILE).display().to_string();
        Self::from_setting(&file, tokenizer.config(), tokenizer)
    }

    /// The `chat_template` of a settings object: a string, or a list of named ones of which
    /// `default` is taken.
    fn from_setting(file: &str, settings: &Value, tokenizer: &Tokenizer) -> Result<Option<Self>> {
        let source = match settings.get("chat_template") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(source)) => source.as_str(),
            Some(Value::Array(named)) => {
                let name =
                    |entry: &Value| entry.get("name").and_then(Value::as_str) == Some("default");
                let entry = named.iter().find(|entry| name(entry)).or(named.first());
                let source = entry.and_then(|entry| entry.get("template")).and_then(Value::as_str);
                source.ok_or_else(|| fail(file, "the list holds no `template`"))?
            }
            Some(_) => return Err(fail(file, "`chat_template` is neither a string nor a list")),
        };
        Self::new(file, source, tokenizer).map(Some)
    }

    /// Compiles the Jinja source of a chat template; `file` is the name that errors give it.
    pub fn new(file: &str, source: &str, tokenizer: &Tokenizer) -> Result<Self> {
        if source.contains([MARK_OPEN, MARK_CLOSE]) {
            return Err(fail(file, "holds the private characters U+F8F0 or U+F8F1"));
        }
        // Older templates want the content as one string, newer ones as a list of typed parts.
        let parts = source.contains("type")
            || source.contains("content[")
            || source.contains("['content'][");
        let images = source.contains("image");
        let template = Template::compile(source, Limits::default())
            .map_err(|error| fail(file, &error.to_string()))?;
        let named = |name: &str| tokenizer.named(name).unwrap_or_default();
        let tokens = json!({
            "bos_token": named("bos_token"), "eos_token": named("eos_token"),
            "unk_token": named("unk_token"), "pad_token": named("pad_token"),
        });
        Ok(Self { file: file.into(), template, tokens, parts, images })
    }

    /// Whether it has a word for images.
    pub(crate) fn shows_images(&self) -> bool {
        self.images
    }

    /// Where it was found.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Renders a conversation that ends with the assistant's turn to speak.
    /// With `continues`, what was answered is in caches already.
    pub(super) fn render(
        &self,
        messages: &[Message],
        image_token: &str,
        continues: bool,
    ) -> Result<Vec<Piece>> {
        let mut texts: Vec<TakenText> = Vec::new();
        let mut masked: Vec<Value> = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            let from = texts.len();
            let content = self.content(message, image_token, &mut texts, continues);
            texts[from..].iter_mut().for_each(|text| text.message = index + 1);
            masked.push(json!({ "role": message.role.name(), "content": content }));
        }
        let rendered = self.render_masked(&masked)?;
        let pieces = self.cut(&rendered, &texts, image_token)?;
        for (index, TakenText { text, role, message }) in texts.iter().enumerate() {
            let mark = mark(index);
            if !text.trim().is_empty() && *role == Role::User && !rendered.contains(&mark) {
                let role = role.name();
                let what = format!("leaves out the text of message {message} ({role})");
                return Err(fail(&self.file, &what));
            }
        }
        Ok(pieces)
    }

    /// A message's content with its texts taken out.
    fn content(
        &self,
        message: &Message,
        image_token: &str,
        texts: &mut Vec<TakenText>,
        continues: bool,
    ) -> Value {
        let mut place = |text: &str| {
            // The space around a text is left to see, as templates may trim it; but not that around
            // an answer, which the caches hold as it was given. Templates may test for an empty
            // text; an answer's place is needed all the same.
            let answer = message.role == Role::Assistant;
            let core = if answer && continues { text } else { text.trim() };
            texts.push(TakenText { text: core.to_owned(), role: message.role, message: 0 });
            if answer && core.is_empty() {
                return mark(texts.len() - 1);
            }
            if core.is_empty() {
                text.to_owned()
            } else {
                text.replacen(core, &mark(texts.len() - 1), 1)
            }
        };
        if self.parts {
            let parts = message.parts.iter().map(|part| match part {
                Part::Text(text) => json!({ "type": "text", "text": place(text) }),
                Part::Image => json!({ "type": "image" }),
            });
            return Value::Array(parts.collect());
        }
        let mut content = format!("{image_token}\n").repeat(message.images());
        content.push_str(&place(&message.text()));
        Value::String(content)
    }

    fn render_masked(&self, messages: &[Value]) -> Result<String> {
        let mut values = self.tokens.clone();
        values["messages"] = Value::Array(messages.to_vec());
        values["add_generation_prompt"] = Value::Bool(true);
        // Models that may think before they answer are asked not to, as in the paper.
        values["enable_thinking"] = Value::Bool(false);
        let functions = Functions { strftime_now: Some(&|_format| FIXED_DATE.to_owned()) };
        self.template
            .render(&values, &functions)
            .map_err(|error| fail(&self.file, &error.to_string()))
    }

    /// Cuts a rendered prompt at the marks and at the image tokens the template wrote.
    fn cut(&self, rendered: &str, texts: &[TakenText], image: &str) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut rest = rendered;
        while let Some((before, after)) = rest.split_once(MARK_OPEN) {
            own(before, image, &mut pieces);
            let (number, tail) = after
                .split_once(MARK_CLOSE)
                .ok_or_else(|| fail(&self.file, "cuts a message's text in two"))?;
            let found = number.parse::<usize>().ok().and_then(|number| texts.get(number));
            let found = found.ok_or_else(|| fail(&self.file, "takes a message's text apart"))?;
            let answer = found.role == Role::Assistant;
            pieces.push(Piece::Given { text: found.text.clone(), answer });
            rest = tail;
        }
        own(rest, image, &mut pieces);
        Ok(pieces)
    }
}

/// A text that was taken out of its message.
struct TakenText {
    text: String,
    role: Role,
    /// Which message it is of, from 1.
    message: usize,
}

fn mark(index: usize) -> String {
    format!("{MARK_OPEN}{index}{MARK_CLOSE}")
}

/// The template's own words, images taken out.
fn own(text: &str, image: &str, pieces: &mut Vec<Piece>) {
    for (index, part) in text.split(image).enumerate() {
        if index > 0 {
            pieces.push(Piece::Image);
        }
        if !part.is_empty() {
            pieces.push(Piece::own(part));
        }
    }
}

fn fail(file: &str, message: &str) -> Error {
    Error::Template { file: file.into(), message: message.into() }
}
