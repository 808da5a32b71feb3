//! A bounded interpreter of chat templates.
//!
//! A checkpoint brings its chat template with it, so the template is a program from a stranger.
//! Engines made for templates of one's own bound loops at best: a long chain of operators, one
//! width in a format string, or a string that doubles sixty times takes the stack or all memory
//! before any hook is asked (minijinja and Tera behave so, and Python's jinja2 too). Here every
//! operation computes what it would cost and is charged before it is done ([`Limits`]), every
//! recursion has a bound that fits a stack of 512 KiB, and what exceeds a bound is an error.
//!
//! The language is Jinja as `transformers` renders chat templates: jinja2's immutable sandbox with
//! `trim_blocks`, `lstrip_blocks`, loop controls, `{% generation %}`, `tojson` by `json.dumps`,
//! `raise_exception` and `strftime_now`. Values print as Python prints them.
//!
//! Left out, and refused by name: `include`, `import`, `from`, `extends`, `block`, `autoescape`; the
//! filters `pprint`, `random`, `striptags`, `urlize`, `wordwrap`; `lipsum`; printing what has no lasting text
//! (generators, macros, methods, namespaces); `bytes`, sets, complex numbers, integers beyond 64 bits.
//!
//! ```
//! use mico_template::{Functions, Limits, Template};
//!
//! let source = "{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}\n{% endfor %}";
//! let template = Template::compile(source, Limits::default())?;
//! let values = serde_json::json!({ "messages": [{ "role": "user", "content": " hi " }] });
//! assert_eq!(template.render(&values, &Functions::default())?, "<user>hi\n");
//! # Ok::<(), mico_template::TemplateError>(())
//! ```

#![forbid(unsafe_code)]
// Lengths are bounded by the limits, far below 2^63.
#![allow(clippy::cast_possible_wrap)]

mod ast;
mod budget;
mod display;
mod error;
mod evaluate;
mod filters;
mod format;
mod globals;
mod json;
mod lexer;
mod limits;
mod methods;
mod parser;
mod tests;
mod value;

pub use error::{TemplateError, TemplateErrorKind};
pub use limits::Limits;

/// What a template may ask of its caller.
#[derive(Clone, Copy, Default)]
pub struct Functions<'f> {
    /// Answers `strftime_now(format)`. Without it the name is undefined, so that no rendering
    /// depends on the clock unless its caller wants that.
    pub strftime_now: Option<&'f dyn Fn(&str) -> String>,
}

impl std::fmt::Debug for Functions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions").field("strftime_now", &self.strftime_now.is_some()).finish()
    }
}

/// A compiled template, to be rendered any number of times and from any thread.
#[derive(Debug)]
pub struct Template {
    body: ast::Body,
    limits: Limits,
}

impl Template {
    /// Parses a template. The limits hold for this and for every rendering.
    pub fn compile(source: &str, limits: Limits) -> Result<Self, TemplateError> {
        Ok(Self { body: parser::parse(source, &limits)?, limits })
    }

    /// Renders with the entries of a JSON object as variables.
    pub fn render(
        &self,
        values: &serde_json::Value,
        functions: &Functions<'_>,
    ) -> Result<String, TemplateError> {
        evaluate::render(&self.body, self.limits, values, functions)
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Template>();
};
