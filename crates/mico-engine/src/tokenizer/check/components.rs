//! Normalizers, pre-tokenizers, post-processors and decoders: which there may be, with which fields.

use mico_util::text::quoted;
use serde_json::{Map, Value};

use super::vocabulary::Vocabulary;
use super::{Fault, pattern, template};

/// Most parts of a sequence; published files have at most six.
const MAX_PARTS: usize = 16;
/// Longest text in bytes that a field may hold: what is put in front, replaced, or put in its place.
const MAX_FIELD_BYTES: usize = 64;
/// Most that a chain of components may lengthen a text, as a factor.
const MAX_GROWTH: u64 = 256;
/// How a pattern's matches may be treated.
const BEHAVIORS: &[&str] =
    &["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"];

/// A place in the file that holds one component or a sequence of them.
#[derive(Debug)]
pub(super) struct Slot {
    /// The key in the file, as messages name it.
    pub(super) name: &'static str,
    /// The key under which a `Sequence` holds its parts.
    parts: &'static str,
    kinds: &'static [Kind],
}

/// A component that is supported.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    fields: &'static [Field],
    /// How many times longer it can make a text, given its fields.
    growth: fn(&Map<String, Value>) -> u64,
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    optional: bool,
}

/// What a field may hold.
#[derive(Debug)]
enum Shape {
    Flag,
    /// A text of one character.
    Character,
    /// A text of at most [`MAX_FIELD_BYTES`].
    Text,
    OneOf(&'static [&'static str]),
    /// A number of at most this.
    Count(u64),
    /// `{"String": ...}` or `{"Regex": ...}`, never matching nothing.
    Pattern,
    /// The pieces of a template for one text.
    SingleTemplate,
    /// The pieces of a template for two texts, which are never used.
    PairTemplate,
    /// The tokens that templates name.
    TemplateTokens,
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, optional: false }
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, optional: true }
}

const fn plain(name: &'static str, growth: fn(&Map<String, Value>) -> u64) -> Kind {
    Kind { name, fields: &[], growth }
}

const REPLACE: Kind = Kind {
    name: "Replace",
    fields: &[field("pattern", Shape::Pattern), field("content", Shape::Text)],
    growth: |fields| {
        let matched = fields["pattern"].get("String").and_then(Value::as_str).map_or(1, str::len);
        text_length(fields, "content").div_ceil(matched.max(1) as u64).max(1)
    },
};
/// Bytes become characters of up to two bytes, and a space may be put before every piece.
const BYTE_LEVEL: Kind = Kind {
    name: "ByteLevel",
    fields: &[
        field("add_prefix_space", Shape::Flag),
        field("trim_offsets", Shape::Flag),
        optional("use_regex", Shape::Flag),
    ],
    growth: |_| 4,
};
/// Spaces become the replacement, and one may be put before every piece.
const METASPACE: Kind = Kind {
    name: "Metaspace",
    fields: &[
        field("replacement", Shape::Character),
        optional("add_prefix_space", Shape::Flag),
        optional("prepend_scheme", Shape::OneOf(&["first", "never", "always"])),
        optional("split", Shape::Flag),
        optional("str_rep", Shape::Text),
    ],
    growth: |fields| 2 * text_length(fields, "replacement"),
};

pub(super) const NORMALIZERS: Slot = Slot {
    name: "normalizer",
    parts: "normalizers",
    kinds: &[
        // The factors of Unicode's annex 15.
        plain("NFC", |_| 3),
        plain("NFD", |_| 3),
        plain("NFKC", |_| 11),
        plain("NFKD", |_| 11),
        plain("Lowercase", |_| 2),
        plain("StripAccents", |_| 1),
        Kind {
            name: "Strip",
            fields: &[field("strip_left", Shape::Flag), field("strip_right", Shape::Flag)],
            growth: |_| 1,
        },
        Kind {
            name: "Prepend",
            fields: &[field("prepend", Shape::Text)],
            // Before every piece between added tokens, and a piece has at least one byte.
            growth: |fields| 1 + text_length(fields, "prepend"),
        },
        REPLACE,
    ],
};

