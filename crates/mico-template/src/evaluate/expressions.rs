//! Expressions. The functions are many and small on purpose: an unoptimised build gives each
//! local variable its place on the stack, and these functions call each other.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Interpreter;
use crate::ast::{Arithmetic, Comparison, Expr, ExprKind, Link, LinkKind};
use crate::display::write_str;
use crate::error::{Result, TemplateError, quote};
use crate::value::{Value, compare, insert, operators};

impl<'t> Interpreter<'t> {
    pub(super) fn evaluate(&mut self, expression: &'t Expr) -> Result<Value> {
        self.enter()?;
        let value = self.evaluate_kind(&expression.kind);
        self.leave();
        value.map_err(|error| error.at(expression.line))
    }

    fn evaluate_kind(&mut self, kind: &'t ExprKind) -> Result<Value> {
        match kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Int(*value)),
            ExprKind::Float(value) => Ok(Value::Float(*value)),
            ExprKind::Str(text) => Ok(Value::Str(text.clone())),
            ExprKind::Name(name) => Ok(self.variable(name)),
            ExprKind::And(operands) => self.either(operands, false),
            ExprKind::Or(operands) => self.either(operands, true),
            ExprKind::Not(operand) => self.negate(operand),
            ExprKind::Negative(operand) => self.signed(operand, true),
            ExprKind::Positive(operand) => self.signed(operand, false),
            ExprKind::Concat(operands) => self.concatenate(operands),
            ExprKind::Arithmetic { first, rest } => self.arithmetic(first, rest),
            ExprKind::Compare { first, rest } => self.compare(first, rest),
            ExprKind::Conditional { arms, otherwise } => {
                self.conditional(arms, otherwise.as_deref())
            }
            ExprKind::List(items) => self.list(items),
            ExprKind::Tuple(items) => self.tuple(items),
            ExprKind::Dict(entries) => self.dict(entries),
            ExprKind::Chain { base, links } => self.chain(base, links),
        }
    }

    /// The first operand whose truth decides, or the last.
    fn either(&mut self, operands: &'t [Expr], decides: bool) -> Result<Value> {
        let mut value = Value::None;
        for operand in operands {
            value = self.evaluate(operand)?;
            if compare::truth(&value) == decides {
                break;
            }
        }
        Ok(value)
    }

    fn negate(&mut self, operand: &'t Expr) -> Result<Value> {
        let value = self.evaluate(operand)?;
        Ok(Value::Bool(!compare::truth(&value)))
    }

    fn signed(&mut self, operand: &'t Expr, negative: bool) -> Result<Value> {
        let value = self.evaluate(operand)?;
        operators::signed(&value, negative)
    }

    fn concatenate(&mut self, operands: &'t [Expr]) -> Result<Value> {
        self.budget.elements(operands.len())?;
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            values.push(self.evaluate(operand)?);
        }
        let mut text = self.budget.builder();
        for value in &values {
            write_str(value, &mut text)?;
        }
        Ok(text.value())
    }

    fn arithmetic(&mut self, first: &'t Expr, rest: &'t [(Arithmetic, Expr)]) -> Result<Value> {
        let mut value = self.evaluate(first)?;
        for (operator, operand) in rest {
            let right = self.evaluate(operand)?;
            value = operators::arithmetic(*operator, &value, &right, &mut self.budget)
                .map_err(|error| error.at(operand.line))?;
        }
        Ok(value)
    }

    fn compare(&mut self, first: &'t Expr, rest: &'t [(Comparison, Expr)]) -> Result<Value> {
        let mut left = self.evaluate(first)?;
        for (comparison, operand) in rest {
            let right = self.evaluate(operand)?;
            if !self.holds(*comparison, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    pub(crate) fn holds(
        &mut self,
        comparison: Comparison,
        left: &Value,
        right: &Value,
    ) -> Result<bool> {
        let budget = &mut self.budget;
        let accepted: &[Ordering] = match comparison {
            Comparison::Equal => return compare::equal(left, right, budget),
            Comparison::NotEqual => return Ok(!compare::equal(left, right, budget)?),
            Comparison::In => return compare::contains(right, left, budget),
            Comparison::NotIn => return Ok(!compare::contains(right, left, budget)?),
            Comparison::Less => &[Ordering::Less],
            Comparison::LessOrEqual => &[Ordering::Less, Ordering::Equal],
            Comparison::Greater => &[Ordering::Greater],
            Comparison::GreaterOrEqual => &[Ordering::Greater, Ordering::Equal],
        };
        let order = compare::order(left, right, budget)?;
        Ok(order.is_some_and(|order| accepted.contains(&order)))
    }

    fn conditional(
        &mut self,
        arms: &'t [(Expr, Expr)],
        otherwise: Option<&'t Expr>,
    ) -> Result<Value> {
        for (value, condition) in arms {
            let holds = self.evaluate(condition)?;
            if compare::truth(&holds) {
                return self.evaluate(value);
            }
        }
        otherwise.map_or(Ok(Value::Undefined(None)), |value| self.evaluate(value))
    }

    fn items(&mut self, items: &'t [Expr]) -> Result<Vec<Value>> {
        self.budget.elements(items.len())?;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.evaluate(item)?);
        }
        Ok(values)
    }

    fn list(&mut self, items: &'t [Expr]) -> Result<Value> {
        let items = self.items(items)?;
        Value::list(items, &self.budget)
    }

    fn tuple(&mut self, items: &'t [Expr]) -> Result<Value> {
        let items = self.items(items)?;
        Value::tuple(items, &self.budget)
    }

    fn dict(&mut self, entries: &'t [(Expr, Expr)]) -> Result<Value> {
        let mut made = Vec::new();
        for (key, value) in entries {
            let key = self.evaluate(key)?;
            let value = self.evaluate(value)?;
            insert(&mut made, key, value, &mut self.budget)?;
        }
        Value::dict(made, &self.budget)
    }

    fn chain(&mut self, base: &'t Expr, links: &'t [Link]) -> Result<Value> {
        let mut value = self.evaluate(base)?;
        for link in links {
            self.budget.steps(1)?;
            value = self.link(value, &link.kind).map_err(|error| error.at(link.line))?;
        }
        Ok(value)
    }

    pub(super) fn link(&mut self, value: Value, link: &'t LinkKind) -> Result<Value> {
        match link {
            LinkKind::Attribute(name) => self.attribute(&value, name),
            LinkKind::Item(item) => self.item_link(&value, item),
            LinkKind::Slice(parts) => self.slice_link(&value, parts),
            LinkKind::Call(arguments) => {
                let args = self.arguments(arguments)?;
                self.call(&value, args)
            }
            LinkKind::Filter { name, run, arguments } => {
                let args = self.arguments(arguments)?;
                match run {
                    Some(run) => run(self, value, args),
                    None => unknown("filter", name),
                }
            }
            LinkKind::Test { name, run, arguments, negated } => {
                let args = self.arguments(arguments)?;
                match run {
                    Some(run) => Ok(Value::Bool(run(self, &value, args)? != *negated)),
                    None => unknown("test", name),
                }
            }
        }
    }

    /// A call as [`Self::evaluate`] does it, with one argument more.
    pub(super) fn evaluate_call(&mut self, call: &'t Expr, caller: Value) -> Result<Value> {
        let ExprKind::Chain { base, links } = &call.kind else { return self.evaluate(call) };
        let Some((Link { kind: LinkKind::Call(arguments), .. }, before)) = links.split_last()
        else {
            return self.evaluate(call);
        };
        let function = self.chain(base, before)?;
        let mut args = self.arguments(arguments)?;
        args.named.push((Arc::from("caller"), caller));
        self.call(&function, args)
    }

    fn item_link(&mut self, value: &Value, item: &'t Expr) -> Result<Value> {
        let item = self.evaluate(item)?;
        self.item(value, &item)
    }

    fn slice_link(&mut self, value: &Value, parts: &'t [Option<Expr>; 3]) -> Result<Value> {
        let mut bounds = [None; 3];
        for (bound, part) in bounds.iter_mut().zip(parts) {
            let Some(part) = part else { continue };
            match self.evaluate(part)? {
                Value::None => {}
                other => match other.as_int() {
                    Some(number) => *bound = Some(number),
                    None => return other.refuse("is no bound of a slice"),
                },
            }
        }
        self.slice(value, bounds)
    }
}

fn unknown(kind: &str, name: &str) -> Result<Value> {
    Err(TemplateError::runtime(format!("no {kind} is named {}", quote(name))))
}
