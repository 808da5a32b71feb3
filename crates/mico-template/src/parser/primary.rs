//! Literals, names, and what follows them: attributes, items, calls, filters, tests.

use std::sync::Arc;

use super::{Parser, deepest};
use crate::ast::{CallArguments, Expr, ExprKind, Link, LinkKind};
use crate::error::{Result, TemplateError, quote};
use crate::lexer::TokenKind;
use crate::{filters, tests};

impl Parser {
    pub(super) fn primary(&mut self) -> Result<Expr> {
        let line = self.line();
        let kind = match self.token() {
            TokenKind::Name(name) => {
                let name = name.clone();
                self.advance();
                self.named(name)
            }
            TokenKind::Str(_) => self.strings(),
            TokenKind::Int(value) => {
                let value = *value;
                self.advance();
                ExprKind::Int(value)
            }
            TokenKind::Float(value) => {
                let value = *value;
                self.advance();
                ExprKind::Float(value)
            }
            TokenKind::Operator("(" | "[" | "{") => {
                self.enter()?;
                let inner = self.bracketed()?;
                self.leave();
                return Ok(inner);
            }
            _ => return self.unexpected("an expression"),
        };
        self.node(kind, line, 0)
    }

    fn bracketed(&mut self) -> Result<Expr> {
        if self.is_operator("[") {
            return self.list();
        }
        if self.is_operator("{") {
            return self.dict();
        }
        self.advance();
        let inner = self.tuple(true, true)?;
        self.expect_operator(")")?;
        Ok(inner)
    }

    fn named(&mut self, name: Arc<str>) -> ExprKind {
        match &*name {
            "true" | "True" => ExprKind::Bool(true),
            "false" | "False" => ExprKind::Bool(false),
            "none" | "None" => ExprKind::None,
            _ => {
                self.uses.caller |= *name == *"caller";
                self.uses.varargs |= *name == *"varargs";
                self.uses.kwargs |= *name == *"kwargs";
                ExprKind::Name(name)
            }
        }
    }

    /// Adjacent strings are one.
    fn strings(&mut self) -> ExprKind {
        let mut whole = String::new();
        while let TokenKind::Str(text) = self.token() {
            whole.push_str(text);
            self.position += 1;
        }
        ExprKind::Str(Arc::from(whole))
    }

