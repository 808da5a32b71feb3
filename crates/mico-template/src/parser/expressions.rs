//! Operators, by precedence climbing: few stack frames for each level of the source.

use super::{Parser, deepest};
use crate::ast::{Arithmetic, Comparison, Expr, ExprKind};
use crate::error::Result;
use crate::lexer::TokenKind;

/// Precedence of operators as in jinja2, loosest first. Unlike in most languages `~` binds tighter
/// than `+`.
const OR: u8 = 0;
const AND: u8 = 1;
const NOT: u8 = 2;
const COMPARE: u8 = 3;
const SUM: u8 = 4;
const CONCAT: u8 = 5;
const PRODUCT: u8 = 6;
const POWER: u8 = 7;

impl Parser {
    /// A full expression, with inline `if`.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        let line = self.line();
        let mut arms: Vec<(Expr, Expr)> = Vec::new();
        // What a condition decides about may never be reached, as in the body of an `if`.
        let unknown = self.unknown.len();
        'arms: loop {
            let mut value = self.operators(OR)?;
            loop {
                if !self.skip_name("if") {
                    if !arms.is_empty() {
                        self.unknown.truncate(unknown);
                    }
                    return self.conditional(arms, Some(value), line);
                }
                let condition = self.operators(OR)?;
                if self.skip_name("else") {
                    arms.push((value, condition));
                    continue 'arms;
                }
                self.unknown.truncate(unknown);
                value = self.conditional(vec![(value, condition)], None, line)?;
            }
        }
    }

    fn conditional(
        &mut self,
        arms: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
        line: u32,
    ) -> Result<Expr> {
        match otherwise {
            Some(value) if arms.is_empty() => Ok(value),
            otherwise => {
                let below = deepest(arms.iter().flat_map(|(value, condition)| [value, condition]))
                    .max(otherwise.as_ref().map_or(0, |value| value.depth));
                let otherwise = otherwise.map(Box::new);
                self.node(ExprKind::Conditional { arms, otherwise }, line, below)
            }
        }
    }

    /// An expression without inline `if`.
    pub(super) fn plain_expression(&mut self) -> Result<Expr> {
        self.operators(OR)
    }

    fn operators(&mut self, loosest: u8) -> Result<Expr> {
        self.enter()?;
        let line = self.line();
        let mut left = if loosest <= NOT && self.is_name("not") {
            self.advance();
            let operand = self.operators(NOT)?;
            let below = operand.depth;
            self.node(ExprKind::Not(Box::new(operand)), line, below)?
        } else {
            self.unary(true)?
        };
        while let Some(level) = self.level() {
            if level < loosest {
                break;
            }
            left = match level {
                OR | AND | CONCAT => self.joined(left, level, line)?,
                COMPARE => self.comparison(left, line)?,
                _ => self.arithmetic(left, level, line)?,
            };
        }
        self.leave();
        Ok(left)
    }

    /// Precedence of the binary operator that comes next, if one does.
    fn level(&self) -> Option<u8> {
        match self.token() {
            TokenKind::Name(name) => match &**name {
                "or" => Some(OR),
                "and" => Some(AND),
                "in" => Some(COMPARE),
                "not" if matches!(self.ahead(), TokenKind::Name(next) if **next == *"in") => {
                    Some(COMPARE)
                }
                _ => None,
            },
            TokenKind::Operator("~") => Some(CONCAT),
            TokenKind::Operator("**") => Some(POWER),
            TokenKind::Operator("+" | "-") => Some(SUM),
            TokenKind::Operator("*" | "/" | "//" | "%") => Some(PRODUCT),
            TokenKind::Operator("==" | "!=" | "<" | "<=" | ">" | ">=") => Some(COMPARE),
            _ => None,
        }
    }

    /// `and`, `or` and `~`: one node for the whole chain.
    fn joined(&mut self, left: Expr, level: u8, line: u32) -> Result<Expr> {
        let mut operands = vec![left];
        while self.level() == Some(level) {
            self.advance();
            operands.push(self.operators(level + 1)?);
        }
        let below = deepest(&operands);
        let kind = match level {
            OR => ExprKind::Or(operands),
            AND => ExprKind::And(operands),
            _ => ExprKind::Concat(operands),
        };
        self.node(kind, line, below)
    }

    fn comparison(&mut self, left: Expr, line: u32) -> Result<Expr> {
        let mut rest = Vec::new();
        while self.level() == Some(COMPARE) {
            let comparison = match self.token() {
                TokenKind::Operator("==") => Comparison::Equal,
                TokenKind::Operator("!=") => Comparison::NotEqual,
                TokenKind::Operator("<") => Comparison::Less,
                TokenKind::Operator("<=") => Comparison::LessOrEqual,
                TokenKind::Operator(">") => Comparison::Greater,
                TokenKind::Operator(">=") => Comparison::GreaterOrEqual,
                TokenKind::Name(name) if **name == *"in" => Comparison::In,
                _ => {
                    self.advance();
                    Comparison::NotIn
                }
            };
            self.advance();
            rest.push((comparison, self.operators(SUM)?));
        }
        let below = deepest(rest.iter().map(|(_, operand)| operand)).max(left.depth);
        self.node(ExprKind::Compare { first: Box::new(left), rest }, line, below)
    }

    fn arithmetic(&mut self, left: Expr, level: u8, line: u32) -> Result<Expr> {
        let mut rest = Vec::new();
        while self.level() == Some(level) {
            let operator = match self.token() {
                TokenKind::Operator("+") => Arithmetic::Add,
                TokenKind::Operator("-") => Arithmetic::Subtract,
                TokenKind::Operator("*") => Arithmetic::Multiply,
                TokenKind::Operator("/") => Arithmetic::Divide,
                TokenKind::Operator("//") => Arithmetic::FloorDivide,
                TokenKind::Operator("%") => Arithmetic::Modulo,
                _ => Arithmetic::Power,
            };
            self.advance();
            rest.push((operator, self.operators(level + 1)?));
        }
        let below = deepest(rest.iter().map(|(_, operand)| operand)).max(left.depth);
        self.node(ExprKind::Arithmetic { first: Box::new(left), rest }, line, below)
    }

    fn unary(&mut self, with_filters: bool) -> Result<Expr> {
        let line = self.line();
        let negative = self.is_operator("-");
        let base = if negative || self.is_operator("+") {
            self.advance();
            self.enter()?;
            let operand = self.unary(false)?;
            self.leave();
            let below = operand.depth;
            let operand = Box::new(operand);
            let kind =
                if negative { ExprKind::Negative(operand) } else { ExprKind::Positive(operand) };
            self.node(kind, line, below)?
        } else {
            self.primary()?
        };
        self.chain(base, with_filters)
    }
}
