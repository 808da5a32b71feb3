//! From the caller's JSON to values.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Value;
use crate::budget::Budget;
use crate::error::{Result, TemplateError};

/// Converts what the caller hands in; charged like everything else, so that large inputs are
/// refused in the same way.
pub(crate) fn from_json(json: &Json, budget: &mut Budget, depth: usize) -> Result<Value> {
    if depth > budget.limits.value_depth {
        return Err(TemplateError::limit("value_depth", budget.limits.value_depth as u64));
    }
    match json {
        Json::Null => Ok(Value::None),
        Json::Bool(value) => Ok(Value::Bool(*value)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Ok(Value::Int(value)),
            (None, Some(value)) if !number.is_u64() => Ok(Value::Float(value)),
            _ => Err(TemplateError::limit("integer", i64::MAX as u64)),
        },
        Json::String(text) => budget.text(text),
        Json::Array(items) => {
            budget.elements(items.len())?;
            let items: Result<Vec<Value>> =
                items.iter().map(|item| from_json(item, budget, depth + 1)).collect();
            Value::list(items?, budget)
        }
        Json::Object(entries) => {
            budget.elements(entries.len().saturating_mul(2))?;
            let mut converted = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                budget.allocate(key.len() + 32)?;
                let key = Value::Str(Arc::from(key.as_str()));
                converted.push((key, from_json(value, budget, depth + 1)?));
            }
            Value::dict(converted, budget)
        }
    }
}
