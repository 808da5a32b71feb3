//! The syntax tree. Chains (`a + b + ...`, `x.a.b`, `x|f|g`, `elif`) are flat, so that only what
//! is nested in the source is nested here.

use std::sync::Arc;

use crate::filters::FilterFn;
use crate::tests::TestFn;

/// An expression with the place and the height of its tree.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) line: u32,
    pub(crate) depth: usize,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Name(Arc<str>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Concat(Vec<Expr>),
    Arithmetic {
        first: Box<Expr>,
        rest: Vec<(Arithmetic, Expr)>,
    },
    Compare {
        first: Box<Expr>,
        rest: Vec<(Comparison, Expr)>,
    },
    /// The first value whose condition holds, or else the last.
    Conditional {
        arms: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Chain {
        base: Box<Expr>,
        links: Vec<Link>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// What follows a value: `.name`, `[item]`, `(arguments)`, `|filter`, `is test`.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) kind: LinkKind,
    pub(crate) line: u32,
}

#[derive(Debug)]
pub(crate) enum LinkKind {
    Attribute(Arc<str>),
    Item(Expr),
    Slice(Box<[Option<Expr>; 3]>),
    Call(Box<CallArguments>),
    /// `run` is none for a name jinja2 does not know either: an error when it is reached.
    Filter {
        name: Arc<str>,
        run: Option<FilterFn>,
        arguments: Box<CallArguments>,
    },
    Test {
        name: Arc<str>,
        run: Option<TestFn>,
        arguments: Box<CallArguments>,
        negated: bool,
    },
}

#[derive(Debug, Default)]
pub(crate) struct CallArguments {
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<(Arc<str>, Expr)>,
    pub(crate) all_positional: Option<Expr>,
    pub(crate) all_named: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) line: u32,
}

pub(crate) type Body = Vec<Statement>;

#[derive(Debug)]
pub(crate) enum StatementKind {
    Text(String),
    Print(Expr),
    If {
        arms: Vec<(Expr, Body)>,
        otherwise: Body,
    },
    For(Box<ForLoop>),
    Set {
        target: Target,
        value: Expr,
    },
    SetBlock {
        target: Target,
        filters: Vec<Link>,
        body: Body,
    },
    Macro(Box<MacroDeclaration>),
    Call {
        call: Expr,
        caller: Box<MacroDeclaration>,
    },
    Filter {
        filters: Vec<Link>,
        body: Body,
    },
    With {
        assignments: Vec<(Target, Expr)>,
        body: Body,
    },
    /// `{% generation %}`: marks what the assistant says; printed as it is.
    Generation(Body),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) enum Target {
    Name(Arc<str>),
    Attribute { namespace: Arc<str>, name: Arc<str> },
    Tuple(Vec<Target>),
}

#[derive(Debug)]
pub(crate) struct ForLoop {
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) condition: Option<Expr>,
    pub(crate) recursive: bool,
    pub(crate) body: Body,
    pub(crate) otherwise: Body,
}

#[derive(Debug)]
pub(crate) struct MacroDeclaration {
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<(Arc<str>, Option<Expr>)>,
    pub(crate) body: Body,
    pub(crate) uses: SpecialNames,
}

/// Which of the names that a macro is given only if it reads them its body reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpecialNames {
    pub(crate) caller: bool,
    pub(crate) varargs: bool,
    pub(crate) kwargs: bool,
}
