//! Korniichuk 2017 against the tables that Kirova 2019 prints of the same measurements.

use tompion_claims::Evidence;

use super::book::{Book, effect, least, most, sig, sign_test, tested};
use super::grid::{Beside, FOUR, Grid, LOADS, PLATFORMS};
use super::kirova::{
    hypervisor_kinds, overhead_of, text_figures, virtualbox_first, virtualbox_hundredfold,
    virtualbox_unfit,
};

const TEXT: &str = "korniichuk-2017/text";

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new(
        "korniichuk-2017",
        &[TEXT, "kirova-2019/table-1", "kirova-2019/table-2"],
    );
    reads_idle(&mut book);
    granularity(&mut book);
    reads_loaded(&mut book);
    sleeps_idle(&mut book);
    sleeps_loaded(&mut book);
    conclusions(&mut book);
    book.evidence()
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

/// The ratios of a column to the idle system's, for these platforms.
fn moved(t: Grid, column: &str, platforms: &[&str], load: &str) -> Vec<f64> {
    let of = |f: &'static str, p: &&str| t.at(column, f, p, load) / t.at(column, f, p, "idle");
    let all = t
        .functions
        .into_iter()
        .flat_map(|f| platforms.iter().map(move |p| of(f, p)));
    all.collect()
}

