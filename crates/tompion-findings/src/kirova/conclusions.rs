//! Section 4: conclusions (i) to (v), which Korniichuk 2017 draws too.

use tompion_papers::claims::Effect;

use super::reads::farthest;
use crate::book::{Book, effect, least, most, sig, sign_test, tested};
use crate::grid::{FOUR, Grid, LOADS, PLATFORMS};

pub fn decide(book: &mut Book) {
    overhead_of(book, "i-xen-esxi-no-overhead", &["xen", "esxi"]);
    virtualbox_first(book, "i-virtualbox-most-overhead", &["median"]);
    method_outweighs_platform(book);
    virtualbox_hundredfold(book, "ii-virtualbox-hundredfold");
    hypervisor_kinds(book, "iii-hypervisor-benefits");
    loads_affect_spread(book);
    virtualbox_first(book, "v-virtualbox-highest-deviation", &["median", "mad"]);
    virtualbox_unfit(book, "v-avoid-virtualbox");
    microseconds(book);
}

/// Both tables with all combinations of function and load.
fn all() -> impl Iterator<Item = (Grid, &'static str, &'static str)> {
    [Grid::reads(), Grid::sleeps()]
        .into_iter()
        .flat_map(|t| t.functions.map(|f| (t, f)))
        .flat_map(|(t, f)| LOADS.map(|l| (t, f, l)))
}

/// The platforms have almost no basic overhead in the majority of measurements.
pub fn overhead_of(book: &mut Book, name: &str, platforms: &[&str]) {
    let ratios: Vec<(&str, f64)> = all()
        .flat_map(|(t, f, l)| {
            platforms
                .iter()
                .map(move |p| (f, t.median(f, p, l) / t.median(f, "host", l)))
        })
        .collect();
    let near = ratios.iter().filter(|(_, r)| *r <= 1.25).count();
    let worst = |f: &str| most(ratios.iter().filter(|(g, _)| *g == f).map(|(_, r)| *r));
    book.holds(
        name,
        2 * near > ratios.len(),
        format!(
            "{near} of {} medians are at most 1.25 times the host's; the largest ratio is {} for counter reads, {} for the standard clock, {} for the two-phase sleep, {} for the standard sleep.",
            ratios.len(),
            sig(worst("tsc")),
            sig(worst("system-call")),
            sig(worst("hptsleep")),
            sig(worst("usleep"))
        ),
        vec![
            effect("share of medians at most 1.25 times the host's", 100.0 * near as f64 / ratios.len() as f64, "%"),
            effect("largest ratio to the host", most(ratios.iter().map(|(_, r)| *r)), "1"),
        ],
    );
}

