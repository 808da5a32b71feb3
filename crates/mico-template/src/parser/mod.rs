//! From tokens to the syntax tree, with a bound on every recursion.

mod expressions;
mod primary;
mod statements;

use std::sync::Arc;

use crate::ast::{Body, Expr, ExprKind, SpecialNames};
use crate::error::{Result, TemplateError, quote};
use crate::lexer::{Token, TokenKind, tokenize};
use crate::limits::Limits;

/// Parses a whole template.
pub(crate) fn parse(source: &str, limits: &Limits) -> Result<Body> {
    if source.len() > limits.source_bytes {
        return Err(TemplateError::limit("source_bytes", limits.source_bytes as u64));
    }
    let tokens = tokenize(source, limits)?;
    let mut parser = Parser {
        tokens,
        position: 0,
        limits: *limits,
        recursion: 0,
        statements: 0,
        loops: 0,
        soft: false,
        unknown: Vec::new(),
        uses: SpecialNames::default(),
    };
    let body = parser.body(&[])?;
    parser.unknown.into_iter().next().map_or(Ok(body), Err)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    limits: Limits,
    /// Calls of parser functions that are under way.
    recursion: usize,
    /// Statements around the current one.
    statements: usize,
    /// Loops that `break` could leave.
    loops: usize,
    /// Whether this part may never be reached, so that unknown filters are errors only if it is.
    soft: bool,
    /// Filters and tests that nobody knows, in parts that are reached for certain.
    unknown: Vec<TemplateError>,
    uses: SpecialNames,
}

impl Parser {
    fn token(&self) -> &TokenKind {
        self.tokens.get(self.position).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn ahead(&self) -> &TokenKind {
        self.tokens.get(self.position + 1).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn line(&self) -> u32 {
        let last = self.tokens.last().map_or(1, |token| token.line);
        self.tokens.get(self.position).map_or(last, |token| token.line)
    }

    fn advance(&mut self) {
        self.position += 1;
    }

    fn is_operator(&self, operator: &str) -> bool {
        matches!(self.token(), TokenKind::Operator(found) if *found == operator)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.token(), TokenKind::Name(found) if **found == *name)
    }

    fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        self.position += usize::from(found);
        found
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.position += usize::from(found);
        found
    }

    fn expect_operator(&mut self, operator: &str) -> Result<()> {
        if self.skip_operator(operator) {
            Ok(())
        } else {
            self.unexpected(&format!("'{operator}'"))
        }
    }

    fn expect_name(&mut self) -> Result<Arc<str>> {
        let TokenKind::Name(name) = self.token() else { return self.unexpected("a name") };
        let name = name.clone();
        self.advance();
        Ok(name)
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let found = match self.token() {
            TokenKind::Text(_) => "text".to_owned(),
            TokenKind::PrintBegin => "'{{'".into(),
            TokenKind::PrintEnd => "'}}'".into(),
            TokenKind::BlockBegin => "'{%'".into(),
            TokenKind::BlockEnd => "'%}'".into(),
            TokenKind::Name(name) => quote(name),
            TokenKind::Str(text) => format!("the string {}", quote(text)),
            TokenKind::Int(value) => value.to_string(),
            TokenKind::Float(value) => value.to_string(),
            TokenKind::Operator(operator) => format!("'{operator}'"),
            TokenKind::End => "the end of the template".into(),
        };
        self.fail(format!("expected {expected}, found {found}"))
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(TemplateError::syntax(self.line(), message))
    }

    fn too_deep(&self) -> TemplateError {
        TemplateError::limit("syntax_depth", self.limits.syntax_depth as u64).at(self.line())
    }

    /// Counts a recursion of the parser; more than one may be needed for one level of the tree.
    fn enter(&mut self) -> Result<()> {
        self.recursion += 1;
        let deepest = self.limits.syntax_depth + self.limits.syntax_depth / 2;
        if self.recursion > deepest { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Refuses one more parameter or named argument than are looked through.
    fn check_arguments(&self, count: usize) -> Result<()> {
        if count >= Limits::ARGUMENTS {
            let limit = Limits::ARGUMENTS as u64;
            return Err(TemplateError::limit("arguments", limit).at(self.line()));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.recursion -= 1;
    }

    /// A node above children of the given depth.
    fn node(&self, kind: ExprKind, line: u32, below: usize) -> Result<Expr> {
        let depth = below + 1;
        if depth + self.statements > self.limits.syntax_depth {
            return Err(self.too_deep());
        }
        Ok(Expr { kind, line, depth })
    }
}

/// The depth of the deepest of several expressions.
fn deepest<'e>(expressions: impl IntoIterator<Item = &'e Expr>) -> usize {
    expressions.into_iter().map(|expression| expression.depth).max().unwrap_or(0)
}
