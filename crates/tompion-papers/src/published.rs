//! The published results that Tompion is held against, as data.
//!
//! Every figure has its unit, its place in a paper, and a quality: where our text
//! of a source is damaged, or a source contradicts itself or its sister paper, the
//! value is marked with the reason and not guessed. Pure: the data files are
//! compiled in.
//!
//! ```
//! use tompion_papers::published::{Quality, table};
//!
//! let read_cost = table("kirova-2019/table-1").unwrap();
//! let levels = [("function", "tsc"), ("platform", "host"), ("load", "idle")];
//! let median = read_cost.figure("median", &levels).unwrap();
//! assert_eq!(median.ns(), Some(17.2));
//! assert_eq!(median.value.quality(), Quality::Sound);
//! ```

mod correspondence;
mod file;
mod paper;
mod table;
mod tables;
mod unit;
mod value;

pub use correspondence::{
    Absent, Counterpart, Fit, Statistic, comparison_notes, correspondences, counterparts,
    counterparts_of_cell,
};
pub use paper::{Paper, paper, papers};
pub use table::{Column, Factor, Figure, Observation, Row, Table};
pub use tables::{table, tables, tables_of};
pub use unit::Unit;
pub use value::{Quality, Relation, Value};
