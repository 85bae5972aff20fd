//! Kirova's Tables 1 and 2 as grids, and their text beside them.

use tompion_papers::published::{Figure, Table, table};
use tompion_stats::Distribution;

/// Platforms, the bare machine first.
pub const PLATFORMS: [&str; 5] = ["host", "xen", "esxi", "qemu", "virtualbox"];
/// Those but VirtualBox, which stands apart in nearly everything.
pub const FOUR: [&str; 4] = ["host", "xen", "esxi", "qemu"];
/// Loads, the idle system first.
pub const LOADS: [&str; 3] = ["idle", "cpu", "io-network"];
/// The statistics that the paper analyses, by their columns.
pub const STATISTICS: [&str; 4] = ["median", "mad", "max", "min"];

/// A table with one row for each function, platform and load.
#[derive(Clone, Copy)]
pub struct Grid {
    table: &'static Table,
    /// The precise function, then the standard one.
    pub functions: [&'static str; 2],
}

impl Grid {
    /// Table 1: read costs.
    pub fn reads() -> Self {
        Self::of("kirova-2019/table-1", ["tsc", "system-call"])
    }

    /// Table 2: wake-up latencies.
    pub fn sleeps() -> Self {
        Self::of("kirova-2019/table-2", ["hptsleep", "usleep"])
    }

    fn of(id: &str, functions: [&'static str; 2]) -> Self {
        let table = table(id).expect("a published table");
        Self { table, functions }
    }

    /// One figure in nanoseconds.
    pub fn at(&self, column: &str, function: &str, platform: &str, load: &str) -> f64 {
        self.figure(column, function, platform, load)
            .and_then(|f| f.ns())
            .unwrap_or_else(|| panic!("no {column} of {function}, {platform}, {load}"))
    }

    fn figure(
        &self,
        column: &str,
        function: &str,
        platform: &str,
        load: &str,
    ) -> Option<Figure<'static>> {
        let wanted = [
            ("function", function),
            ("platform", platform),
            ("load", load),
        ];
        let row = self.table.rows.iter().find(|r| r.has(&wanted))?;
        Some(Figure {
            table: self.table,
            row,
            column: self.table.column(column)?,
            value: row.value(column)?,
        })
    }

    /// A median.
    pub fn median(&self, function: &str, platform: &str, load: &str) -> f64 {
        self.at("median", function, platform, load)
    }

    /// All combinations of platform and load.
    pub fn cells() -> impl Iterator<Item = (&'static str, &'static str)> {
        PLATFORMS
            .into_iter()
            .flat_map(|p| LOADS.into_iter().map(move |l| (p, l)))
    }

    /// All rows: levels of function, platform and load.
    pub fn rows(&self) -> Vec<[&'static str; 3]> {
        let of = |f: &'static str| Self::cells().map(move |(p, l)| [f, p, l]);
        self.functions.into_iter().flat_map(of).collect()
    }

    /// The values of a column in the rows that `takes` picks, as ranks need them: the
    /// tables print tenths of a nanosecond, which are whole numbers of 0.1 ns.
    pub fn values(&self, column: &str, takes: impl Fn(&[&'static str; 3]) -> bool) -> Distribution {
        let rows = self.rows().into_iter().filter(takes);
        Distribution::from_values(
            rows.map(|[f, p, l]| (self.at(column, f, p, l) * 10.0).round() as i64),
        )
    }

    /// Whether a median that a text gives agrees with this table, each as rounded:
    /// the text's, the table's, and whether. `load` is the table's name for it.
    pub fn beside_text(&self, text: &str, function: &str, platform: &str, load: &str) -> Beside {
        let in_text = if text.starts_with("korniichuk") && load == "io-network" {
            "io"
        } else {
            load
        };
        let words = table(text).expect("a published text");
        let wanted = [
            ("function", function),
            ("platform", platform),
            ("load", in_text),
        ];
        let said = words.figure("median", &wanted);
        let said = said.unwrap_or_else(|| panic!("{text}: no {function}, {platform}, {load}"));
        let printed = self
            .figure("median", function, platform, load)
            .expect("a cell of the table");
        Beside {
            what: format!("{platform}, {function}"),
            text: said.ns().expect("a legible figure"),
            table: printed.ns().expect("a legible figure"),
            agrees: said.value.agrees(printed.value),
        }
    }
}

/// A figure of a text beside that of a table, in nanoseconds.
pub struct Beside {
    /// Platform and function.
    pub what: String,
    /// What the text says.
    pub text: f64,
    /// What the table says.
    pub table: f64,
    /// Whether rounding can have made the difference.
    pub agrees: bool,
}
