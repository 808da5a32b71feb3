//! What a chart's series are compared with.

/// Something to compare series with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reference {
    /// What the legend calls it.
    pub name: String,
    /// What is drawn.
    pub shape: ReferenceShape,
    /// The series whose color it has; it is grey without one.
    pub of: Option<usize>,
}

/// The line of a [`Reference`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ReferenceShape {
    /// A value of the vertical axis, dashed from side to side.
    Level(f64),
    /// A value of the horizontal axis, dashed from top to bottom.
    Upright(f64),
    /// Where both axes have the same value, dashed.
    Diagonal,
    /// A straight line between two points.
    Segment([(f64, f64); 2]),
}

impl Reference {
    fn with(name: impl Into<String>, shape: ReferenceShape) -> Self {
        Self { name: name.into(), shape, of: None }
    }

    /// A value of the vertical axis.
    pub fn level(name: impl Into<String>, value: f64) -> Self {
        Self::with(name, ReferenceShape::Level(value))
    }

    /// A value of the horizontal axis.
    pub fn upright(name: impl Into<String>, value: f64) -> Self {
        Self::with(name, ReferenceShape::Upright(value))
    }

    /// Where both axes have the same value.
    pub fn diagonal(name: impl Into<String>) -> Self {
        Self::with(name, ReferenceShape::Diagonal)
    }

    /// A straight line between two points.
    pub fn segment(name: impl Into<String>, ends: [(f64, f64); 2]) -> Self {
        Self::with(name, ReferenceShape::Segment(ends))
    }

    /// In the color of a series.
    pub fn of(self, series: usize) -> Self {
        Self { of: Some(series), ..self }
    }
}
