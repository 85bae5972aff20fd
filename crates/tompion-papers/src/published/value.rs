//! One published figure: as printed, as a number, and how far it can be trusted.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use tompion_model::InvalidValue;

use crate::published::Unit;

/// What a paper says of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The figure itself.
    Exact,
    /// "About", "around", "roughly".
    About,
    /// "Up to", "not above".
    AtMost,
    /// "Over", "at least".
    AtLeast,
}

impl Relation {
    const SIGNS: [(&str, Self); 3] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("~", Self::About),
    ];

    /// The sign before the number in the data files: `<=`, `>=`, `~` or nothing.
    pub fn sign(self) -> &'static str {
        Self::SIGNS
            .into_iter()
            .find_map(|(sign, r)| (r == self).then_some(sign))
            .unwrap_or_default()
    }
}

/// How far a value can be trusted as a copy of what its authors found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality<'a> {
    /// Legible, and nothing in the sources speaks against it.
    Sound,
    /// Damaged in our text, or another place of the sources says otherwise: why.
    Marked(&'a str),
}

/// A figure as a paper prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    printed: String,
    relation: Relation,
    number: Option<f64>,
    rounding: f64,
    marked: Option<String>,
}

impl Value {
    /// Reads `printed` as a figure of a column in `unit`. A unit of its own behind
    /// the number is converted. Where a reason for a mark is given the figure may
    /// be illegible, and then has no number.
    ///
    /// The error says what is wrong with `printed`.
    pub fn new(printed: &str, unit: Unit, marked: Option<String>) -> Result<Self, InvalidValue> {
        let (relation, rest) = Relation::SIGNS
            .into_iter()
            .find_map(|(sign, r)| Some((r, printed.strip_prefix(sign)?.trim_start())))
            .unwrap_or((Relation::Exact, printed));
        let legible = number(rest, unit);
        let (number, rounding) = match (legible, &marked) {
            (Ok((n, rounding)), _) => (Some(n), rounding),
            (Err(_), Some(_)) => (None, 0.0),
            (Err(why), None) => return Err(format!("`{printed}` {why}").into()),
        };
        Ok(Self {
            printed: printed.to_owned(),
            relation,
            number,
            rounding,
            marked,
        })
    }

    /// The figure as printed, with a unit of its own where it is not the column's.
    pub fn printed(&self) -> &str {
        &self.printed
    }

    /// Whether the paper gives the figure itself, about it, or a bound.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The figure in the column's unit, marked or not; `None` where it is
    /// illegible or told in words.
    pub fn number(&self) -> Option<f64> {
        self.number
    }

    /// How much printing may have rounded off: half a step of the last printed
    /// place, in the column's unit.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Sound, or marked and why.
    pub fn quality(&self) -> Quality<'_> {
        match &self.marked {
            None => Quality::Sound,
            Some(why) => Quality::Marked(why),
        }
    }

    /// Whether the value is sound.
    pub fn is_sound(&self) -> bool {
        self.marked.is_none()
    }

    /// Whether two figures in the same unit can be the same one, each rounded as
    /// printed. Two figures without numbers never are.
    pub fn agrees(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (self.number, other.number) else {
            return false;
        };
        // A hair for binary fractions of numbers that print exactly.
        let room = (self.rounding + other.rounding) * (1.0 + 1e-9);
        match (self.relation, other.relation) {
            (Relation::AtMost, _) => b <= a + room,
            (_, Relation::AtMost) => a <= b + room,
            (Relation::AtLeast, _) => b >= a - room,
            (_, Relation::AtLeast) => a >= b - room,
            _ => (a - b).abs() <= room,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Value", 5)?;
        s.serialize_field("value", &self.number)?;
        s.serialize_field("printed", &self.printed)?;
        s.serialize_field("relation", &self.relation)?;
        let sound = self.is_sound();
        s.serialize_field("quality", if sound { "sound" } else { "marked" })?;
        s.serialize_field("why", &self.marked)?;
        s.end()
    }
}

