//! The accountant: everything a rendering spends is charged here before it is spent.

use std::sync::Arc;

use crate::error::{Result, TemplateError};
use crate::limits::Limits;
use crate::value::Value;

/// What a rendering has spent so far.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    steps: u64,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, steps: 0, bytes: 0 }
    }

    /// Charges visited nodes or elements.
    pub(crate) fn steps(&mut self, count: usize) -> Result<()> {
        self.steps = self.steps.saturating_add(count as u64);
        if self.steps > self.limits.steps {
            return Err(TemplateError::limit("steps", self.limits.steps));
        }
        Ok(())
    }

    /// Charges bytes that are looked at.
    pub(crate) fn work(&mut self, bytes: usize) -> Result<()> {
        self.steps(1 + bytes / Limits::BYTES_PER_STEP)
    }

    /// Charges a value of so many bytes that is about to be made.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.limits.value_bytes {
            return Err(TemplateError::limit("value_bytes", self.limits.value_bytes as u64));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.total_bytes {
            return Err(TemplateError::limit("total_bytes", self.limits.total_bytes as u64));
        }
        self.work(bytes)
    }

    /// Charges a list of so many elements that is about to be made.
    pub(crate) fn elements(&mut self, count: usize) -> Result<()> {
        self.allocate(count.saturating_mul(Limits::ELEMENT_BYTES).saturating_add(64))
    }

    /// A string value, charged.
    pub(crate) fn text(&mut self, text: &str) -> Result<Value> {
        self.allocate(text.len() + 32)?;
        Ok(Value::Str(Arc::from(text)))
    }

    /// A builder whose every byte is charged before it is written.
    pub(crate) fn builder(&mut self) -> Builder<'_> {
        Builder { text: String::new(), budget: self }
    }
}

/// A string in the making.
pub(crate) struct Builder<'b> {
    text: String,
    pub(crate) budget: &'b mut Budget,
}

impl Builder<'_> {
    pub(crate) fn push(&mut self, text: &str) -> Result<()> {
        // The whole may not exceed the bound of one value, and each piece is paid once.
        let whole = self.text.len().saturating_add(text.len());
        if whole > self.budget.limits.value_bytes {
            let limit = self.budget.limits.value_bytes as u64;
            return Err(TemplateError::limit("value_bytes", limit));
        }
        self.budget.allocate(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    pub(crate) fn push_char(&mut self, c: char) -> Result<()> {
        self.push(c.encode_utf8(&mut [0; 4]))
    }

    /// The same piece again and again, refused before the first if all of them are too many.
    pub(crate) fn push_repeated(&mut self, text: &str, count: usize) -> Result<()> {
        let bytes = text.len().saturating_mul(count);
        let whole = self.text.len().saturating_add(bytes);
        if whole > self.budget.limits.value_bytes {
            let limit = self.budget.limits.value_bytes as u64;
            return Err(TemplateError::limit("value_bytes", limit));
        }
        self.budget.allocate(bytes)?;
        for _ in 0..if text.is_empty() { 0 } else { count } {
            self.text.push_str(text);
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// The value, its bytes paid while they were written.
    pub(crate) fn value(self) -> Value {
        Value::Str(Arc::from(self.text))
    }
}
