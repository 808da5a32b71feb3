//! Calls: macros, methods, functions, and the things with a state.

use std::sync::Arc;

use super::{Args, Interpreter, Macro, STATE_BYTES};
use crate::ast::MacroDeclaration;
use crate::display::to_text;
use crate::error::{Result, TemplateError, quote};
use crate::value::{LoopMethod, Value, compare};
use crate::{globals, methods};

impl<'t> Interpreter<'t> {
    pub(super) fn call(&mut self, function: &Value, args: Args) -> Result<Value> {
        match function {
            Value::Macro(index) => self.call_macro(*index, args),
            Value::Method(bound) => methods::call(self, &bound.0, &bound.1, args),
            Value::Global(global) => globals::call(self, *global, args),
            Value::Loop(index) => self.call_loop(*index, args),
            Value::LoopMethod(index, LoopMethod::Cycle) => self.cycle(*index, args),
            Value::LoopMethod(index, LoopMethod::Changed) => self.changed(*index, args),
            Value::Joiner(index) => {
                args.none("joiner")?;
                let Some((separator, used)) = self.joiners.get_mut(*index) else {
                    return Ok(Value::None);
                };
                let first = !std::mem::replace(used, true);
                if first { self.budget.text("") } else { Ok(separator.clone()) }
            }
            other => other.refuse("cannot be called"),
        }
    }

    pub(crate) fn advance_cycler(&mut self, index: usize, reset: bool) -> Result<Value> {
        let Some((items, next)) = self.cyclers.get_mut(index) else { return Ok(Value::None) };
        if reset {
            *next = 0;
            return Ok(Value::None);
        }
        let value = items.get(*next).cloned();
        *next = (*next + 1) % items.len().max(1);
        value.ok_or_else(|| TemplateError::runtime("a cycler without items"))
    }

    fn cycle(&mut self, index: usize, args: Args) -> Result<Value> {
        let at = self.loops.get(index).map_or(0, |state| state.index);
        if args.positional.is_empty() || !args.named.is_empty() {
            return Err(TemplateError::runtime("'loop.cycle' needs items"));
        }
        let count = args.positional.len();
        Ok(args.positional.into_iter().nth(at % count).unwrap_or(Value::None))
    }

    fn changed(&mut self, index: usize, args: Args) -> Result<Value> {
        let last = self.loops.get_mut(index).and_then(|state| state.last_changed.take());
        let mut changed = true;
        if let Some(last) = last
            && last.len() == args.positional.len()
        {
            changed = false;
            for (a, b) in last.iter().zip(&args.positional) {
                changed |= !compare::equal(a, b, &mut self.budget)?;
            }
        }
        if let Some(state) = self.loops.get_mut(index) {
            state.last_changed = Some(args.positional);
        }
        Ok(Value::Bool(changed))
    }

    pub(super) fn declare(&mut self, declaration: &'t MacroDeclaration) -> Result<Value> {
        self.budget.allocate(STATE_BYTES)?;
        self.captures += 1;
        self.macros.push(Macro { declaration, scope: self.current });
        Ok(Value::Macro(self.macros.len() - 1))
    }

    fn call_macro(&mut self, index: usize, args: Args) -> Result<Value> {
        let Some(made) = self.macros.get(index) else { return Ok(Value::None) };
        let (declaration, scope) = (made.declaration, made.scope);
        let mark = self.push_scope(scope)?;
        self.parameters(declaration, args)?;
        let (text, _) = self.capture(&declaration.body)?;
        self.pop_scope(&mark);
        Ok(text)
    }

    /// Gives the parameters of a macro their values, in its own scope.
    fn parameters(&mut self, declaration: &'t MacroDeclaration, args: Args) -> Result<()> {
        let count = declaration.parameters.len();
        let Args { mut positional, mut named } = args;
        let surplus = positional.split_off(count.min(positional.len()));
        let given = positional.len();
        let mut explicit_caller = false;
        for ((name, _), value) in declaration.parameters.iter().zip(positional) {
            explicit_caller |= **name == *"caller";
            self.assign(name, value)?;
        }
        for (name, default) in declaration.parameters.iter().skip(given) {
            explicit_caller |= **name == *"caller";
            let found = named.iter().position(|(known, _)| known == name);
            let value = match (found, default) {
                (Some(index), _) => named.swap_remove(index).1,
                (None, Some(default)) => self.evaluate(default)?,
                (None, None) => Value::Undefined(Some(name.clone())),
            };
            self.assign(name, value)?;
        }
        self.special_parameters(declaration, explicit_caller, surplus, named)
    }

    fn special_parameters(
        &mut self,
        declaration: &'t MacroDeclaration,
        explicit_caller: bool,
        surplus: Vec<Value>,
        mut named: Vec<(Arc<str>, Value)>,
    ) -> Result<()> {
        let uses = declaration.uses;
        let is_parameter =
            |name: &str| declaration.parameters.iter().any(|(known, _)| **known == *name);
        let what = || quote(&declaration.name);
        if uses.caller && !explicit_caller {
            let found = named.iter().position(|(name, _)| **name == *"caller");
            let caller = found
                .map_or_else(|| Value::undefined("caller"), |index| named.swap_remove(index).1);
            self.assign(&Arc::from("caller"), caller)?;
        }
        if uses.kwargs && !is_parameter("kwargs") {
            self.budget.elements(2 * named.len())?;
            let entries =
                named.into_iter().map(|(name, value)| (Value::Str(name), value)).collect();
            let entries = Value::dict(entries, &self.budget)?;
            self.assign(&Arc::from("kwargs"), entries)?;
        } else if let Some((name, _)) = named.first() {
            let message = format!("the macro {} takes no argument {}", what(), quote(name));
            return Err(TemplateError::runtime(message));
        }
        if uses.varargs && !is_parameter("varargs") {
            let surplus = Value::tuple(surplus, &self.budget)?;
            self.assign(&Arc::from("varargs"), surplus)?;
        } else if !surplus.is_empty() {
            let message = format!("the macro {} is given too many arguments", what());
            return Err(TemplateError::runtime(message));
        }
        Ok(())
    }

    /// `raise_exception(message)`.
    pub(crate) fn raise(&mut self, message: &Value) -> Result<Value> {
        let text = to_text(message, &mut self.budget)?;
        Err(TemplateError::raised(&text))
    }
}