pub(super) const PRE_TOKENIZERS: Slot = Slot {
    name: "pre_tokenizer",
    parts: "pretokenizers",
    kinds: &[
        BYTE_LEVEL,
        METASPACE,
        plain("Whitespace", |_| 1),
        plain("WhitespaceSplit", |_| 1),
        Kind {
            name: "Punctuation",
            fields: &[optional("behavior", Shape::OneOf(BEHAVIORS))],
            growth: |_| 1,
        },
        Kind { name: "Digits", fields: &[field("individual_digits", Shape::Flag)], growth: |_| 1 },
        Kind {
            name: "Split",
            fields: &[
                field("pattern", Shape::Pattern),
                field("behavior", Shape::OneOf(BEHAVIORS)),
                field("invert", Shape::Flag),
            ],
            growth: |_| 1,
        },
    ],
};

pub(super) const POST_PROCESSORS: Slot = Slot {
    name: "post_processor",
    parts: "processors",
    kinds: &[
        BYTE_LEVEL,
        Kind {
            name: "TemplateProcessing",
            fields: &[
                field("single", Shape::SingleTemplate),
                field("pair", Shape::PairTemplate),
                field("special_tokens", Shape::TemplateTokens),
            ],
            growth: |_| 1,
        },
    ],
};

pub(super) const DECODERS: Slot = Slot {
    name: "decoder",
    parts: "decoders",
    kinds: &[
        BYTE_LEVEL,
        METASPACE,
        REPLACE,
        plain("ByteFallback", |_| 1),
        plain("Fuse", |_| 1),
        Kind {
            name: "Strip",
            // The library reads before a text's beginning if it is to strip its end.
            fields: &[
                field("content", Shape::Character),
                field("start", Shape::Count(MAX_FIELD_BYTES as u64)),
                field("stop", Shape::Count(0)),
            ],
            growth: |_| 1,
        },
    ],
};

/// What components can make of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    factor: u64,
    own_pattern: bool,
}

impl Growth {
    const NONE: Self = Self { factor: 1, own_pattern: false };

    /// How many times longer a text can become.
    pub(super) fn factor(self) -> u64 {
        self.factor
    }

    /// Whether there is a pattern that no published model has.
    pub(super) fn own_pattern(self) -> bool {
        self.own_pattern
    }

    /// This, followed by something else; refused if together they grow a text beyond bounds.
    pub(super) fn then(self, next: Self, what: &str) -> Result<Self, Fault> {
        let factor = self.factor.saturating_mul(next.factor);
        if factor > MAX_GROWTH {
            let message = format!("{what} could make a text more than {MAX_GROWTH} times longer");
            return Err(Fault::Unsupported(message));
        }
        Ok(Self { factor, own_pattern: self.own_pattern || next.own_pattern })
    }
}

/// Checks what stands in a slot: nothing, one component, or a sequence.
pub(super) fn check(
    slot: &'static Slot,
    value: &Value,
    vocabulary: &Vocabulary<'_>,
) -> Result<Growth, Fault> {
    if value.is_null() {
        return Ok(Growth::NONE);
    }
    if value.get("type").and_then(Value::as_str) != Some("Sequence") {
        return check_one(slot, value, vocabulary);
    }
    let parts = value.get(slot.parts).and_then(Value::as_array);
    let Some(parts) = parts.filter(|parts| parts.len() <= MAX_PARTS) else {
        let message = format!(
            "{} 'Sequence': `{}` is not a list of at most {MAX_PARTS} components",
            slot.name, slot.parts
        );
        return Err(Fault::Corrupt(message));
    };
    let what = format!("{} 'Sequence'", slot.name);
    parts.iter().try_fold(Growth::NONE, |growth, part| {
        growth.then(check_one(slot, part, vocabulary)?, &what)
    })
}

