//! The results on sleeps as text.

use std::time::Duration;

use super::cell::{Cell, JUDGED, TARGETS};
use super::hogs::Load;
use super::judge::{Condition, Figure};
use super::methods::Method;
use super::results::Sleep;
use crate::paired::ratio;
use crate::table::{Side, aligned, comparisons, interval, number};

/// Everything: a table for each load and target, the limits, the claim.
pub fn tables(sleep: &Sleep) -> String {
    let mut text = String::new();
    for used in &sleep.cpus_used {
        for target in TARGETS {
            text.push_str(&format!(
                "Sleep {}: {}\n{}{}\n",
                name(target),
                used.load.title(sleep.cpus),
                cells(sleep, used.load, target),
                cuts(sleep, used.load, target)
            ));
        }
    }
    text.push_str(&format!(
        "CPUs kept busy while sleeps were measured\n{}{}\n",
        busy(sleep),
        disturbed(sleep)
    ));
    text.push_str(&format!(
        "Sleep limits: {} under {}\n{}\n",
        name(JUDGED),
        Load::Hogs.title(sleep.cpus),
        comparisons(&sleep.limits)
    ));
    text.push_str(&format!(
        "HighPerTimer's claim: 1.5 % of a CPU (Kirova 2019, section 2.1.1)\n{}\n",
        claims(sleep)
    ));
    text
}

/// One load and target: misses in microseconds, a row for each method.
fn cells(sleep: &Sleep, load: Load, target: Duration) -> String {
    let columns = [
        ("method (misses in us)", Side::Left),
        ("n", Side::Right),
        ("median", Side::Right),
        ("p95", Side::Right),
        ("p99", Side::Right),
        ("p99.9", Side::Right),
        ("max", Side::Right),
        (">100us %", Side::Right),
        ("early %", Side::Right),
        ("CPU %", Side::Right),
        ("p95 ours / it [95 %]", Side::Right),
        ("CPU ours / it [95 %]", Side::Right),
    ];
    let here = Condition::new(&sleep.cells, load, target.as_nanos() as u64);
    let against = |cell: &Cell, figure: Figure| match cell.method {
        Method::Hybrid => None,
        other => ratio(&here.pairs(other, figure)),
    };
    let methods = Method::ALL.into_iter().filter_map(|m| here.cell(m));
    let rows = methods.map(|cell| {
        let all = &cell.all;
        vec![
            cell.method.name().to_owned(),
            all.sleeps.to_string(),
            number(Some(all.median_us), 2),
            number(Some(all.p95_us), 2),
            number(Some(all.p99_us), 1),
            number(Some(all.p99_9_us), 0),
            number(Some(all.max_us), 0),
            number(Some(100.0 * all.over_100_us_share), 2),
            number(Some(100.0 * all.early_share), 2),
            number(Some(100.0 * all.cpu_share), 2),
            interval(against(cell, |f| f.p95_us), 3),
            interval(against(cell, |f| f.cpu_share), 3),
        ]
    });
    aligned(&columns, rows)
}

/// Who kept the CPUs busy.
fn busy(sleep: &Sleep) -> String {
    let columns = [
        ("load", Side::Left),
        ("hogs", Side::Right),
        ("sleepers", Side::Right),
        ("other programs", Side::Right),
    ];
    let rows = sleep.cpus_used.iter().map(|used| {
        vec![
            used.load.title(sleep.cpus),
            number(Some(used.hogs), 2),
            number(Some(used.sleepers), 2),
            number(Some(used.others), 2),
        ]
    });
    aligned(&columns, rows)
}

/// A warning where the loads were not what their names say.
fn disturbed(sleep: &Sleep) -> &'static str {
    /// The kernel's own work and coarse counting stay below this.
    const OTHERS_CPUS: f64 = 0.1;
    if sleep.cpus_used.iter().any(|used| used.others > OTHERS_CPUS) {
        "warning: other programs took part of the CPUs: the loads were more than their names say,\n\
         and the verdicts below are on that mixture\n"
    } else {
        ""
    }
}

/// A line where our budget cut spins.
fn cuts(sleep: &Sleep, load: Load, target: Duration) -> String {
    let here = Condition::new(&sleep.cells, load, target.as_nanos() as u64);
    match here.cell(Method::Hybrid) {
        Some(cell) if cell.all.limited_share > 0.0 => format!(
            "tompion hybrid: the budget cut {:.2} % of the sleeps\n",
            100.0 * cell.all.limited_share
        ),
        _ => String::new(),
    }
}

fn claims(sleep: &Sleep) -> String {
    let columns = [
        ("load", Side::Left),
        ("target", Side::Right),
        ("method", Side::Left),
        ("CPU % [95 %]", Side::Right),
        ("claim", Side::Left),
    ];
    let rows = sleep.claims.iter().map(|claim| {
        let percent = claim.cpu_share.map(|e| e.scaled(100.0));
        vec![
            claim.load.title(sleep.cpus),
            name(Duration::from_nanos(claim.target_ns)),
            claim.method.name().to_owned(),
            interval(percent, 2),
            claim.verdict.text().to_owned(),
        ]
    });
    aligned(&columns, rows)
}

/// A length as people say it: `100 us`, `1 ms`.
fn name(target: Duration) -> String {
    match target.as_micros() {
        us if us < 1000 => format!("{us} us"),
        us => format!("{} ms", us / 1000),
    }
}
