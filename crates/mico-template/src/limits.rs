//! What a template may cost: every bound in one place, with its reason.

/// Bounds on one template and one rendering. The defaults leave published templates a factor of
/// ten or more, and keep the worst template below about a second and 200 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of source. Published templates are below 32 KiB.
    pub source_bytes: usize,
    /// Tokens inside tags. Bounds the syntax tree, whose nodes are larger than their text.
    pub tokens: usize,
    /// Levels of the syntax tree (statements and expressions together): parsing and dropping
    /// recurse this deep. Published templates stay below 20.
    pub syntax_depth: usize,
    /// Levels of evaluation at one time, through macros and recursive loops: evaluation recurses
    /// this deep. A macro that calls itself takes about five levels each time.
    pub evaluation_depth: usize,
    /// Levels of a value (a list in a list ...): printing, comparing and dropping recurse this deep.
    pub value_depth: usize,
    /// Steps of a rendering: nodes evaluated, elements visited and, at [`Limits::BYTES_PER_STEP`],
    /// bytes copied, searched or compared. A conversation of a thousand messages takes 100,000.
    pub steps: u64,
    /// Bytes of one string or list that a template makes.
    pub value_bytes: usize,
    /// Bytes of all values a rendering makes, whether they still live or not: a sum that only
    /// grows needs no trust in what is freed when.
    pub total_bytes: usize,
    /// Bytes of the rendered text.
    pub output_bytes: usize,
    /// Digits behind the point, or of an exponent, that a number is formatted with.
    pub precision: usize,
}

impl Limits {
    /// Bytes that count as one step when they are copied, searched or compared.
    pub const BYTES_PER_STEP: usize = 16;
    /// Elements of a `range`: the bound of jinja2's sandbox, so that what it refuses is refused here.
    pub const RANGE: i64 = 100_000;
    /// Parameters of a macro and named arguments of a call: they are looked for one by one.
    pub const ARGUMENTS: usize = 255;
    /// Bytes one element of a list is counted with.
    pub(crate) const ELEMENT_BYTES: usize = 32;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 256 << 10,
            tokens: 100_000,
            syntax_depth: 64,
            evaluation_depth: 128,
            value_depth: 64,
            steps: 2_000_000,
            value_bytes: 16 << 20,
            total_bytes: 64 << 20,
            output_bytes: 16 << 20,
            precision: 1000,
        }
    }
}