/// The number and half a step of its last place, both in `unit`.
fn number(text: &str, unit: Unit) -> Result<(f64, f64), InvalidValue> {
    let (digits, own) = match text.split_once(' ') {
        None => (text, unit),
        Some((digits, name)) => match Unit::of_name(name) {
            Some(own) => (digits, own),
            None => return Err(format!("has the unit `{name}`, which is none of ours").into()),
        },
    };
    let exponent = own
        .exponent_to(unit)
        .ok_or_else(|| format!("is in {own}, its column in {unit}"))?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let well_formed = all_digits(fraction)
        && grouped(whole)
        && !(whole.is_empty() && fraction.is_empty())
        && !digits.ends_with('.');
    if !well_formed {
        return Err("is not a number such as 1,272,060.0 or .051".into());
    }
    // By way of decimal text, so that 2.12 us are 2120 ns and not a hair less.
    let plain = whole.replace(',', "");
    let scaled = format!("0{plain}.{fraction}0e{exponent}").parse();
    let half = format!("5e{}", exponent - fraction.len() as i32 - 1).parse();
    match (scaled, half) {
        (Ok(number), Ok(half)) => Ok((number, half)),
        _ => Err("is out of range".into()),
    }
}

/// Digits, with commas between groups of three or with none at all.
fn grouped(whole: &str) -> bool {
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let rest: Vec<&str> = groups.collect();
    if rest.is_empty() {
        return digits(first) && (first.len() == 1 || !first.starts_with('0'));
    }
    (1..=3).contains(&first.len())
        && digits(first)
        && !first.starts_with('0')
        && rest.iter().all(|g| g.len() == 3 && digits(g))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(printed: &str, unit: Unit) -> Value {
        Value::new(printed, unit, None).unwrap()
    }

    #[test]
    fn printed_figures_become_numbers_in_the_unit_of_their_column() {
        for (printed, unit, want, rounding) in [
            ("216,009,000.0", Unit::Nanosecond, 216_009_000.0, 0.05),
            ("2161.1", Unit::Nanosecond, 2161.1, 0.05),
            (".051", Unit::Millisecond, 0.051, 0.0005),
            ("2.12 us", Unit::Nanosecond, 2120.0, 5.0),
            ("7.6 ms", Unit::Nanosecond, 7_600_000.0, 50_000.0),
            ("0.0", Unit::Nanosecond, 0.0, 0.05),
            ("35 us", Unit::Millisecond, 0.035, 0.0005),
            ("99", Unit::Percent, 99.0, 0.5),
        ] {
            let value = read(printed, unit);
            assert_eq!(value.number(), Some(want), "{printed}");
            assert!((value.rounding() - rounding).abs() < 1e-12 * rounding.max(1.0));
            assert_eq!(value.relation(), Relation::Exact);
        }
    }

    #[test]
    fn what_a_paper_only_bounds_or_approximates_says_so() {
        assert_eq!(
            read("~80 us", Unit::Microsecond).relation(),
            Relation::About
        );
        let at_most = read("<= 1 ms", Unit::Nanosecond);
        assert_eq!(at_most.number(), Some(1e6));
        assert_eq!(at_most.relation(), Relation::AtMost);
        assert_eq!(read(">= 50", Unit::Microsecond).relation().sign(), ">=");
    }

    #[test]
    fn malformed_figures_are_refused_unless_they_are_marked() {
        for bad in [
            "",
            ".",
            "1,23",
            "12,3456.0",
            "0,123.0",
            "07.2",
            "1.2.3",
            "-3",
            "1e3",
            "15.",
            "5 ps",
            "5 %",
            "tens",
            "1, 234",
            "1.2,345",
        ] {
            assert!(Value::new(bad, Unit::Nanosecond, None).is_err(), "{bad}");
            let marked = Value::new(bad, Unit::Nanosecond, Some("torn".into())).unwrap();
            assert_eq!(marked.number(), None, "{bad}");
            assert_eq!(marked.quality(), Quality::Marked("torn"));
        }
    }

    #[test]
    fn figures_agree_when_rounding_can_have_made_them_differ() {
        let ns = |text| read(text, Unit::Nanosecond);
        assert!(ns("98,544.0").agrees(&ns("99 us")));
        assert!(ns("107,852.0").agrees(&ns("108 us")));
        assert!(!ns("63,264.2").agrees(&ns("61.3 us")));
        assert!(!ns("2053.9").agrees(&ns("2.12 us")));
        assert!(!ns("2,744,610.0").agrees(&ns("<= 2 ms")));
        assert!(ns("<= 1 ms").agrees(&ns("826,773.0")));
        assert!(ns("60").agrees(&ns(">= 50")));
        assert!(!ns(">= 50").agrees(&ns("40")));
    }
}
