//! Statements other than loops.

use super::{Flow, Interpreter, check_attribute};
use crate::ast::{Body, Expr, Link, MacroDeclaration, Statement, StatementKind, Target};
use crate::display::write_str;
use crate::error::{Result, TemplateError, quote};
use crate::value::{Value, compare};

impl<'t> Interpreter<'t> {
    pub(super) fn body(&mut self, body: &'t Body) -> Result<Flow> {
        for statement in body {
            let flow = self.statement(statement)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'t Statement) -> Result<Flow> {
        self.enter()?;
        let flow = self.statement_kind(&statement.kind);
        self.leave();
        flow.map_err(|error| error.at(statement.line))
    }

    fn statement_kind(&mut self, kind: &'t StatementKind) -> Result<Flow> {
        match kind {
            StatementKind::Text(text) => self.write(text).map(|()| Flow::Next),
            StatementKind::Print(expression) => self.print(expression),
            StatementKind::If { arms, otherwise } => self.if_statement(arms, otherwise),
            StatementKind::For(parts) => self.for_loop(parts),
            StatementKind::Set { target, value } => self.set(target, value),
            StatementKind::SetBlock { target, filters, body } => {
                self.set_block(target, filters, body)
            }
            StatementKind::Macro(declaration) => self.macro_statement(declaration),
            StatementKind::Call { call, caller } => self.call_statement(call, caller),
            StatementKind::Filter { filters, body } => self.filter_statement(filters, body),
            StatementKind::With { assignments, body } => self.with(assignments, body),
            StatementKind::Generation(body) => self.scoped(body),
            StatementKind::Break => Ok(Flow::Break),
            StatementKind::Continue => Ok(Flow::Continue),
        }
    }

    fn print(&mut self, expression: &'t Expr) -> Result<Flow> {
        let value = self.evaluate(expression)?;
        self.print_value(&value)?;
        Ok(Flow::Next)
    }

    fn print_value(&mut self, value: &Value) -> Result<()> {
        if let Some(text) = value.as_str() {
            return self.write(text);
        }
        let mut text = self.budget.builder();
        write_str(value, &mut text)?;
        let text = text.finish();
        self.write(&text)
    }

    fn if_statement(&mut self, arms: &'t [(Expr, Body)], otherwise: &'t Body) -> Result<Flow> {
        for (condition, body) in arms {
            let holds = self.evaluate(condition)?;
            if compare::truth(&holds) {
                return self.body(body);
            }
        }
        self.body(otherwise)
    }

    fn scoped(&mut self, body: &'t Body) -> Result<Flow> {
        let mark = self.push_scope(self.current)?;
        let flow = self.body(body)?;
        self.pop_scope(&mark);
        Ok(flow)
    }

    fn set(&mut self, target: &'t Target, value: &'t Expr) -> Result<Flow> {
        let value = self.evaluate(value)?;
        self.assign_target(target, value)?;
        Ok(Flow::Next)
    }

    pub(super) fn assign_target(&mut self, target: &'t Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => self.assign(name, value),
            Target::Attribute { namespace, name } => {
                check_attribute(name)?;
                let Value::Namespace(index) = self.variable(namespace) else {
                    let message = format!("{} is no namespace", quote(namespace));
                    return Err(TemplateError::runtime(message));
                };
                self.budget.elements(2)?;
                let Some(entries) = self.namespaces.get_mut(index) else { return Ok(()) };
                self.budget.work(entries.len())?;
                let known = |entry: &&mut (Value, Value)| entry.0.as_str() == Some(&**name);
                match entries.iter_mut().find(known) {
                    Some(entry) => entry.1 = value,
                    None => entries.push((Value::Str(name.clone()), value)),
                }
                Ok(())
            }
            Target::Tuple(targets) => {
                let values = value.elements(&mut self.budget)?;
                if values.len() != targets.len() {
                    let (found, wanted) = (values.len(), targets.len());
                    let message = format!("{found} values for {wanted} targets");
                    return Err(TemplateError::runtime(message));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign_target(target, value)?;
                }
                Ok(())
            }
        }
    }

    /// What a body writes in a scope of its own, through filters.
    fn filtered_block(&mut self, filters: &'t [Link], body: &'t Body) -> Result<(Value, Flow)> {
        let mark = self.push_scope(self.current)?;
        let (mut value, flow) = self.capture(body)?;
        self.pop_scope(&mark);
        if flow == Flow::Next {
            for filter in filters {
                value = self.link(value, &filter.kind).map_err(|error| error.at(filter.line))?;
            }
        }
        Ok((value, flow))
    }

    fn set_block(
        &mut self,
        target: &'t Target,
        filters: &'t [Link],
        body: &'t Body,
    ) -> Result<Flow> {
        let (value, flow) = self.filtered_block(filters, body)?;
        if flow == Flow::Next {
            self.assign_target(target, value)?;
        }
        Ok(flow)
    }

    fn filter_statement(&mut self, filters: &'t [Link], body: &'t Body) -> Result<Flow> {
        let (value, flow) = self.filtered_block(filters, body)?;
        if flow == Flow::Next {
            self.print_value(&value)?;
        }
        Ok(flow)
    }

    fn with(&mut self, assignments: &'t [(Target, Expr)], body: &'t Body) -> Result<Flow> {
        // The values see the surroundings, not each other.
        let mut values = Vec::with_capacity(assignments.len());
        for (_, value) in assignments {
            values.push(self.evaluate(value)?);
        }
        let mark = self.push_scope(self.current)?;
        for ((target, _), value) in assignments.iter().zip(values) {
            self.assign_target(target, value)?;
        }
        let flow = self.body(body)?;
        self.pop_scope(&mark);
        Ok(flow)
    }

    fn macro_statement(&mut self, declaration: &'t MacroDeclaration) -> Result<Flow> {
        let made = self.declare(declaration)?;
        self.assign(&declaration.name, made)?;
        Ok(Flow::Next)
    }

    /// Calls a macro that gets the block as its `caller`.
    fn call_statement(&mut self, call: &'t Expr, caller: &'t MacroDeclaration) -> Result<Flow> {
        let made = self.declare(caller)?;
        let value = self.evaluate_call(call, made)?;
        self.print_value(&value)?;
        Ok(Flow::Next)
    }
}
