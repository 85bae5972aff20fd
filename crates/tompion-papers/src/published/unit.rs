//! Units in which the papers give their figures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanosecond,
    /// Microseconds.
    #[serde(rename = "us")]
    Microsecond,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millisecond,
    /// Seconds.
    #[serde(rename = "s")]
    Second,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// Events a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A ratio or a count.
    #[serde(rename = "1")]
    One,
}

impl Unit {
    const ALL: [Self; 7] = [
        Self::Nanosecond,
        Self::Microsecond,
        Self::Millisecond,
        Self::Second,
        Self::Percent,
        Self::PerSecond,
        Self::One,
    ];

    /// The name in the data files and in JSON: `ns`, `us`, `ms`, `s`, `%`, `1/s`, `1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanosecond => "ns",
            Self::Microsecond => "us",
            Self::Millisecond => "ms",
            Self::Second => "s",
            Self::Percent => "%",
            Self::PerSecond => "1/s",
            Self::One => "1",
        }
    }

    /// The unit of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|u| u.name() == name)
    }

    /// The power of ten that turns a time into nanoseconds; `None` where the unit
    /// is no time.
    fn exponent_ns(self) -> Option<i32> {
        match self {
            Self::Nanosecond => Some(0),
            Self::Microsecond => Some(3),
            Self::Millisecond => Some(6),
            Self::Second => Some(9),
            Self::Percent | Self::PerSecond | Self::One => None,
        }
    }

    /// The power of ten by which a number in this unit is multiplied to be one in
    /// `to`; `None` where one does not turn into the other.
    pub fn exponent_to(self, to: Self) -> Option<i32> {
        if self == to {
            return Some(0);
        }
        Some(self.exponent_ns()? - to.exponent_ns()?)
    }
}

impl fmt::Display for Unit {
    /// As people write it: `µs`; nothing for a plain number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Microsecond => "µs",
            Self::One => "",
            other => other.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_turn_into_one_another_and_into_nothing_else() {
        assert_eq!(Unit::Millisecond.exponent_to(Unit::Nanosecond), Some(6));
        assert_eq!(Unit::Nanosecond.exponent_to(Unit::Microsecond), Some(-3));
        assert_eq!(Unit::Percent.exponent_to(Unit::Percent), Some(0));
        assert_eq!(Unit::Percent.exponent_to(Unit::One), None);
        assert_eq!(Unit::PerSecond.exponent_to(Unit::Second), None);
    }

    #[test]
    fn names_lead_back_to_units() {
        for unit in Unit::ALL {
            assert_eq!(Unit::of_name(unit.name()), Some(unit));
        }
        assert_eq!(Unit::of_name("ps"), None);
    }
}
