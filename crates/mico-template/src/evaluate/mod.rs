//! The interpreter: its state, its scopes and its output. What it does with expressions and
//! statements stands in the modules below.

mod access;
mod arguments;
mod calls;
mod expressions;
mod loops;
mod statements;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::Functions;
use crate::ast::{Body, ForLoop, MacroDeclaration};
use crate::budget::Budget;
use crate::error::{Result, TemplateError, quote};
use crate::globals::Global;
use crate::limits::Limits;
use crate::value::{Value, from_json};

pub(crate) use arguments::{Args, flag, integer, text};

/// Bytes a scope, loop or other thing with a state is counted with.
const STATE_BYTES: usize = 256;

/// Renders a template's body.
pub(crate) fn render(
    body: &Body,
    limits: Limits,
    values: &Json,
    functions: &Functions<'_>,
) -> Result<String> {
    let mut interpreter = Interpreter::new(limits, functions);
    let Json::Object(values) = values else {
        return Err(TemplateError::runtime("the values of a template must be an object"));
    };
    let mut variables = HashMap::new();
    for (name, value) in values {
        let value = from_json(value, &mut interpreter.budget, 0)?;
        variables.insert(Arc::from(name.as_str()), value);
    }
    // The caller's variables, and above them what the template sets itself.
    interpreter.scopes.push(Scope { parent: None, variables });
    interpreter.scopes.push(Scope { parent: Some(0), variables: HashMap::new() });
    interpreter.current = 1;
    interpreter.body(body)?;
    Ok(interpreter.outputs.pop().unwrap_or_default())
}

pub(crate) struct Interpreter<'t> {
    pub(crate) budget: Budget,
    functions: &'t Functions<'t>,
    /// Every scope that may still be read. Scopes refer to each other by their place, so that
    /// macros can see where they were declared without anything owning itself.
    scopes: Vec<Scope>,
    current: usize,
    /// Macros and recursive loops made so far: they keep the scopes around them.
    captures: usize,
    namespaces: Vec<Vec<(Value, Value)>>,
    macros: Vec<Macro<'t>>,
    loops: Vec<LoopState<'t>>,
    cyclers: Vec<(Vec<Value>, usize)>,
    joiners: Vec<(Value, bool)>,
    /// The rendered text, and above it the blocks that are being captured.
    outputs: Vec<String>,
    depth: usize,
}

struct Scope {
    parent: Option<usize>,
    variables: HashMap<Arc<str>, Value>,
}

struct Macro<'t> {
    declaration: &'t MacroDeclaration,
    scope: usize,
}

struct LoopState<'t> {
    items: Vec<Value>,
    index: usize,
    depth: usize,
    last_changed: Option<Vec<Value>>,
    /// The loop itself and its surroundings, if it is recursive.
    recursive: Option<(&'t ForLoop, usize)>,
}

/// Where a scope began, to return there.
struct Mark {
    previous: usize,
    length: usize,
    captures: usize,
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'t> Interpreter<'t> {
    fn new(limits: Limits, functions: &'t Functions<'t>) -> Self {
        Self {
            budget: Budget::new(limits),
            functions,
            scopes: Vec::new(),
            current: 0,
            captures: 0,
            namespaces: Vec::new(),
            macros: Vec::new(),
            loops: Vec::new(),
            cyclers: Vec::new(),
            joiners: Vec::new(),
            outputs: vec![String::new()],
            depth: 0,
        }
    }

    /// Counts a level of evaluation; [`Self::leave`] ends it. An error ends the whole rendering,
    /// so nobody leaves after one.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > self.budget.limits.evaluation_depth {
            let limit = self.budget.limits.evaluation_depth as u64;
            return Err(TemplateError::limit("evaluation_depth", limit));
        }
        self.budget.steps(1)
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn push_scope(&mut self, parent: usize) -> Result<Mark> {
        self.budget.allocate(STATE_BYTES)?;
        let mark =
            Mark { previous: self.current, length: self.scopes.len(), captures: self.captures };
        self.scopes.push(Scope { parent: Some(parent), variables: HashMap::new() });
        self.current = mark.length;
        Ok(mark)
    }

    fn pop_scope(&mut self, mark: &Mark) {
        self.current = mark.previous;
        // Something made meanwhile may still read these scopes.
        if self.captures == mark.captures {
            self.scopes.truncate(mark.length);
        }
    }

    fn assign(&mut self, name: &Arc<str>, value: Value) -> Result<()> {
        self.budget.elements(2)?;
        if let Some(scope) = self.scopes.get_mut(self.current) {
            scope.variables.insert(name.clone(), value);
        }
        Ok(())
    }

    /// The variable of a name, a global function, or undefined.
    fn variable(&self, name: &Arc<str>) -> Value {
        let mut at = Some(self.current);
        while let Some(scope) = at.and_then(|index| self.scopes.get(index)) {
            if let Some(value) = scope.variables.get(name) {
                return value.clone();
            }
            at = scope.parent;
        }
        let known = Global::find(name, self.functions);
        known.map_or_else(|| Value::Undefined(Some(name.clone())), Value::Global)
    }

    pub(crate) fn functions(&self) -> &'t Functions<'t> {
        self.functions
    }

    /// Appends to the rendered text or to the innermost captured block.
    fn write(&mut self, text: &str) -> Result<()> {
        let captured = self.outputs.len() > 1;
        let limits = self.budget.limits;
        let Some(output) = self.outputs.last_mut() else { return Ok(()) };
        let (which, limit) = if captured {
            ("value_bytes", limits.value_bytes)
        } else {
            ("output_bytes", limits.output_bytes)
        };
        if output.len().saturating_add(text.len()) > limit {
            return Err(TemplateError::limit(which, limit as u64));
        }
        if captured {
            self.budget.allocate(text.len())?;
        } else {
            self.budget.work(text.len())?;
        }
        output.push_str(text);
        Ok(())
    }

    /// Runs a body and takes what it writes.
    fn capture(&mut self, body: &'t Body) -> Result<(Value, Flow)> {
        self.outputs.push(String::new());
        let flow = self.body(body)?;
        let text = self.outputs.pop().unwrap_or_default();
        Ok((Value::Str(Arc::from(text)), flow))
    }

    pub(crate) fn new_namespace(&mut self, entries: Vec<(Value, Value)>) -> Result<Value> {
        self.budget.allocate(STATE_BYTES)?;
        for (key, _) in &entries {
            check_attribute(key.as_str().unwrap_or_default())?;
        }
        self.namespaces.push(entries);
        Ok(Value::Namespace(self.namespaces.len() - 1))
    }

    pub(crate) fn new_cycler(&mut self, items: Vec<Value>) -> Result<Value> {
        self.budget.allocate(STATE_BYTES)?;
        self.cyclers.push((items, 0));
        Ok(Value::Cycler(self.cyclers.len() - 1))
    }

    pub(crate) fn new_joiner(&mut self, separator: Value) -> Result<Value> {
        self.budget.allocate(STATE_BYTES)?;
        self.joiners.push((separator, false));
        Ok(Value::Joiner(self.joiners.len() - 1))
    }
}

/// Names with an underscore in front are Python's own: transformers keeps them out of namespaces.
fn check_attribute(name: &str) -> Result<()> {
    if name.starts_with('_') {
        let message = format!("a namespace takes no attribute {}", quote(name));
        return Err(TemplateError::runtime(message));
    }
    Ok(())
}

impl Interpreter<'_> {
    /// Does something as one level of evaluation.
    pub(crate) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.enter()?;
        let done = work(self)?;
        self.leave();
        Ok(done)
    }
}
