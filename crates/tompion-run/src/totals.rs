//! Sums of lost time as they are recorded.

use tompion_cause::Totals;
use tompion_model::CauseTotal;

/// Time lost by cause and by whom, the greatest first.
pub fn by_cause(totals: &Totals) -> Vec<CauseTotal> {
    let mut causes: Vec<CauseTotal> = totals
        .by_cause()
        .into_iter()
        .flat_map(|(cause, _)| {
            let by_whom = totals.by_whom(cause).into_iter();
            by_whom.map(move |(by, total)| CauseTotal {
                cause,
                by,
                ns: total.ns,
                parts: total.count,
                longest_ns: total.longest_ns,
            })
        })
        .collect();
    causes.sort_by_key(|c| std::cmp::Reverse(c.ns));
    causes
}