fn check_one(
    slot: &'static Slot,
    value: &Value,
    vocabulary: &Vocabulary<'_>,
) -> Result<Growth, Fault> {
    let fields = value.as_object();
    let name = fields.and_then(|fields| fields.get("type")).and_then(Value::as_str);
    let Some((fields, name)) = fields.zip(name) else {
        return Err(Fault::Corrupt(format!("`{}` holds something without a `type`", slot.name)));
    };
    let Some(kind) = slot.kinds.iter().find(|kind| kind.name == name) else {
        let message = format!("{} '{}' is not supported", slot.name, quoted(name));
        return Err(Fault::Unsupported(message));
    };
    let place = format!("{} '{name}'", slot.name);
    let known = |key: &str| key == "type" || kind.fields.iter().any(|field| field.name == key);
    if let Some(key) = fields.keys().find(|key| !known(key)) {
        let message = format!("{place}: field '{}' is not supported", quoted(key));
        return Err(Fault::Unsupported(message));
    }
    let mut own_pattern = false;
    for field in kind.fields {
        match fields.get(field.name) {
            None | Some(Value::Null) if field.optional => {}
            None => return Err(Fault::Corrupt(format!("{place}: `{}` is missing", field.name))),
            Some(value) => own_pattern |= check_field(field, value, fields, vocabulary, &place)?,
        }
    }
    Growth::NONE.then(Growth { factor: (kind.growth)(fields).max(1), own_pattern }, &place)
}

/// Checks one field; true if it is a pattern that no published model has.
fn check_field(
    field: &Field,
    value: &Value,
    fields: &Map<String, Value>,
    vocabulary: &Vocabulary<'_>,
    place: &str,
) -> Result<bool, Fault> {
    let text = value.as_str();
    let (good, accepted) = match &field.shape {
        Shape::Flag => (value.is_boolean(), "true or false".to_string()),
        Shape::Character => {
            (text.is_some_and(|text| text.chars().count() == 1), "one character".to_string())
        }
        Shape::Text => (
            text.is_some_and(|text| text.len() <= MAX_FIELD_BYTES),
            format!("a text of at most {MAX_FIELD_BYTES} bytes"),
        ),
        Shape::OneOf(words) => (text.is_some_and(|text| words.contains(&text)), words.join(", ")),
        Shape::Count(most) => {
            (value.as_u64().is_some_and(|count| count <= *most), format!("0 to {most}"))
        }
        Shape::Pattern => return check_pattern(value, place),
        Shape::SingleTemplate => {
            return template::check_single(value, fields, place).map(|()| false);
        }
        Shape::PairTemplate => return template::check_pair(value, fields, place).map(|()| false),
        Shape::TemplateTokens => {
            return template::check_tokens(value, vocabulary, place).map(|()| false);
        }
    };
    if good {
        return Ok(false);
    }
    let found = quoted(&value.to_string());
    Err(Fault::Corrupt(format!("{place}: `{}` is {found}, accepted: {accepted}", field.name)))
}

fn check_pattern(value: &Value, place: &str) -> Result<bool, Fault> {
    let entry = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    match entry.and_then(|(kind, text)| Some((kind.as_str(), text.as_str()?))) {
        Some(("String", text)) if !text.is_empty() && text.len() <= MAX_FIELD_BYTES => Ok(false),
        Some(("Regex", text)) => match pattern::check(text) {
            Ok(published) => Ok(!published),
            Err(reason) => {
                let text = quoted(text);
                Err(Fault::Unsupported(format!(
                    "{place}: pattern '{text}' is not supported: {reason}"
                )))
            }
        },
        _ => {
            let found = quoted(&value.to_string());
            Err(Fault::Corrupt(format!(
                "{place}: `pattern` is {found}, accepted: a regular expression, or a text of 1 to {MAX_FIELD_BYTES} bytes"
            )))
        }
    }
}

fn text_length(fields: &Map<String, Value>, name: &str) -> u64 {
    fields.get(name).and_then(Value::as_str).map_or(0, |text| text.len() as u64)
}
