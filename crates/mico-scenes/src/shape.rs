//! The shapes of objects, defined by signed distance functions.

use serde::Serialize;

/// The shape of an object's outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A filled circle (disc) of the object's radius.
    Circle,
    /// A square with horizontal and vertical sides.
    Square,
    /// A triangle that points upwards, with a horizontal base.
    Triangle,
    /// A five-pointed star, with one point upwards.
    Star,
    /// A plus-shaped cross with horizontal and vertical arms.
    Cross,
    /// A square rotated by 45 degrees.
    Diamond,
}

impl Shape {
    /// Every shape, in the order of declaration.
    pub const ALL: [Self; 6] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Star, Self::Cross, Self::Diamond];

    /// The shape's name in questions and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Triangle => "triangle",
            Self::Star => "star",
            Self::Cross => "cross",
            Self::Diamond => "diamond",
        }
    }

    /// The plural of the shape's name.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Circle => "circles",
            Self::Square => "squares",
            Self::Triangle => "triangles",
            Self::Star => "stars",
            Self::Cross => "crosses",
            Self::Diamond => "diamonds",
        }
    }

    /// The signed distance of a point from the outline of the shape of radius 1: positive outside,
    /// negative inside. It is exact only near the outline, which is sufficient for antialiasing.
    pub(crate) fn distance(self, x: f32, y: f32) -> f32 {
        let (ax, ay) = (x.abs(), y.abs());
        match self {
            Self::Circle => x.hypot(y) - 1.0,
            Self::Square => ax.max(ay) - 0.88,
            Self::Diamond => (ax + ay - 1.2) / std::f32::consts::SQRT_2,
            Self::Cross => {
                let horizontal = (ax - 1.05).max(ay - 0.42);
                let vertical = (ax - 0.42).max(ay - 1.05);
                horizontal.min(vertical)
            }
            // Two sides from the apex at y = -1.15, and the base.
            Self::Triangle => (0.853 * ax - 0.5215 * (y + 1.15)).max(y - 0.65),
            Self::Star => star(x, y),
        }
    }
}

/// Signed distance from a five-pointed star of outer radius 1.2: the plane is folded onto one half
/// of a point, whose edge is a straight line.
fn star(x: f32, y: f32) -> f32 {
    const OUTER: f32 = 1.2;
    const INNER: f32 = 0.56;
    let fifth = std::f32::consts::TAU / 5.0;
    let turn = (x.atan2(-y) / fifth).round() * fifth;
    let angle = (x.atan2(-y) - turn).abs();
    let radius = x.hypot(y);
    let (px, py) = (radius * angle.sin(), radius * angle.cos());
    // The edge runs from the point (0, OUTER) to the notch at half a fifth of the circle.
    let (nx, ny) = (INNER * (fifth / 2.0).sin(), INNER * (fifth / 2.0).cos());
    let (ex, ey) = (nx, ny - OUTER);
    let length = ex.hypot(ey);
    (ex * (OUTER - py) + ey * px) / -length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centers_are_inside_and_far_points_outside() {
        for shape in Shape::ALL {
            assert!(shape.distance(0.0, 0.0) < -0.3, "{shape:?}");
            for (x, y) in [(1.4, 0.0), (0.0, 1.4), (-1.4, 0.0), (0.0, -1.4), (1.0, 1.0)] {
                assert!(shape.distance(x, y) > 0.0, "{shape:?} at {x},{y}");
            }
        }
    }

    #[test]
    fn a_star_has_points_and_notches() {
        assert!(Shape::Star.distance(0.0, -1.1) < 0.0);
        assert!(Shape::Star.distance(0.0, 1.0) > 0.0);
    }
}