    /// One expression, or several with commas. Only in parentheses may there be none.
    pub(super) fn tuple(&mut self, in_parentheses: bool, with_if: bool) -> Result<Expr> {
        let line = self.line();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            let ends = match self.token() {
                TokenKind::PrintEnd | TokenKind::BlockEnd | TokenKind::Operator(")") => true,
                TokenKind::Name(name) => !with_if && **name == *"recursive",
                _ => false,
            };
            if ends {
                break;
            }
            items.push(if with_if { self.expression()? } else { self.plain_expression()? });
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
        }
        if !is_tuple {
            if let Some(only) = items.pop() {
                return Ok(only);
            }
            if !in_parentheses {
                return self.unexpected("an expression");
            }
        }
        let below = deepest(&items);
        self.node(ExprKind::Tuple(items), line, below)
    }

    fn list(&mut self) -> Result<Expr> {
        let line = self.line();
        self.advance();
        let mut items = Vec::new();
        while !self.is_operator("]") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("]") {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        self.advance();
        let below = deepest(&items);
        self.node(ExprKind::List(items), line, below)
    }

    fn dict(&mut self) -> Result<Expr> {
        let line = self.line();
        self.advance();
        let mut items: Vec<(Expr, Expr)> = Vec::new();
        while !self.is_operator("}") {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.is_operator("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_operator(":")?;
            items.push((key, self.expression()?));
        }
        self.advance();
        let below = deepest(items.iter().flat_map(|(key, value)| [key, value]));
        self.node(ExprKind::Dict(items), line, below)
    }

    /// Attributes, items and calls; with filters and tests where they may stand.
    pub(super) fn chain(&mut self, base: Expr, with_filters: bool) -> Result<Expr> {
        let mut links = Vec::new();
        let mut below = base.depth;
        // Behind the first filter or test only filters, tests and calls may follow.
        let mut filtered = false;
        loop {
            let line = self.line();
            // Two, as these functions take more of the stack than others.
            self.enter()?;
            self.enter()?;
            let kind = match self.token() {
                TokenKind::Operator(".") if !filtered => self.attribute()?,
                TokenKind::Operator("[") if !filtered => self.subscript(&mut below)?,
                TokenKind::Operator("(") => LinkKind::Call(self.arguments(&mut below)?),
                TokenKind::Operator("|") if with_filters => {
                    filtered = true;
                    self.advance();
                    self.filter(&mut below)?
                }
                TokenKind::Name(name) if with_filters && **name == *"is" => {
                    filtered = true;
                    self.advance();
                    self.test(&mut below)?
                }
                _ => {
                    self.leave();
                    self.leave();
                    break;
                }
            };
            self.leave();
            self.leave();
            links.push(Link { kind, line });
        }
        if links.is_empty() {
            return Ok(base);
        }
        let line = base.line;
        self.node(ExprKind::Chain { base: Box::new(base), links }, line, below)
    }

    fn attribute(&mut self) -> Result<LinkKind> {
        self.advance();
        let kind = match self.token() {
            TokenKind::Name(name) => LinkKind::Attribute(name.clone()),
            TokenKind::Int(index) => {
                LinkKind::Item(self.node(ExprKind::Int(*index), self.line(), 0)?)
            }
            _ => return self.unexpected("a name or a number"),
        };
        self.advance();
        Ok(kind)
    }

    fn subscript(&mut self, below: &mut usize) -> Result<LinkKind> {
        let line = self.line();
        self.advance();
        let mut parts: [Option<Expr>; 3] = [None, None, None];
        let mut colons = 0;
        while !self.is_operator("]") {
            if self.skip_operator(":") {
                colons += 1;
                if colons > 2 {
                    return self.unexpected("']'");
                }
            } else if parts[colons].is_none() {
                let part = self.expression()?;
                *below = (*below).max(part.depth);
                parts[colons] = Some(part);
                if colons == 0 && self.is_operator(",") {
                    return self.tuple_subscript(parts[0].take(), line, below);
                }
            } else {
                return self.unexpected("']'");
            }
        }
        self.advance();
        if colons > 0 {
            return Ok(LinkKind::Slice(Box::new(parts)));
        }
        match parts {
            [Some(item), ..] => Ok(LinkKind::Item(item)),
            _ => Ok(LinkKind::Item(self.node(ExprKind::Tuple(Vec::new()), line, 0)?)),
        }
    }

    /// `x[a, b]`: a key that is a tuple.
    fn tuple_subscript(
        &mut self,
        first: Option<Expr>,
        line: u32,
        below: &mut usize,
    ) -> Result<LinkKind> {
        let mut items: Vec<Expr> = first.into_iter().collect();
        while self.skip_operator(",") {
            items.push(self.expression()?);
        }
        self.expect_operator("]")?;
        let depth = deepest(&items);
        let tuple = self.node(ExprKind::Tuple(items), line, depth)?;
        *below = (*below).max(tuple.depth);
        Ok(LinkKind::Item(tuple))
    }

    pub(super) fn arguments(&mut self, below: &mut usize) -> Result<Box<CallArguments>> {
        self.expect_operator("(")?;
        let mut arguments = Box::<CallArguments>::default();
        let mut first = true;
        while !self.is_operator(")") {
            if !first {
                self.expect_operator(",")?;
                if self.is_operator(")") {
                    break;
                }
            }
            first = false;
            let depth = self.argument(&mut arguments)?;
            *below = (*below).max(depth);
        }
        self.advance();
        Ok(arguments)
    }

    fn argument(&mut self, arguments: &mut CallArguments) -> Result<usize> {
        let starred = arguments.all_positional.is_some();
        let double = arguments.all_named.is_some();
        let is_named = matches!(self.token(), TokenKind::Name(_))
            && matches!(self.ahead(), TokenKind::Operator("="));
        let allowed = if self.is_operator("*") {
            !starred && !double
        } else if self.is_operator("**") || is_named {
            !double
        } else {
            !starred && !double && arguments.named.is_empty()
        };
        if !allowed {
            return self.fail("invalid order of arguments");
        }
        if self.skip_operator("*") {
            let value = self.expression()?;
            return Ok(arguments.all_positional.insert(value).depth);
        }
        if self.skip_operator("**") {
            let value = self.expression()?;
            return Ok(arguments.all_named.insert(value).depth);
        }
        if !is_named {
            let value = self.expression()?;
            let depth = value.depth;
            arguments.positional.push(value);
            return Ok(depth);
        }
        let name = self.expect_name()?;
        self.advance();
        self.check_arguments(arguments.named.len())?;
        if arguments.named.iter().any(|(known, _)| *known == name) {
            return self.fail(format!("the argument {} is given twice", quote(&name)));
        }
        let value = self.expression()?;
        let depth = value.depth;
        arguments.named.push((name, value));
        Ok(depth)
    }

    fn dotted(&mut self) -> Result<Arc<str>> {
        let mut name = self.expect_name()?.to_string();
        while self.skip_operator(".") {
            name.push('.');
            name.push_str(&self.expect_name()?);
        }
        Ok(Arc::from(name))
    }

    pub(super) fn filter(&mut self, below: &mut usize) -> Result<LinkKind> {
        let line = self.line();
        let name = self.dotted()?;
        let run = match filters::find(&name) {
            Some(Ok(run)) => Some(run),
            Some(Err(())) => {
                return Err(
                    TemplateError::unsupported(format!("the filter {}", quote(&name))).at(line)
                );
            }
            None => {
                self.unknown("filter", &name);
                None
            }
        };
        let arguments = if self.is_operator("(") { self.arguments(below)? } else { Box::default() };
        Ok(LinkKind::Filter { name, run, arguments })
    }

    fn unknown(&mut self, kind: &str, name: &str) {
        if !self.soft {
            let message = format!("no {kind} is named {}", quote(name));
            self.unknown.push(TemplateError::syntax(self.line(), message));
        }
    }

    fn test(&mut self, below: &mut usize) -> Result<LinkKind> {
        let negated = self.skip_name("not");
        let name = self.dotted()?;
        let run = tests::find(&name);
        if run.is_none() {
            self.unknown("test", &name);
        }
        let mut arguments = Box::<CallArguments>::default();
        match self.token() {
            TokenKind::Operator("(") => arguments = self.arguments(below)?,
            TokenKind::Name(next) if matches!(&**next, "else" | "or" | "and") => {}
            TokenKind::Name(next) if **next == *"is" => {
                return self.fail("tests cannot follow each other");
            }
            TokenKind::Name(_)
            | TokenKind::Str(_)
            | TokenKind::Int(_)
            | TokenKind::Float(_)
            | TokenKind::Operator("[" | "{") => {
                self.enter()?;
                let argument = self.primary()?;
                let argument = self.chain(argument, false)?;
                self.leave();
                *below = (*below).max(argument.depth);
                arguments.positional.push(argument);
            }
            _ => {}
        }
        Ok(LinkKind::Test { name, run, arguments, negated })
    }
}
