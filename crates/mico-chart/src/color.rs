//! The palette of all pictures, and its colors on light and on dark backgrounds.

use std::fmt::Write as _;

/// An sRGB color: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Color {
    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// This color mixed with another: a `share` of 0 is this one, 1 the other.
    fn mixed(self, other: Self, share: f64) -> Self {
        let part = |own: u8, other: u8| {
            (f64::from(own) * (1.0 - share) + f64::from(other) * share).round() as u8
        };
        Self(part(self.0, other.0), part(self.1, other.1), part(self.2, other.2))
    }

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(self) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Contrast ratio of two colors as WCAG 2 defines it, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// This color moved towards `ink` until its contrast to `paper` is at least `least`.
    fn readable(self, paper: Self, ink: Self, least: f64) -> Self {
        const STEPS: u32 = 20;
        let steps = (0..=STEPS).map(|step| self.mixed(ink, f64::from(step) / f64::from(STEPS)));
        steps.into_iter().find(|color| color.contrast(paper) >= least).unwrap_or(ink)
    }
}

/// Series colors that stay apart for people who see red or green weakly: six of Okabe and Ito's, the
/// light ones a little darker for white paper, and two between them in lightness.
pub(crate) const SERIES: [Color; 8] = [
    Color(0, 114, 178),
    Color(213, 94, 0),
    Color(0, 158, 115),
    Color(190, 96, 150),
    Color(225, 150, 0),
    Color(70, 165, 225),
    Color(75, 50, 145),
    Color(120, 80, 45),
];
/// Least contrast of text in a series' color to the paper: WCAG's level AA.
const TEXT_CONTRAST: f64 = 4.5;

/// The role of a color. The theme decides which color a role has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// The background of the picture.
    Paper,
    /// Text and axes, in the strongest contrast.
    Ink,
    /// Text and lines of secondary importance.
    Muted,
    /// Grid lines at the ticks of an axis.
    Grid,
    /// The line of the Pareto front.
    Front,
    /// Lines and markers of the series in a slot of the palette.
    Series(usize),
    /// Text in a series' color, darker or lighter where contrast requires it.
    Label(usize),
    /// A color that is the same in every theme.
    Fixed(Color),
}

impl Paint {
    /// Every role that has a CSS custom property.
    fn roles() -> impl Iterator<Item = Self> {
        let slots = 0..SERIES.len();
        [Self::Paper, Self::Ink, Self::Muted, Self::Grid, Self::Front]
            .into_iter()
            .chain(slots.clone().map(Self::Series))
            .chain(slots.map(Self::Label))
    }

    /// The CSS custom property of a role; `None` for a fixed color.
    pub(crate) fn property(self) -> Option<String> {
        let name = match self {
            Self::Paper => "paper".to_owned(),
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Front => "front".to_owned(),
            Self::Series(slot) => format!("series-{}", slot % SERIES.len()),
            Self::Label(slot) => format!("label-{}", slot % SERIES.len()),
            Self::Fixed(_) => return None,
        };
        Some(format!("--chart-{name}"))
    }
}

/// The colors of the roles, and the contrast required of series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    paper: Color,
    ink: Color,
    muted: Color,
    grid: Color,
    front: Color,
    /// Least contrast of a series' lines and markers to the background.
    line_contrast: f64,
}

impl Theme {
    /// A white background: PNG and SVG files, and documents in light mode.
    pub(crate) const LIGHT: Self = Self {
        paper: Color(255, 255, 255),
        ink: Color(30, 30, 30),
        muted: Color(100, 104, 110),
        grid: Color(228, 228, 228),
        front: Color(214, 210, 190),
        // The palette reaches this: its lightest color is orange.
        line_contrast: 2.3,
    };
    /// A dark background, for documents in dark mode.
    pub(crate) const DARK: Self = Self {
        paper: Color(21, 23, 27),
        ink: Color(232, 233, 236),
        muted: Color(163, 169, 179),
        grid: Color(48, 52, 60),
        front: Color(79, 76, 60),
        // Thin lines look dimmer on a dark background.
        line_contrast: 4.0,
    };

    pub(crate) fn color(&self, paint: Paint) -> Color {
        let series = |slot: usize, least: f64| {
            SERIES[slot % SERIES.len()].readable(self.paper, self.ink, least)
        };
        match paint {
            Paint::Paper => self.paper,
            Paint::Ink => self.ink,
            Paint::Muted => self.muted,
            Paint::Grid => self.grid,
            Paint::Front => self.front,
            Paint::Series(slot) => series(slot, self.line_contrast),
            Paint::Label(slot) => series(slot, TEXT_CONTRAST),
            Paint::Fixed(color) => color,
        }
    }

    fn properties(&self) -> String {
        let mut css = String::new();
        for paint in Paint::roles() {
            if let Some(name) = paint.property() {
                // Writing to a string does not fail.
                let _ = write!(css, " {name}: {};", self.color(paint).hex());
            }
        }
        css
    }
}

/// Style rules that give inline charts their colors in an HTML document, light or dark as the reader
/// prefers. Without them charts are drawn for white paper.
pub fn theme_css() -> String {
    format!(
        ":root {{{} }}\n@media (prefers-color-scheme: dark) {{ :root {{{} }} }}\n",
        Theme::LIGHT.properties(),
        Theme::DARK.properties()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_can_be_read_on_both_papers() {
        for theme in [Theme::LIGHT, Theme::DARK] {
            for slot in 0..SERIES.len() {
                let line = theme.color(Paint::Series(slot)).contrast(theme.paper);
                let text = theme.color(Paint::Label(slot)).contrast(theme.paper);
                assert!(
                    line >= theme.line_contrast && text >= TEXT_CONTRAST,
                    "{slot}: {line} {text}"
                );
            }
            for paint in [Paint::Ink, Paint::Muted] {
                assert!(theme.color(paint).contrast(theme.paper) >= TEXT_CONTRAST, "{paint:?}");
            }
        }
    }

    /// The palette as seen without the green cones (Viénot, Brettel and Mollon 1999).
    #[test]
    fn series_stay_apart_without_green_cones() {
        let seen = |color: Color| {
            let [r, g, b] = [color.0, color.1, color.2].map(|v| (f64::from(v) / 255.0).powf(2.2));
            let yellow = 0.292_75 * r + 0.707_25 * g;
            [yellow, -0.022_34 * r + 0.022_34 * g + b].map(|v| v.max(0.0).powf(1.0 / 2.2) * 255.0)
        };
        for (index, a) in SERIES.iter().enumerate() {
            for b in &SERIES[index + 1..] {
                let (p, q) = (seen(*a), seen(*b));
                let distance = (p[0] - q[0]).hypot(p[1] - q[1]);
                assert!(distance > 18.0, "{a:?} {b:?}: {distance}");
            }
        }
    }

    #[test]
    fn css_has_every_role_twice() {
        let css = theme_css();
        assert_eq!(css.matches("--chart-ink: #").count(), 2);
        assert_eq!(css.matches("--chart-").count(), 2 * (5 + 2 * SERIES.len()));
        assert_eq!(Paint::Fixed(Color(1, 2, 3)).property(), None);
    }
}