/// VirtualBox has the largest of five in all 12 combinations of function and load.
pub fn virtualbox_first(book: &mut Book, name: &str, columns: &[&'static str]) {
    let mut effects: Vec<Effect> = Vec::new();
    let mut held = true;
    for column in columns {
        let ratio = |(t, f, l): (Grid, &str, &str)| {
            t.at(column, f, "virtualbox", l) / most(FOUR.map(|p| t.at(column, f, p, l)))
        };
        let ratios: Vec<f64> = all().map(ratio).collect();
        let first = ratios.iter().filter(|r| **r > 1.0).count();
        held &= first == 12;
        effects.push(effect(
            format!("combinations of 12 with the largest {column}"),
            first as f64,
            "1",
        ));
        effects.push(effect(
            format!("{column}, smallest ratio to the next platform"),
            least(ratios),
            "1",
        ));
    }
    let told: Vec<String> = effects
        .iter()
        .map(|e| format!("{}: {}", e.what, sig(e.value)))
        .collect();
    book.holds(name, held, format!("{}.", told.join("; ")), effects);
}

fn method_outweighs_platform(book: &mut Book) {
    let t = Grid::sleeps();
    let by_method = least(
        FOUR.into_iter()
            .flat_map(|p| LOADS.map(|l| t.median("usleep", p, l) / t.median("hptsleep", p, l))),
    );
    let by_platform = most(t.functions.into_iter().flat_map(|f| {
        LOADS.map(|l| {
            let of = FOUR.map(|p| t.median(f, p, l));
            most(of) / least(of)
        })
    }));
    book.holds(
        "ii-method-outweighs-platform",
        by_method > by_platform,
        format!(
            "Between methods a ratio of {} at least, between platforms {} at most.",
            sig(by_method),
            sig(by_platform)
        ),
        vec![
            effect("smallest ratio between methods", by_method, "1"),
            effect("largest ratio between platforms", by_platform, "1"),
        ],
    );
}

/// With the two-phase sleep VirtualBox is 100 times as late as the others.
pub fn virtualbox_hundredfold(book: &mut Book, name: &str) {
    let t = Grid::sleeps();
    let ratios: Vec<f64> = FOUR
        .into_iter()
        .flat_map(|p| {
            LOADS.map(|l| t.median("hptsleep", "virtualbox", l) / t.median("hptsleep", p, l))
        })
        .collect();
    let (low, high) = (least(ratios.clone()), most(ratios.clone()));
    book.holds(
        name,
        ratios.iter().all(|r| (80.0..=125.0).contains(r)),
        format!("{} to {} times.", sig(low), sig(high)),
        vec![
            effect("smallest ratio of medians", low, "1"),
            effect("largest ratio of medians", high, "1"),
        ],
    );
}

/// Bare-metal hypervisors against hosted ones: two of each, which no test can part.
pub fn hypervisor_kinds(book: &mut Book, name: &str) {
    let below = |a: &str, b: &str| {
        all()
            .filter(|(t, f, l)| t.median(f, a, l) < t.median(f, b, l))
            .count()
    };
    let (xen, esxi) = (below("xen", "qemu"), below("esxi", "qemu"));
    let p_least = 2.0 / 6.0;
    book.open(
        name,
        format!(
            "Xen's median is below QEMU's in {xen} of 12 combinations and ESXi's in {esxi}; VirtualBox is above all. With two platforms of each kind the exact p is 0.33 at least."
        ),
        vec![
            tested("combinations of 12 with Xen below QEMU", xen as f64, sign_test(xen, 12), "sign test"),
            tested("combinations of 12 with ESXi below QEMU", esxi as f64, sign_test(esxi, 12), "sign test"),
            effect("smallest p within reach for the kinds", p_least, "1"),
        ],
    );
}

fn loads_affect_spread(book: &mut Book) {
    let typical = |column: &str| {
        let change = |(t, f, l): (Grid, &str, &str)| {
            PLATFORMS.map(|p| {
                (t.at(column, f, p, l) / t.at(column, f, p, "idle"))
                    .ln()
                    .abs()
            })
        };
        let mut all: Vec<f64> = all()
            .filter(|(_, _, l)| *l != "idle")
            .flat_map(change)
            .collect();
        all.sort_by(f64::total_cmp);
        let half = all.len() / 2;
        (0.5 * (all[half - 1] + all[half])).exp()
    };
    let beyond = |column: &str| {
        let far = |(t, f, l): (Grid, &str, &str)| {
            PLATFORMS
                .iter()
                .filter(|p| {
                    let r = t.at(column, f, p, l) / t.at(column, f, p, "idle");
                    !(0.5 - 1e-9..=2.0 + 1e-9).contains(&r)
                })
                .count()
        };
        all()
            .filter(|(_, _, l)| *l != "idle")
            .map(far)
            .sum::<usize>()
    };
    let (median, min, max) = (typical("median"), typical("min"), typical("max"));
    let cells = (beyond("median"), beyond("min"));
    let farthest = farthest(Grid::sleeps(), "median", "cpu");
    book.holds(
        "iv-loads-affect-spread",
        max > 2.0 && median < 2.0 && min < 2.0,
        format!(
            "Under load the middle change is {} times for medians, {} for minima and {} for maxima, either way.",
            sig(median),
            sig(min),
            sig(max)
        ),
        vec![
            effect("middle change of the maximum, either way", max, "1"),
            effect("middle change of the median, either way", median, "1"),
            effect("middle change of the minimum, either way", min, "1"),
        ],
    );
    book.holds(
        "iv-medians-never-change-much",
        cells == (0, 0),
        format!(
            "Of 40 cells {} median and {} minimum change more than twofold; the farthest median is {} times that at rest.",
            cells.0,
            cells.1,
            sig(farthest)
        ),
        vec![
            effect("medians of 40 that change more than twofold", cells.0 as f64, "1"),
            effect("minima of 40 that change more than twofold", cells.1 as f64, "1"),
            effect("farthest median over that at rest", farthest, "1"),
        ],
    );
}

/// At least ten times the host's medians with the precise functions.
pub fn virtualbox_unfit(book: &mut Book, name: &str) {
    let ratio =
        |t: Grid, f| least(LOADS.map(|l| t.median(f, "virtualbox", l) / t.median(f, "host", l)));
    let (reads, sleeps) = (
        ratio(Grid::reads(), "tsc"),
        ratio(Grid::sleeps(), "hptsleep"),
    );
    book.holds(
        name,
        reads.min(sleeps) >= 10.0,
        format!(
            "Counter reads cost at least {} times, two-phase sleeps end at least {} times as late as on the host.",
            sig(reads),
            sig(sleeps)
        ),
        vec![
            effect("smallest ratio to the host, counter reads", reads, "1"),
            effect("smallest ratio to the host, two-phase sleep", sleeps, "1"),
        ],
    );
}

fn microseconds(book: &mut Book) {
    let t = Grid::sleeps();
    let medians = || {
        FOUR.into_iter()
            .flat_map(|p| LOADS.map(|l| t.median("hptsleep", p, l)))
    };
    let (low, high) = (least(medians()), most(medians()));
    book.holds(
        "busy-wait-precision-microseconds",
        low >= 1e3 && high <= 1e4,
        format!(
            "{} to {} ns on four platforms, {} us on VirtualBox.",
            sig(low),
            sig(high),
            sig(t.median("hptsleep", "virtualbox", "idle") / 1e3)
        ),
        vec![
            effect("least median of four platforms", low, "ns"),
            effect("largest median of four platforms", high, "ns"),
        ],
    );
}
