//! What a stroke means, and the class by which the style sheet colours it.
//!
//! Plots name meanings, not colours, so that one drawing serves light and dark
//! pages. Plotters carries an RGB triple from a chart to its backend; we use
//! the triple as the meaning's number.

use plotters::style::RGBColor;

/// Hues of Okabe and Ito's palette for the colour-blind (Color Universal
/// Design, 2008), adjusted in the style sheet for contrast on each background.
pub(crate) const HUES: usize = 8;

/// Dash patterns, number 0 being a whole line.
pub(crate) const DASHES: usize = 5;

/// A line's look: hue and dashes tell methods apart without colour too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    hue: u8,
    dash: u8,
}

impl Look {
    /// Methods take hues in turn; variants, and methods beyond the palette,
    /// take other dashes.
    pub(crate) fn of(method: usize, variant: usize) -> Self {
        let round = method / HUES;
        Self {
            hue: (method % HUES) as u8,
            dash: ((variant + 2 * round) % DASHES) as u8,
        }
    }

    /// The hue of this method, and the dashes of this line among those of a plot, so that each
    /// can be told from the others without colour.
    pub(crate) fn of_line(method: usize, line: usize) -> Self {
        Self {
            hue: (method % HUES) as u8,
            dash: (line % DASHES) as u8,
        }
    }

    /// Classes of the style sheet.
    pub(crate) fn classes(self) -> String {
        format!("c{} d{}", self.hue, self.dash)
    }
}

/// What a stroke or a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Lines behind the data.
    Grid,
    /// Tick labels.
    Label,
    /// Headings of panels and axes.
    Title,
    /// Borders between blocks.
    Border,
    /// From the smallest to the largest sample of a column.
    Range(Look),
    /// Single samples.
    Dots(Look),
    /// A distribution.
    Line(Look),
    /// The mean of a distribution.
    Mean(Look),
    /// The largest sample of a distribution.
    End(Look),
    /// The median over time.
    Median(Look),
    /// A bar of a histogram.
    Bar(Look),
    /// Nothing: the place of zero on a signed axis.
    Zero,
}

impl Ink {
    /// The triple that stands for this meaning.
    pub(crate) fn color(self) -> RGBColor {
        let of = |role, look: Look| RGBColor(role, look.hue, look.dash);
        let none = Look { hue: 0, dash: 0 };
        match self {
            Self::Grid => of(0, none),
            Self::Label => of(1, none),
            Self::Title => of(2, none),
            Self::Border => of(3, none),
            Self::Range(l) => of(4, l),
            Self::Dots(l) => of(5, l),
            Self::Line(l) => of(6, l),
            Self::Mean(l) => of(7, l),
            Self::End(l) => of(8, l),
            Self::Median(l) => of(9, l),
            Self::Bar(l) => of(10, l),
            Self::Zero => of(11, none),
        }
    }
}

/// The classes for a triple made by [`Ink::color`].
pub(crate) fn classes((role, hue, dash): (u8, u8, u8)) -> String {
    const ROLES: [&str; 12] = ["g", "t", "h", "b", "r", "p", "l", "m", "e", "n", "f", "z"];
    let name = ROLES.get(usize::from(role)).copied().unwrap_or("g");
    match name {
        "g" | "t" | "h" | "b" | "z" => name.to_owned(),
        // Only distributions are told apart by dashes.
        "l" => format!("l c{hue} d{dash}"),
        _ => format!("{name} c{hue}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sixteen_lines_look_different() {
        let thirteen_methods: BTreeSet<_> = (0..16).map(|m| Look::of(m, 0).classes()).collect();
        assert_eq!(thirteen_methods.len(), 16);
        let slack: BTreeSet<_> = (0..8)
            .flat_map(|m| (0..2).map(move |v| Look::of(m, v).classes()))
            .collect();
        assert_eq!(slack.len(), 16);
    }

    #[test]
    fn a_meaning_survives_its_triple() {
        let RGBColor(r, g, b) = Ink::Line(Look::of(3, 1)).color();
        assert_eq!(classes((r, g, b)), "l c3 d1");
        let RGBColor(r, g, b) = Ink::Dots(Look::of(7, 1)).color();
        assert_eq!(classes((r, g, b)), "p c7");
    }
}
