//! Read costs: sections 3.1.1 to 3.1.3 against Table 1.

use crate::book::{Book, effect, least, most, sig, sign_test, tested};
use crate::grid::{FOUR, Grid, LOADS, PLATFORMS};

const TEXT: &str = "kirova-2019/text";

pub fn decide(book: &mut Book) {
    against_the_standard_function(book);
    idle(book);
    idle_virtualbox(book);
    cpu(book);
    io(book);
    io_tails(book);
}

fn against_the_standard_function(book: &mut Book) {
    let t = Grid::reads();
    let ratio = |p, l| t.median("tsc", p, l) / t.median("system-call", p, l);
    let all: Vec<f64> = Grid::cells().map(|(p, l)| ratio(p, l)).collect();
    let of = |p| most(LOADS.map(|l| ratio(p, l)));
    let half = all.iter().filter(|r| **r <= 0.55).count();
    book.holds(
        "half-the-read-cost",
        half == all.len(),
        format!(
            "At most 0.55 in {half} of 15 cells; the largest ratio is {} on the host, {} on ESXi, {} on QEMU, {} on Xen and {} on VirtualBox.",
            sig(of("host")),
            sig(of("esxi")),
            sig(of("qemu")),
            sig(of("xen")),
            sig(of("virtualbox"))
        ),
        vec![
            effect("cells of 15 with at most 0.55 of the cost", half as f64, "1"),
            effect("smallest ratio", least(all.clone()), "1"),
            effect("largest ratio", most(all.clone()), "1"),
        ],
    );
    let idle = PLATFORMS.map(|p| ratio(p, "idle"));
    let cheaper = all.iter().filter(|r| **r < 1.0).count();
    book.holds(
        "tsc-always-cheaper",
        idle.iter().all(|r| *r < 1.0),
        format!(
            "The counter is cheaper in {cheaper} of 15 cells, but not on VirtualBox at rest: {} against {} ns.",
            t.median("tsc", "virtualbox", "idle"),
            t.median("system-call", "virtualbox", "idle")
        ),
        vec![
            effect("largest ratio at rest", most(idle), "1"),
            tested(
                "cells of 15 in which the counter is cheaper",
                cheaper as f64,
                sign_test(cheaper, 15),
                "sign test",
            ),
        ],
    );
}

