//! Reference lines that a chart's series are compared with, such as the unpruned model.

/// A reference line of a chart, with its entry in the legend.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reference {
    /// Its name in the legend; not listed if empty.
    pub name: String,
    /// Where the line runs.
    pub shape: ReferenceShape,
    /// The index of the series whose color it has; grey if `None`.
    pub of: Option<usize>,
}

/// The course of a [`Reference`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ReferenceShape {
    /// A dashed horizontal line at a value of the vertical axis.
    Level(f64),
    /// A dashed vertical line at a value of the horizontal axis.
    Upright(f64),
    /// The dashed line on which both axes have the same value.
    Diagonal,
    /// A straight line between two points, in axis values.
    Segment([(f64, f64); 2]),
}

impl Reference {
    fn with(name: impl Into<String>, shape: ReferenceShape) -> Self {
        Self { name: name.into(), shape, of: None }
    }

    /// A horizontal line at a value of the vertical axis.
    pub fn level(name: impl Into<String>, value: f64) -> Self {
        Self::with(name, ReferenceShape::Level(value))
    }

    /// A vertical line at a value of the horizontal axis.
    pub fn upright(name: impl Into<String>, value: f64) -> Self {
        Self::with(name, ReferenceShape::Upright(value))
    }

    /// The line on which both axes have the same value.
    pub fn diagonal(name: impl Into<String>) -> Self {
        Self::with(name, ReferenceShape::Diagonal)
    }

    /// A straight line between two points, in axis values.
    pub fn segment(name: impl Into<String>, ends: [(f64, f64); 2]) -> Self {
        Self::with(name, ReferenceShape::Segment(ends))
    }

    /// Draws it in the color of the series with this index.
    pub fn of(self, series: usize) -> Self {
        Self { of: Some(series), ..self }
    }
}
