//! A balanced table of values by the levels of two or three factors.

use super::FactorialError;

/// Values with the level of each factor they were found at: every combination of
/// levels (cell) has as many values.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorTable {
    names: Vec<String>,
    /// Levels of each factor, in order of appearance.
    levels: Vec<Vec<String>>,
    /// The cell of each value.
    pub(super) cells: Vec<usize>,
    pub(super) values: Vec<f64>,
}

impl FactorTable {
    /// A table of the factors with these names from rows of levels (one for each
    /// factor, in the order of the names) and a value.
    ///
    /// Refuses an unbalanced table: with unequal cells the sums of squares
    /// overlap, aligning no longer takes the other effects out, and neither
    /// analysis has one answer. A factor of one level is refused too, so that even
    /// one value per cell leaves an error to hold effects against.
    pub fn new<S: AsRef<str>>(
        factors: &[S],
        rows: impl IntoIterator<Item = (Vec<S>, f64)>,
    ) -> Result<Self, FactorialError> {
        if !(2..=3).contains(&factors.len()) {
            return Err(FactorialError::Factors(factors.len()));
        }
        let mut levels: Vec<Vec<String>> = vec![Vec::new(); factors.len()];
        let mut places: Vec<Vec<usize>> = Vec::new();
        let mut values = Vec::new();
        for (row, (named, value)) in rows.into_iter().enumerate() {
            if named.len() != factors.len() {
                return Err(FactorialError::RowLevels(row, named.len()));
            }
            if !value.is_finite() {
                return Err(FactorialError::BadValue(row));
            }
            let place = named.iter().zip(&mut levels).map(|(name, known)| {
                let name = name.as_ref();
                known.iter().position(|k| k == name).unwrap_or_else(|| {
                    known.push(name.to_owned());
                    known.len() - 1
                })
            });
            places.push(place.collect());
            values.push(value);
        }
        let names: Vec<String> = factors.iter().map(|f| f.as_ref().to_owned()).collect();
        if let Some(single) = levels.iter().position(|l| l.len() < 2) {
            return Err(FactorialError::OneLevel(names[single].clone()));
        }
        let table = Self {
            cells: places.iter().map(|p| cell_of(p, &levels)).collect(),
            names,
            levels,
            values,
        };
        table.check_balance()?;
        Ok(table)
    }

    fn check_balance(&self) -> Result<(), FactorialError> {
        let mut counts = vec![0u64; self.cell_count()];
        for &cell in &self.cells {
            counts[cell] += 1;
        }
        if let Some(empty) = counts.iter().position(|&c| c == 0) {
            return Err(FactorialError::EmptyCell(self.cell_name(empty)));
        }
        match counts.iter().position(|&c| c != counts[0]) {
            None => Ok(()),
            Some(other) => Err(FactorialError::Unbalanced(
                self.cell_name(0),
                counts[0],
                self.cell_name(other),
                counts[other],
            )),
        }
    }

    /// How many combinations of levels there are.
    pub(super) fn cell_count(&self) -> usize {
        self.levels.iter().map(Vec::len).product()
    }

    /// How many values each cell has.
    pub(super) fn values_per_cell(&self) -> usize {
        self.values.len() / self.cell_count()
    }

    /// The number of factors.
    pub(super) fn factor_count(&self) -> usize {
        self.names.len()
    }

    /// How many levels the factor at this place has.
    pub(super) fn level_count(&self, factor: usize) -> usize {
        self.levels[factor].len()
    }

    /// The names of the factors whose bits are set in `effect`.
    pub(super) fn names_of(&self, effect: usize) -> Vec<String> {
        let has = |&(i, _): &(usize, &String)| effect >> i & 1 == 1;
        let named = self.names.iter().enumerate().filter(has);
        named.map(|(_, n)| n.clone()).collect()
    }

    /// The level of each factor in a cell.
    pub(super) fn places(&self, mut cell: usize) -> Vec<usize> {
        self.levels
            .iter()
            .map(|l| {
                let place = cell % l.len();
                cell /= l.len();
                place
            })
            .collect()
    }

    fn cell_name(&self, cell: usize) -> String {
        let named: Vec<String> = self
            .places(cell)
            .into_iter()
            .enumerate()
            .map(|(i, place)| format!("{}={}", self.names[i], self.levels[i][place]))
            .collect();
        named.join(" ")
    }
}

/// The first factor's level runs fastest.
fn cell_of(places: &[usize], levels: &[Vec<String>]) -> usize {
    let digits = places.iter().zip(levels).rev();
    digits.fold(0, |cell, (place, l)| cell * l.len() + place)
}