fn idle(book: &mut Book) {
    let t = Grid::reads();
    let tsc = |p| t.median("tsc", p, "idle");
    let call = |p| t.median("system-call", p, "idle");
    let (low, high) = (least(FOUR.map(tsc)), most(FOUR.map(tsc)));
    book.holds(
        "idle-tsc-nearly-equal",
        high / low <= 1.5,
        format!(
            "{} to {} ns, a ratio of {}.",
            sig(low),
            sig(high),
            sig(high / low)
        ),
        vec![effect(
            "largest over smallest of the four medians",
            high / low,
            "1",
        )],
    );
    let is_least = |of: &dyn Fn(&'static str) -> f64| PLATFORMS.iter().all(|p| of("host") <= of(p));
    let printed = ["tsc", "system-call"].map(|f| t.beside_text(TEXT, f, "host", "idle"));
    book.holds(
        "idle-host-cheapest",
        is_least(&tsc) && is_least(&call) && printed.iter().all(|b| b.agrees),
        format!(
            "{} and {} ns, the least of five.",
            tsc("host"),
            call("host")
        ),
        vec![
            effect("host, counter", tsc("host"), "ns"),
            effect("host, standard function", call("host"), "ns"),
        ],
    );
    super::text_figures(
        book,
        "idle-read-cost-figures",
        ["xen", "esxi", "qemu"]
            .iter()
            .flat_map(|p| t.functions.map(|f| t.beside_text(TEXT, f, p, "idle")))
            .collect(),
    );
    super::text_figures(
        book,
        "idle-read-cost-virtualbox",
        t.functions
            .map(|f| t.beside_text(TEXT, f, "virtualbox", "idle"))
            .into(),
    );
    let mut order = PLATFORMS;
    order.sort_by(|a, b| call(b).total_cmp(&call(a)));
    book.holds(
        "idle-xen-syscall-second-dearest",
        order[..2] == ["virtualbox", "xen"],
        format!("From dear to cheap: {}.", order.join(", ")),
        vec![
            effect("Xen", call("xen"), "ns"),
            effect("next dearest after Xen", call(order[2]), "ns"),
        ],
    );
    let ratio = tsc("qemu") / tsc("host");
    book.holds(
        "hosted-can-be-cheap",
        ratio <= 1.5,
        format!("{} against {} ns.", tsc("qemu"), tsc("host")),
        vec![effect("QEMU's median over the host's", ratio, "1")],
    );
    book.holds(
        "idle-xen-passes-tsc-best",
        tsc("xen") < tsc("esxi").min(tsc("qemu")),
        format!(
            "{} ns against {} and {}; beside a CPU load ESXi and QEMU are cheaper.",
            tsc("xen"),
            tsc("esxi"),
            tsc("qemu")
        ),
        vec![
            effect("Xen over ESXi", tsc("xen") / tsc("esxi"), "1"),
            effect("Xen over QEMU", tsc("xen") / tsc("qemu"), "1"),
        ],
    );
}

fn idle_virtualbox(book: &mut Book) {
    let t = Grid::reads();
    let range = |f, p| t.at("max", f, p, "idle") - t.at("min", f, p, "idle");
    let mad = |f, p| t.at("mad", f, p, "idle");
    let widest = t.functions.iter().all(|f| {
        FOUR.iter()
            .all(|p| range(f, p) < range(f, "virtualbox") && mad(f, p) < mad(f, "virtualbox"))
    });
    let times = |f| range(f, "virtualbox") / most(FOUR.map(|p| range(f, p)));
    book.holds(
        "idle-virtualbox-widest",
        widest,
        format!(
            "Its range is {} (counter) and {} times (standard function) that of the next.",
            sig(times("tsc")),
            sig(times("system-call"))
        ),
        vec![
            effect("range over the next widest, counter", times("tsc"), "1"),
            effect(
                "range over the next widest, standard function",
                times("system-call"),
                "1",
            ),
        ],
    );
    let at = |column, f| t.at(column, f, "virtualbox", "idle");
    let (low, tsc, call) = (
        least(t.functions.map(|f| at("min", f))),
        at("max", "tsc"),
        at("max", "system-call"),
    );
    book.holds(
        "idle-virtualbox-extremes",
        (low - 1.0).abs() < 0.5 && tsc < 2.5e6 && call < 1.5e6,
        format!(
            "Minimum {low} ns; maxima {} ms for the counter and {} ms for the standard function.",
            sig(tsc / 1e6),
            sig(call / 1e6)
        ),
        vec![
            effect("maximum, counter", tsc, "ns"),
            effect("maximum, standard function", call, "ns"),
            effect("minimum", low, "ns"),
        ],
    );
}

/// The ratio of a column to the idle system's that lies farthest from 1.
pub fn farthest(t: Grid, column: &str, load: &str) -> f64 {
    let ratio = |f, p| t.at(column, f, p, load) / t.at(column, f, p, "idle");
    let all = t
        .functions
        .into_iter()
        .flat_map(|f| PLATFORMS.map(|p| ratio(f, p)));
    all.fold(1.0, |far, r: f64| {
        if r.ln().abs() > far.ln().abs() {
            r
        } else {
            far
        }
    })
}

/// In how many of the ten pairs of function and platform `load` has the larger
/// maximum, with the smallest ratio.
pub fn longer_tails(t: Grid, load: &str, than: &str) -> (usize, f64) {
    let ratio = |f, p| t.at("max", f, p, load) / t.at("max", f, p, than);
    let all: Vec<f64> = t
        .functions
        .into_iter()
        .flat_map(|f| PLATFORMS.map(|p| ratio(f, p)))
        .collect();
    (all.iter().filter(|r| **r > 1.0).count(), least(all))
}

fn cpu(book: &mut Book) {
    let t = Grid::reads();
    let far = farthest(t, "median", "cpu");
    book.holds(
        "cpu-load-spares-read-medians",
        (1.0 / 1.5..=1.5).contains(&far),
        format!(
            "The median that moves farthest is {} of what it was.",
            sig(far)
        ),
        vec![effect("ratio to rest farthest from 1", far, "1")],
    );
    let (longer, smallest) = longer_tails(t, "cpu", "idle");
    book.holds(
        "cpu-load-lengthens-read-tails",
        longer == 10,
        format!(
            "Longer in {longer} of 10 pairs, at least {} times.",
            sig(smallest)
        ),
        vec![
            tested(
                "pairs of 10 with the larger maximum",
                longer as f64,
                sign_test(longer, 10),
                "sign test",
            ),
            effect("smallest ratio of maxima", smallest, "1"),
        ],
    );
}

fn io(book: &mut Book) {
    let t = Grid::reads();
    let tsc = |p| t.median("tsc", p, "io-network");
    let worst = most(["xen", "esxi", "qemu"].map(|p| tsc(p) / tsc("host")));
    book.holds(
        "io-load-tsc-near-native",
        worst <= 1.5,
        format!("At most {} times the host's median.", sig(worst)),
        vec![effect("largest ratio to the host", worst, "1")],
    );
    let of = |column, p| t.at(column, "tsc", p, "io-network");
    let others = ["host", "xen", "qemu"];
    let tighter = |column| others.iter().all(|p| of(column, "esxi") < of(column, p));
    book.holds(
        "io-load-esxi-tightest",
        tighter("mad") && tighter("max"),
        format!(
            "MAD {} ns on ESXi against {} on the host, {} on Xen, {} on QEMU; maximum {} us against {} on the host.",
            of("mad", "esxi"),
            of("mad", "host"),
            of("mad", "xen"),
            of("mad", "qemu"),
            sig(of("max", "esxi") / 1e3),
            sig(of("max", "host") / 1e3)
        ),
        vec![
            effect("MAD, ESXi less the least other", of("mad", "esxi") - least(others.map(|p| of("mad", p))), "ns"),
            effect("maximum, ESXi over the least other", of("max", "esxi") / least(others.map(|p| of("max", p))), "1"),
        ],
    );
    let next = most(others.map(tsc));
    book.holds(
        "io-load-esxi-median-highest",
        tsc("esxi") > next,
        format!("{} ns, the next {}.", tsc("esxi"), next),
        vec![effect(
            "ESXi's median over the next",
            tsc("esxi") / next,
            "1",
        )],
    );
    book.holds(
        "io-load-qemu-below-host",
        tsc("qemu") < tsc("host"),
        format!("{} against {} ns.", tsc("qemu"), tsc("host")),
        vec![effect(
            "QEMU's median over the host's",
            tsc("qemu") / tsc("host"),
            "1",
        )],
    );
}

fn io_tails(book: &mut Book) {
    let t = Grid::reads();
    let max = |f, p| t.at("max", f, p, "io-network");
    let short = |f| most(["host", "esxi", "qemu"].map(|p| max(f, p)));
    let long = |f| least(["xen", "virtualbox"].map(|p| max(f, p)));
    let ratio = t.functions.map(|f| long(f) / short(f));
    book.holds(
        "io-load-long-tails-xen-virtualbox",
        ratio.iter().all(|r| *r > 1.0),
        format!(
            "The shorter of the two is {} (counter) and {} times (standard function) the longest of the others.",
            sig(ratio[0]),
            sig(ratio[1])
        ),
        vec![
            effect("ratio of maxima, counter", ratio[0], "1"),
            effect("ratio of maxima, standard function", ratio[1], "1"),
        ],
    );
    let xen = |column, load| t.at(column, "system-call", "xen", load);
    book.open(
        "io-load-variance-virtualbox-xen",
        format!(
            "On VirtualBox MAD and maximum both rise; on Xen's standard function the MAD falls from {} to {} ns while the maximum rises {} times.",
            xen("mad", "idle"),
            xen("mad", "io-network"),
            sig(xen("max", "io-network") / xen("max", "idle"))
        ),
        vec![
            effect("Xen, standard function, MAD, load less rest", xen("mad", "io-network") - xen("mad", "idle"), "ns"),
            effect("Xen, standard function, maximum, load over rest", xen("max", "io-network") / xen("max", "idle"), "1"),
        ],
    );
}