/// Largest change either way.
fn change(ratios: &[f64]) -> f64 {
    most(ratios.iter().map(|r| r.ln().abs())).exp()
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

fn tails(book: &mut Book, name: &str, t: Grid) {
    let ratios = moved(t, "max", &PLATFORMS, "cpu");
    let longer = ratios.iter().filter(|r| **r > 1.0).count();
    book.holds(
        name,
        longer == 10,
        format!(
            "Longer in {longer} of 10 pairs, at least {} times.",
            sig(least(ratios.clone()))
        ),
        vec![
            tested(
                "pairs of 10 with the larger maximum",
                longer as f64,
                sign_test(longer, 10),
                "sign test",
            ),
            effect("smallest ratio of maxima", least(ratios), "1"),
        ],
    );
}

/// QEMU's and ESXi's medians under a load.
fn io_figures(book: &mut Book, name: &str, t: Grid, load: &str) {
    let beside = |p: &str| t.functions.map(|f| t.beside_text(TEXT, f, p, load));
    text_figures(
        book,
        name,
        ["qemu", "esxi"].iter().flat_map(|p| beside(p)).collect(),
    );
}

fn sleeps_idle(book: &mut Book) {
    let t = Grid::sleeps();
    let median = |f, p| t.median(f, p, "idle");
    let beside = |f, p| t.beside_text(TEXT, f, p, "idle");
    let (host, xen, vbox) = (
        median("hptsleep", "host"),
        median("hptsleep", "xen"),
        median("hptsleep", "virtualbox"),
    );
    let named = ["host", "xen"].map(|p| beside("hptsleep", p));
    book.holds(
        "idle-hybrid-medians",
        named.iter().all(|b| b.agrees) && xen / host <= 1.5 && vbox / xen >= 10.0,
        format!(
            "{host} and {xen} ns, and {} us on VirtualBox.",
            sig(vbox / 1e3)
        ),
        vec![
            effect("Xen over the host", xen / host, "1"),
            effect("VirtualBox over Xen", vbox / xen, "1"),
        ],
    );
    text_figures(
        book,
        "idle-hybrid-virtualbox",
        vec![beside("hptsleep", "virtualbox")],
    );
    let all = PLATFORMS.map(|p| median("usleep", p) / 1e3);
    let (low, high) = (least(all), most(all));
    book.holds(
        "idle-usleep-range",
        low.round() == 62.0 && high.round() == 131.0,
        format!("{} to {} us.", sig(low), sig(high)),
        vec![
            effect("least median", low, "us"),
            effect("largest median", high, "us"),
        ],
    );
    let gain = |p| median("usleep", p) / median("hptsleep", p);
    book.holds(
        "idle-gain-greatest-on-xen",
        gain("xen") > gain("host") && gain("host") > gain("virtualbox"),
        format!(
            "{} times on Xen, {} on the host, {} on VirtualBox.",
            sig(gain("xen")),
            sig(gain("host")),
            sig(gain("virtualbox"))
        ),
        ["xen", "host", "virtualbox"]
            .map(|p| effect(format!("ratio of medians, {p}"), gain(p), "1"))
            .into(),
    );
    let to = |f, p| median(f, "xen") / median(f, p);
    let near = |r: f64, limit: f64| (1.0 / limit..=limit).contains(&r);
    let (standard, precise) = (to("usleep", "esxi"), to("hptsleep", "esxi"));
    book.holds(
        "idle-xen-like-qemu",
        t.functions.iter().all(|f| near(to(f, "qemu"), 1.5))
            && (1.5..=2.0).contains(&standard)
            && near(precise, 1.1),
        format!(
            "Xen to QEMU {} and {}; Xen to ESXi {} for the standard and {} for the two-phase sleep.",
            sig(to("usleep", "qemu")),
            sig(to("hptsleep", "qemu")),
            sig(standard),
            sig(precise)
        ),
        vec![
            effect("Xen over ESXi, standard sleep", standard, "1"),
            effect("Xen over ESXi, two-phase sleep", precise, "1"),
            effect("Xen over QEMU, standard sleep", to("usleep", "qemu"), "1"),
            effect("Xen over QEMU, two-phase sleep", to("hptsleep", "qemu"), "1"),
        ],
    );
}

fn sleeps_loaded(book: &mut Book) {
    let t = Grid::sleeps();
    text_figures(
        book,
        "cpu-load-virtualbox-usleep",
        ["cpu", "idle"]
            .map(|l| t.beside_text(TEXT, "usleep", "virtualbox", l))
            .into(),
    );
    let mut others = moved(t, "median", &["host", "xen"], "cpu");
    others.push(
        t.median("hptsleep", "virtualbox", "cpu") / t.median("hptsleep", "virtualbox", "idle"),
    );
    let far = change(&others);
    book.holds(
        "cpu-load-other-medians-stay",
        far <= 1.5,
        format!("The largest change is {} times, either way.", sig(far)),
        vec![effect("largest change of a median, either way", far, "1")],
    );
    io_figures(book, "cpu-load-qemu-esxi-figures", t, "cpu");
    let to = |f, p, l| t.median(f, "xen", l) / t.median(f, p, l);
    let ratios = ["qemu", "esxi"].map(|p| (to("usleep", p, "cpu"), to("hptsleep", p, "cpu")));
    book.holds(
        "cpu-load-xen-twice",
        ratios
            .iter()
            .all(|(s, h)| (1.5..=2.0).contains(s) && (1.0 / 1.5..=1.5).contains(h)),
        format!(
            "Standard sleep {} times QEMU's and {} times ESXi's; two-phase sleep {} and {} times.",
            sig(ratios[0].0),
            sig(ratios[1].0),
            sig(ratios[0].1),
            sig(ratios[1].1)
        ),
        vec![
            effect("standard sleep, Xen over QEMU", ratios[0].0, "1"),
            effect("standard sleep, Xen over ESXi", ratios[1].0, "1"),
        ],
    );
    tails(book, "cpu-load-lengthens-sleep-tails", t);
    let three = ["host", "xen", "virtualbox"];
    let far = change(&moved(t, "median", &three, "io-network"));
    let shortest = least(moved(t, "max", &three, "io-network"));
    book.holds(
        "io-load-sleep-medians",
        far <= 1.5 && shortest > 1.0,
        format!(
            "Medians change at most {} times, maxima grow at least {} times.",
            sig(far),
            sig(shortest)
        ),
        vec![
            effect("largest change of a median, either way", far, "1"),
            effect("smallest growth of a maximum", shortest, "1"),
        ],
    );
    io_figures(book, "io-load-qemu-esxi-figures", t, "io-network");
    let above = t
        .functions
        .map(|f| ["qemu", "esxi"].map(|p| to(f, p, "io-network")));
    let smallest = least(above.into_iter().flatten());
    book.holds(
        "io-load-xen-extra",
        smallest > 1.0,
        format!("At least {} times theirs.", sig(smallest)),
        vec![effect(
            "smallest ratio of Xen's median to theirs",
            smallest,
            "1",
        )],
    );
    let grown = |p| t.at("max", "hptsleep", p, "io-network") / t.at("max", "hptsleep", p, "idle");
    let (host, xen) = (grown("host"), grown("xen"));
    book.holds(
        "io-load-hybrid-tails",
        host <= 1.5 && xen >= 5.0,
        format!(
            "{} times on the host, {} times on Xen.",
            sig(host),
            sig(xen)
        ),
        vec![
            effect("host, maximum over rest", host, "1"),
            effect("Xen, maximum over rest", xen, "1"),
        ],
    );
}

fn conclusions(book: &mut Book) {
    overhead_of(book, "i-xen-no-overhead", &["xen"]);
    virtualbox_first(book, "i-virtualbox-most-overhead", &["median"]);
    let t = Grid::sleeps();
    let by_method = least(
        FOUR.into_iter()
            .flat_map(|p| LOADS.map(|l| t.median("usleep", p, l) / t.median("hptsleep", p, l))),
    );
    book.open(
        "ii-method-outweighs-platform",
        format!(
            "For medians the methods differ {} times at least; means are not printed.",
            sig(by_method)
        ),
        vec![effect(
            "smallest ratio of medians between methods",
            by_method,
            "1",
        )],
    );
    virtualbox_hundredfold(book, "ii-virtualbox-hundredfold");
    let grids = [Grid::reads(), Grid::sleeps()];
    let cells = || grids.into_iter().flat_map(|t| t.functions.map(|f| (t, f)));
    let maxima: Vec<f64> = cells()
        .flat_map(|(t, f)| LOADS.map(|l| (t, f, l)))
        .flat_map(|(t, f, l)| {
            ["xen", "esxi", "qemu", "virtualbox"]
                .map(|p| t.at("max", f, p, l) / t.at("max", f, "host", l))
        })
        .collect();
    let near = maxima.iter().filter(|r| (0.5..=2.0).contains(*r)).count();
    book.holds(
        "iii-worst-case-virtualization-negligible",
        2 * near > maxima.len(),
        format!(
            "{near} of {} maxima lie within a factor of 2 of the host's; the farthest is {} times.",
            maxima.len(),
            sig(most(maxima.clone()))
        ),
        vec![
            effect(
                "share of maxima within a factor of 2 of the host's",
                100.0 * near as f64 / maxima.len() as f64,
                "%",
            ),
            effect("largest ratio of maxima", most(maxima.clone()), "1"),
        ],
    );
    let better = cells()
        .flat_map(|(t, f)| LOADS.map(|l| t.median(f, "host", l) < t.median(f, "qemu", l)))
        .filter(|b| *b)
        .count();
    book.holds(
        "iii-host-better-than-qemu",
        better > 6 && sign_test(better, 12) < 0.05,
        format!("Better in {better} of 12 medians."),
        vec![tested(
            "medians of 12 that are better on the host",
            better as f64,
            sign_test(better, 12),
            "sign test",
        )],
    );
    hypervisor_kinds(book, "iv-hypervisor-benefits");
    virtualbox_first(book, "v-virtualbox-highest", &["median", "mad"]);
    virtualbox_unfit(book, "v-avoid-virtualbox");
}
