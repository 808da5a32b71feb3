//! `for`, with its filter, its `else` and recursion.

use std::sync::Arc;

use super::{Args, Flow, Interpreter, LoopState, STATE_BYTES};
use crate::ast::ForLoop;
use crate::error::{Result, TemplateError};
use crate::value::{Value, compare};

impl<'t> Interpreter<'t> {
    pub(super) fn for_loop(&mut self, parts: &'t ForLoop) -> Result<Flow> {
        let iterable = self.evaluate(&parts.iterable)?;
        if parts.recursive {
            self.captures += 1;
        }
        let surroundings = self.current;
        self.run_loop(parts, &iterable, surroundings, 0)
    }

    /// `loop(children)` inside a recursive loop.
    pub(super) fn call_loop(&mut self, index: usize, args: Args) -> Result<Value> {
        let Some((parts, surroundings)) = self.loops.get(index).and_then(|state| state.recursive)
        else {
            return Err(TemplateError::runtime("only a loop that is recursive can be called"));
        };
        let depth = self.loops.get(index).map_or(0, |state| state.depth) + 1;
        let [iterable] = args.bind("loop", ["iterable"], 1)?;
        let iterable = iterable.unwrap_or(Value::None);
        self.outputs.push(String::new());
        let previous = std::mem::replace(&mut self.current, surroundings);
        self.run_loop(parts, &iterable, surroundings, depth)?;
        self.current = previous;
        let text = self.outputs.pop().unwrap_or_default();
        Ok(Value::Str(Arc::from(text)))
    }

    fn run_loop(
        &mut self,
        parts: &'t ForLoop,
        iterable: &Value,
        surroundings: usize,
        depth: usize,
    ) -> Result<Flow> {
        let mut items = iterable.elements(&mut self.budget)?;
        if parts.condition.is_some() {
            items = self.filtered(parts, items, surroundings)?;
        }
        if items.is_empty() {
            return self.otherwise(parts, surroundings);
        }
        self.budget.allocate(STATE_BYTES)?;
        let count = items.len();
        let recursive = parts.recursive.then_some((parts, surroundings));
        self.loops.push(LoopState { items, index: 0, depth, last_changed: None, recursive });
        let state = self.loops.len() - 1;
        let name: Arc<str> = Arc::from("loop");
        let mut completed = false;
        for index in 0..count {
            let flow = self.iteration(parts, state, index, surroundings, &name)?;
            completed |= flow == Flow::Next;
            if flow == Flow::Break {
                break;
            }
        }
        // As in jinja2, where only a body that came to its end counts as an iteration.
        if completed { Ok(Flow::Next) } else { self.otherwise(parts, surroundings) }
    }

    fn otherwise(&mut self, parts: &'t ForLoop, surroundings: usize) -> Result<Flow> {
        let mark = self.push_scope(surroundings)?;
        let flow = self.body(&parts.otherwise)?;
        self.pop_scope(&mark);
        Ok(flow)
    }

    fn iteration(
        &mut self,
        parts: &'t ForLoop,
        state: usize,
        index: usize,
        surroundings: usize,
        name: &Arc<str>,
    ) -> Result<Flow> {
        let mark = self.push_scope(surroundings)?;
        let mut item = Value::None;
        if let Some(state) = self.loops.get_mut(state) {
            state.index = index;
            item = state.items.get(index).cloned().unwrap_or(Value::None);
        }
        self.assign(name, Value::Loop(state))?;
        self.assign_target(&parts.target, item)?;
        let flow = self.body(&parts.body)?;
        self.pop_scope(&mark);
        Ok(flow)
    }

    /// The items a loop's own `if` lets through.
    fn filtered(
        &mut self,
        parts: &'t ForLoop,
        items: Vec<Value>,
        surroundings: usize,
    ) -> Result<Vec<Value>> {
        let Some(condition) = &parts.condition else { return Ok(items) };
        let mut kept = Vec::new();
        for item in items {
            let mark = self.push_scope(surroundings)?;
            self.assign_target(&parts.target, item.clone())?;
            let holds = self.evaluate(condition)?;
            if compare::truth(&holds) {
                kept.push(item);
            }
            self.pop_scope(&mark);
        }
        Ok(kept)
    }
}
