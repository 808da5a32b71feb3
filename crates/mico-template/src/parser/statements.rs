//! Statements and their bodies.

use std::sync::Arc;

use super::Parser;
use crate::ast::{
    Body, ExprKind, ForLoop, Link, LinkKind, MacroDeclaration, SpecialNames, Statement,
    StatementKind, Target,
};
use crate::error::{Result, TemplateError, quote};
use crate::lexer::TokenKind;

/// Tags of jinja2 that need other templates or escaping, which a chat template has no use for.
const REFUSED: [&str; 6] = ["include", "import", "from", "extends", "block", "autoescape"];

impl Parser {
    /// Statements up to one of the `ends`, whose name is the next token then; with no `ends`, up to
    /// the end of the template.
    pub(super) fn body(&mut self, ends: &[&str]) -> Result<Body> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            let token = self.tokens.get_mut(self.position).map(|token| &mut token.kind);
            match token {
                Some(TokenKind::Text(text)) => {
                    let kind = StatementKind::Text(std::mem::take(text));
                    body.push(Statement { kind, line });
                    self.advance();
                }
                Some(TokenKind::PrintBegin) => {
                    self.advance();
                    let kind = StatementKind::Print(self.tuple(false, true)?);
                    body.push(Statement { kind, line });
                    if *self.token() != TokenKind::PrintEnd {
                        return self.unexpected("'}}'");
                    }
                    self.advance();
                }
                Some(TokenKind::BlockBegin) => {
                    self.advance();
                    if ends.iter().any(|end| self.is_name(end)) {
                        return Ok(body);
                    }
                    self.statement(&mut body)?;
                    self.block_end()?;
                }
                _ if ends.is_empty() => return Ok(body),
                _ => return self.unexpected(&format!("'{}'", ends.join("' or '"))),
            }
        }
    }

    fn block_end(&mut self) -> Result<()> {
        if *self.token() != TokenKind::BlockEnd {
            return self.unexpected("'%}'");
        }
        self.advance();
        Ok(())
    }

    /// A body behind the rest of its opening tag, a level deeper.
    fn inner(&mut self, ends: &[&str], soft: bool) -> Result<Body> {
        self.skip_operator(":");
        self.block_end()?;
        if self.statements + 1 >= self.limits.syntax_depth {
            return Err(self.too_deep());
        }
        let outer = std::mem::replace(&mut self.soft, soft);
        self.statements += 1;
        // Two, as statements take more of the stack than operators.
        self.enter()?;
        self.enter()?;
        let body = self.body(ends)?;
        self.leave();
        self.leave();
        self.statements -= 1;
        self.soft = outer;
        Ok(body)
    }

    /// A body that ends with one tag, which is passed.
    fn closed(&mut self, end: &str) -> Result<Body> {
        let body = self.inner(&[end], false)?;
        self.advance();
        Ok(body)
    }

    fn statement(&mut self, body: &mut Body) -> Result<()> {
        let line = self.line();
        let TokenKind::Name(name) = self.token() else { return self.unexpected("a tag's name") };
        let name = name.clone();
        self.advance();
        let kind = match &*name {
            "if" => self.if_statement()?,
            "for" => self.for_statement()?,
            "set" => self.set_statement()?,
            "macro" => self.macro_statement()?,
            "call" => self.call_statement()?,
            "filter" => self.filter_statement()?,
            "with" => self.with_statement()?,
            "generation" => StatementKind::Generation(self.isolated("endgeneration")?),
            "print" => return self.print_statement(body),
            "break" | "continue" if self.loops == 0 => {
                return self.fail(format!("'{name}' outside of a loop"));
            }
            "break" => StatementKind::Break,
            "continue" => StatementKind::Continue,
            refused if REFUSED.contains(&refused) => {
                return Err(TemplateError::unsupported(format!("the tag '{refused}'")).at(line));
            }
            unknown => return self.fail(format!("unknown tag {}", quote(unknown))),
        };
        body.push(Statement { kind, line });
        Ok(())
    }

    fn print_statement(&mut self, body: &mut Body) -> Result<()> {
        let mut first = true;
        while *self.token() != TokenKind::BlockEnd {
            if !first {
                self.expect_operator(",")?;
            }
            first = false;
            let line = self.line();
            body.push(Statement { kind: StatementKind::Print(self.expression()?), line });
        }
        Ok(())
    }

    fn if_statement(&mut self) -> Result<StatementKind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.tuple(false, false)?;
            let body = self.inner(&["elif", "else", "endif"], true)?;
            arms.push((condition, body));
            if self.skip_name("elif") {
                continue;
            }
            let mut otherwise = Vec::new();
            if self.skip_name("else") {
                otherwise = self.inner(&["endif"], true)?;
            }
            self.advance();
            return Ok(StatementKind::If { arms, otherwise });
        }
    }

    fn for_statement(&mut self) -> Result<StatementKind> {
        if self.is_name("loop") {
            return self.fail("'loop' cannot be the target of a loop");
        }
        let target = self.target(false)?;
        if !self.skip_name("in") {
            return self.unexpected("'in'");
        }
        let iterable = self.tuple(false, false)?;
        let condition = if self.skip_name("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive");
        self.loops += 1;
        let body = self.inner(&["endfor", "else"], false)?;
        self.loops -= 1;
        let otherwise = if self.skip_name("else") {
            self.closed("endfor")?
        } else {
            self.advance();
            Vec::new()
        };
        let parts = ForLoop { target, iterable, condition, recursive, body, otherwise };
        Ok(StatementKind::For(Box::new(parts)))
    }

    fn set_statement(&mut self) -> Result<StatementKind> {
        let target = self.target(true)?;
        if self.skip_operator("=") {
            return Ok(StatementKind::Set { target, value: self.tuple(false, true)? });
        }
        let mut filters = Vec::new();
        while self.is_operator("|") {
            self.advance();
            filters.push(self.filter_link()?);
        }
        let body = self.closed("endset")?;
        Ok(StatementKind::SetBlock { target, filters, body })
    }

    fn filter_link(&mut self) -> Result<Link> {
        let line = self.line();
        let mut below = 0;
        let kind = self.filter(&mut below)?;
        if below + self.statements >= self.limits.syntax_depth {
            return Err(self.too_deep());
        }
        Ok(Link { kind, line })
    }

    fn filter_statement(&mut self) -> Result<StatementKind> {
        let mut filters = vec![self.filter_link()?];
        while self.skip_operator("|") {
            filters.push(self.filter_link()?);
        }
        let body = self.closed("endfilter")?;
        Ok(StatementKind::Filter { filters, body })
    }

    fn with_statement(&mut self) -> Result<StatementKind> {
        let mut assignments = Vec::new();
        while !matches!(self.token(), TokenKind::BlockEnd | TokenKind::Operator(":")) {
            if !assignments.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.single_target(false)?;
            self.expect_operator("=")?;
            assignments.push((target, self.expression()?));
        }
        let body = self.closed("endwith")?;
        Ok(StatementKind::With { assignments, body })
    }

    /// A body that is called, so that no loop around it can be left from within.
    fn isolated(&mut self, end: &str) -> Result<Body> {
        let loops = std::mem::replace(&mut self.loops, 0);
        let body = self.closed(end)?;
        self.loops = loops;
        Ok(body)
    }

    fn macro_statement(&mut self) -> Result<StatementKind> {
        let name = self.assignable()?;
        let declaration = self.declaration(name, true, "endmacro")?;
        Ok(StatementKind::Macro(Box::new(declaration)))
    }

    fn call_statement(&mut self) -> Result<StatementKind> {
        let outer = std::mem::take(&mut self.uses);
        let parameters = if self.is_operator("(") { self.parameters()? } else { Vec::new() };
        let line = self.line();
        let call = self.expression()?;
        let is_call = matches!(&call.kind, ExprKind::Chain { links, .. }
            if matches!(links.last(), Some(Link { kind: LinkKind::Call(_), .. })));
        if !is_call {
            return Err(TemplateError::syntax(line, "'call' needs the call of a macro"));
        }
        let body = self.isolated("endcall")?;
        let uses = self.merge(outer);
        let name = Arc::from("caller");
        let caller = Box::new(MacroDeclaration { name, parameters, body, uses });
        Ok(StatementKind::Call { call, caller })
    }

    fn declaration(
        &mut self,
        name: Arc<str>,
        parenthesised: bool,
        end: &str,
    ) -> Result<MacroDeclaration> {
        let outer = std::mem::take(&mut self.uses);
        let parameters = if parenthesised { self.parameters()? } else { Vec::new() };
        let body = self.isolated(end)?;
        let uses = self.merge(outer);
        Ok(MacroDeclaration { name, parameters, body, uses })
    }

    /// The special names of the body just read, which its surroundings read as well.
    fn merge(&mut self, outer: SpecialNames) -> SpecialNames {
        let uses = self.uses;
        self.uses.caller |= outer.caller;
        self.uses.varargs |= outer.varargs;
        self.uses.kwargs |= outer.kwargs;
        uses
    }

    fn parameters(&mut self) -> Result<Vec<(Arc<str>, Option<crate::ast::Expr>)>> {
        self.expect_operator("(")?;
        let mut parameters: Vec<(Arc<str>, Option<crate::ast::Expr>)> = Vec::new();
        while !self.is_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
            }
            let name = self.assignable()?;
            self.check_arguments(parameters.len())?;
            if parameters.iter().any(|(known, _)| *known == name) {
                return self.fail(format!("the parameter {} stands twice", quote(&name)));
            }
            let default = if self.skip_operator("=") {
                Some(self.expression()?)
            } else if parameters.last().is_some_and(|(_, default)| default.is_some()) {
                return self.fail("a parameter without default follows one with default");
            } else {
                None
            };
            parameters.push((name, default));
        }
        self.advance();
        Ok(parameters)
    }

    fn assignable(&mut self) -> Result<Arc<str>> {
        let name = self.expect_name()?;
        if matches!(&*name, "true" | "True" | "false" | "False" | "none" | "None") {
            return self.fail(format!("cannot assign to {}", quote(&name)));
        }
        Ok(name)
    }

    /// One target, or several with commas.
    fn target(&mut self, with_namespace: bool) -> Result<Target> {
        let first = self.single_target(with_namespace)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.skip_operator(",") {
            // Only in parentheses may nothing follow the last comma.
            if self.is_operator(")") {
                break;
            }
            targets.push(self.single_target(with_namespace)?);
        }
        Ok(Target::Tuple(targets))
    }

    fn single_target(&mut self, with_namespace: bool) -> Result<Target> {
        if self.skip_operator("(") {
            self.enter()?;
            let target = self.target(with_namespace)?;
            self.leave();
            self.expect_operator(")")?;
            return Ok(target);
        }
        let name = self.assignable()?;
        if with_namespace && self.skip_operator(".") {
            return Ok(Target::Attribute { namespace: name, name: self.expect_name()? });
        }
        Ok(Target::Name(name))
    }
}
