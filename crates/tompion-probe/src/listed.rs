//! A method by its entry in the list of its probe.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use tompion_model::{InvalidValue, MethodRow, unknown_name};

/// What is listed as a method.
pub trait Listed: Sync + 'static {
    /// What methods of this probe are called, for example `wake-up method`.
    const WHAT: &'static str;

    /// All of them, in the order in which they are shown.
    fn all() -> &'static [&'static Self];

    /// What it says of itself.
    fn row(&self) -> &MethodRow;
}

/// A method of one probe.
pub struct Method<E: 'static>(&'static E);

impl<E: Listed> Method<E> {
    /// All of them, in the order in which they are shown.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        E::all().iter().copied().map(Self)
    }

    /// The one of that name.
    ///
    /// # Panics
    /// Where there is none: for names that stand in the program.
    pub fn named(name: &str) -> Self {
        name.parse().expect("a name that stands in the program")
    }

    /// What it says of itself.
    pub fn row(self) -> &'static MethodRow {
        self.0.row()
    }

    /// The level of the factor `method`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does, in a few words.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    pub(crate) fn entry(self) -> &'static E {
        self.0
    }
}

impl<E> Clone for Method<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Method<E> {}

impl<E: Listed> PartialEq for Method<E> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<E: Listed> Eq for Method<E> {}

impl<E: Listed> Hash for Method<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl<E: Listed> fmt::Debug for Method<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<E: Listed> fmt::Display for Method<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As wide as asked for.
        f.pad(self.name())
    }
}

impl<E: Listed> FromStr for Method<E> {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let found = Self::all().find(|m| m.name() == text);
        let known: Vec<&str> = Self::all().map(Self::name).collect();
        found.ok_or_else(|| unknown_name(E::WHAT, text, known).into())
    }
}
