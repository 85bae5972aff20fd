//! Read costs: section 3.

use super::{TEXT, change, io_figures, moved, tails};
use crate::book::{Book, effect, least, most, sig};
use crate::grid::{Beside, FOUR, Grid, LOADS, PLATFORMS};
use crate::kirova::text_figures;

pub fn decide(book: &mut Book) {
    reads_idle(book);
    granularity(book);
    reads_loaded(book);
}

fn reads_idle(book: &mut Book) {
    let t = Grid::reads();
    let beside = |f, p| t.beside_text(TEXT, f, p, "idle");
    let named: Vec<Beside> = ["host", "xen"]
        .iter()
        .flat_map(|p| t.functions.map(|f| beside(f, p)))
        .collect();
    let is_least = t.functions.iter().all(|f| {
        let host = t.median(f, "host", "idle");
        PLATFORMS.iter().all(|p| host <= t.median(f, p, "idle"))
    });
    book.holds(
        "idle-host-cheapest",
        is_least && named.iter().all(|b| b.agrees),
        "The four figures agree with the table and the host's are the least of five.".to_owned(),
        named
            .iter()
            .map(|b| effect(&*b.what, b.table, "ns"))
            .collect(),
    );
    let tsc = |p| t.median("tsc", p, "idle");
    let (xen, vbox) = (tsc("xen") / tsc("host"), tsc("virtualbox") / tsc("host"));
    book.holds(
        "idle-tsc-host-like-xen",
        xen <= 1.5 && vbox >= 10.0,
        format!(
            "Xen {} times the host, VirtualBox {} times.",
            sig(xen),
            sig(vbox)
        ),
        vec![
            effect("Xen over the host", xen, "1"),
            effect("VirtualBox over the host", vbox, "1"),
        ],
    );
    text_figures(
        book,
        "idle-read-cost-virtualbox",
        t.functions.map(|f| beside(f, "virtualbox")).into(),
    );
    let at = |column, f, p| t.at(column, f, p, "idle");
    let low = least(t.functions.map(|f| at("min", f, "virtualbox")));
    let high = most(t.functions.map(|f| at("max", f, "virtualbox")));
    let others = |f| most(FOUR.map(|p| at("max", f, p)));
    book.holds(
        "idle-virtualbox-range",
        low < 1.5
            && high < 1.5e6
            && t.functions
                .iter()
                .all(|f| at("max", f, "virtualbox") > others(f)),
        format!("{low} ns to {} ms, the widest of five.", sig(high / 1e6)),
        vec![
            effect("least minimum", low, "ns"),
            effect("largest maximum", high, "ns"),
        ],
    );
    let farther = t.functions.map(|f| at("max", f, "virtualbox") / others(f));
    book.holds(
        "idle-tail-virtualbox-tenfold",
        farther.iter().all(|r| (1.0..=10.0).contains(r)),
        format!(
            "{} times the next for the counter, {} for the standard function.",
            sig(farther[0]),
            sig(farther[1])
        ),
        vec![
            effect(
                "largest over next largest maximum, counter",
                farther[0],
                "1",
            ),
            effect(
                "largest over next largest maximum, standard function",
                farther[1],
                "1",
            ),
        ],
    );
    book.holds(
        "below-median-with-99-percent",
        false,
        "P(X < median) is at most 0.5 by definition.".to_owned(),
        vec![effect("largest possible share below the median", 50.0, "%")],
    );
}

/// Whether all figures of a platform are whole multiples of one step, and which steps of
/// 1 to 2 ns fit: each figure was rounded to 0.1 ns. Platforms are taken apart, since each
/// calibrated its counter.
fn granularity(book: &mut Book) {
    let t = Grid::reads();
    let mut effects = Vec::new();
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    let mut all_fit = true;
    for platform in ["host", "xen", "esxi"] {
        let figures = LOADS.map(|l| ["min", "median"].map(|c| t.at(c, "tsc", platform, l)));
        let off = |step: f64, v: f64| (v / step - (v / step).round()).abs() * step;
        let fits = |step: f64| figures.iter().flatten().all(|v| off(step, *v) <= 0.05);
        let steps: Vec<f64> = (100_000..=200_000)
            .map(|i| f64::from(i) * 1e-5)
            .filter(|s| fits(*s))
            .collect();
        all_fit &= !steps.is_empty();
        for step in &steps {
            (low, high) = (low.min(*step), high.max(*step));
        }
        effects.push(effect(
            format!("{platform}: share of steps of 1 to 2 ns that fit"),
            steps.len() as f64 / 1000.0,
            "%",
        ));
    }
    let because = if all_fit {
        effects.insert(0, effect("smallest step that fits", low, "ns"));
        effects.insert(1, effect("largest step that fits", high, "ns"));
        format!(
            "All minima and medians are multiples of {low:.3} to {high:.3} ns: four periods of {} to {} GHz.",
            sig(4.0 / high),
            sig(4.0 / low)
        )
    } else {
        "No step of 1 to 2 ns fits all figures of a platform.".to_owned()
    };
    let holds = all_fit && low >= 1.35 && high < 1.45;
    book.holds("granularity-1-4-ns", holds, because, effects);
    let period = 1.0 / 2.8;
    book.open(
        "granularity-0-29-ns-virtualbox",
        format!("One period of 2.8 GHz is {period:.3} ns, more than 0.29."),
        vec![
            effect("one period of 2.8 GHz", period, "ns"),
            effect("claimed step", 0.29, "ns"),
        ],
    );
}

fn reads_loaded(book: &mut Book) {
    let t = Grid::reads();
    for (name, load) in [
        ("cpu-load-spares-read-medians", "cpu"),
        ("io-load-spares-read-medians", "io-network"),
    ] {
        let far = change(&moved(t, "median", &PLATFORMS, load));
        book.holds(
            name,
            far <= 1.5,
            format!(
                "The largest change of a median is {} times, either way.",
                sig(far)
            ),
            vec![effect("largest change of a median, either way", far, "1")],
        );
    }
    tails(book, "cpu-load-lengthens-read-tails", t);
    let median = |f, p| t.median(f, p, "cpu");
    let ordered = |f: &'static str| {
        median(f, "host") < median(f, "xen") && median(f, "xen") < median(f, "virtualbox")
    };
    book.holds(
        "cpu-load-host-best-virtualbox-worst",
        t.functions.iter().all(|f| ordered(f)),
        format!(
            "{}, {} and {} ns for the counter, {}, {} and {} for the standard function.",
            median("tsc", "host"),
            median("tsc", "xen"),
            median("tsc", "virtualbox"),
            median("system-call", "host"),
            median("system-call", "xen"),
            median("system-call", "virtualbox")
        ),
        vec![
            effect(
                "Xen over the host, counter",
                median("tsc", "xen") / median("tsc", "host"),
                "1",
            ),
            effect(
                "VirtualBox over Xen, counter",
                median("tsc", "virtualbox") / median("tsc", "xen"),
                "1",
            ),
        ],
    );
    io_figures(book, "io-load-read-figures", t, "io-network");
}
