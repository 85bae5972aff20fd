//! Wake-up latencies: section 4.

use super::{TEXT, change, io_figures, moved, tails};
use crate::book::{Book, effect, least, most, sig};
use crate::grid::{Grid, PLATFORMS};
use crate::kirova::text_figures;

pub fn decide(book: &mut Book) {
    sleeps_idle(book);
    sleeps_loaded(book);
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
