//! Arguments of a call, and how they find their parameters.

use std::sync::Arc;

use super::Interpreter;
use crate::ast::CallArguments;
use crate::error::{Result, TemplateError, quote};
use crate::limits::Limits;
use crate::value::{Value, compare};

#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

impl Args {
    /// One value for each parameter of a function, of which the first ones are required.
    pub(crate) fn bind<const N: usize>(
        self,
        function: &str,
        parameters: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        let refuse = |what: &str| Err(TemplateError::runtime(format!("'{function}' {what}")));
        if self.positional.len() > N {
            return refuse(&format!("takes at most {N} arguments"));
        }
        let mut bound = [const { None }; N];
        for (place, value) in bound.iter_mut().zip(self.positional) {
            *place = Some(value);
        }
        for (name, value) in self.named {
            match parameters.iter().position(|known| *known == &*name) {
                Some(index) if bound[index].is_none() => bound[index] = Some(value),
                Some(_) => return refuse(&format!("is given {} twice", quote(&name))),
                None => return refuse(&format!("takes no argument {}", quote(&name))),
            }
        }
        match bound[..required].iter().position(Option::is_none) {
            Some(missing) => refuse(&format!("needs the argument '{}'", parameters[missing])),
            None => Ok(bound),
        }
    }

    /// Refuses any argument.
    pub(crate) fn none(self, function: &str) -> Result<()> {
        self.bind::<0>(function, [], 0).map(|_| ())
    }
}

/// An argument that says yes or no by its truth.
pub(crate) fn flag(value: Option<&Value>, default: bool) -> bool {
    value.map_or(default, compare::truth)
}

/// An argument that must be an integer.
pub(crate) fn integer(value: Option<&Value>, default: i64) -> Result<i64> {
    match value {
        None => Ok(default),
        Some(value) => match value.as_int() {
            Some(number) => Ok(number),
            None => value.refuse("is no integer"),
        },
    }
}

/// An argument that must be a string.
pub(crate) fn text<'v>(value: Option<&'v Value>, default: &'v str) -> Result<&'v str> {
    match value {
        None => Ok(default),
        Some(value) => match value.as_str() {
            Some(text) => Ok(text),
            None => value.refuse("is no string"),
        },
    }
}

impl<'t> Interpreter<'t> {
    pub(super) fn arguments(&mut self, arguments: &'t CallArguments) -> Result<Args> {
        self.budget.elements(arguments.positional.len() + 2 * arguments.named.len())?;
        let mut args = Args::default();
        for argument in &arguments.positional {
            let value = self.evaluate(argument)?;
            args.positional.push(value);
        }
        for (name, argument) in &arguments.named {
            let value = self.evaluate(argument)?;
            args.named.push((name.clone(), value));
        }
        if let Some(argument) = &arguments.all_positional {
            let value = self.evaluate(argument)?;
            args.positional.extend(value.elements(&mut self.budget)?);
        }
        if let Some(argument) = &arguments.all_named {
            let value = self.evaluate(argument)?;
            self.spread(&value, &mut args)?;
        }
        Ok(args)
    }

    fn spread(&mut self, value: &Value, args: &mut Args) -> Result<()> {
        let Value::Dict(dict) = value else { return value.refuse("is no mapping") };
        self.budget.elements(2 * dict.entries.len())?;
        if args.named.len() + dict.entries.len() > Limits::ARGUMENTS {
            return Err(TemplateError::limit("arguments", Limits::ARGUMENTS as u64));
        }
        for (key, value) in &dict.entries {
            let (Value::Str(name) | Value::Markup(name)) = key else {
                return key.refuse("is no name of an argument");
            };
            self.budget.steps(args.named.len())?;
            if args.named.iter().any(|(known, _)| known == name) {
                let message = format!("the argument {} is given twice", quote(name));
                return Err(TemplateError::runtime(message));
            }
            args.named.push((name.clone(), value.clone()));
        }
        Ok(())
    }
}
