//! The smallest periods that mechanisms of timer events hold.

use tompion_model::{Hold, factor, format_ns};

use crate::data::ReportData;
use crate::grid::{load_title, variant};

/// What the figures mean, in a sentence.
pub(crate) const NOTE: &str = "Held: at most 0.1 % of the periods missed in each of three runs of 4500 events. Found by search among \
     periods that double, then to 5 %; what failed was tried once more. One long stall fails any period: \"none\" is about this \
     machine now.";

/// One search in words.
pub(crate) struct HoldRow {
    /// Mechanism and form.
    pub mechanism: String,
    /// Beside which load.
    pub load: String,
    /// The smallest period held.
    pub smallest: String,
    /// The largest below it that was not.
    pub not_held: String,
    /// How many periods were tried.
    pub tried: usize,
}

/// One row a search, in the order of the searches.
pub(crate) fn rows(data: &ReportData) -> Vec<HoldRow> {
    data.record().holds.iter().map(row).collect()
}

fn row(hold: &Hold) -> HoldRow {
    let period = |ns: Option<u64>| ns.map(|ns| format_ns(ns as f64));
    let none = match hold.attempts.iter().map(|a| a.period_ns).max() {
        Some(ns) => format!("none up to {}", format_ns(ns as f64)),
        None => "not searched".to_owned(),
    };
    let method = hold.factors.level(factor::METHOD);
    HoldRow {
        mechanism: match variant(&hold.factors).as_str() {
            "" => method.to_owned(),
            variant => format!("{method}, {variant}"),
        },
        load: load_title(hold.factors.level(factor::LOAD)).to_owned(),
        smallest: match (period(hold.smallest_ns), hold.ended_early) {
            (Some(smallest), false) => smallest,
            (Some(smallest), true) => format!("{smallest} (search cut short)"),
            (None, _) => none,
        },
        not_held: period(hold.not_held_ns).unwrap_or_else(|| crate::figures::NONE.to_owned()),
        tried: hold.attempts.len(),
    }
}
