//! Wake-up latencies: sections 3.2.1 to 3.2.3 against Table 2.

use crate::book::{Book, effect, least, most, sig, sign_test, tested};
use crate::grid::{Beside, FOUR, Grid, PLATFORMS};

const TEXT: &str = "kirova-2019/text";

pub fn decide(book: &mut Book) {
    idle(book);
    figures(book);
    cpu(book);
}

/// A claim that lists figures: all must agree with the table as rounded.
pub fn text_figures(book: &mut Book, name: &str, figures: Vec<Beside>) {
    let odd: Vec<String> = figures
        .iter()
        .filter(|b| !b.agrees)
        .map(|b| {
            format!(
                "{}: {} in the text, {} in the table",
                b.what, b.text, b.table
            )
        })
        .collect();
    let agree = figures.len() - odd.len();
    let because = if odd.is_empty() {
        format!("All {agree} figures agree with the table, as rounded.")
    } else {
        format!(
            "{agree} of {} agree; in ns: {}.",
            figures.len(),
            odd.join("; ")
        )
    };
    let far = figures.iter().map(|b| 100.0 * (b.text / b.table - 1.0));
    let farthest = far.fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let effects = vec![
        effect("figures that agree", agree as f64, "1"),
        effect(
            "largest departure of the text from the table",
            farthest,
            "%",
        ),
    ];
    book.holds(name, odd.is_empty(), because, effects);
}

/// How much later the standard sleep ends than the two-phase sleep.
pub fn gain(t: Grid, p: &str, l: &str) -> f64 {
    t.median("usleep", p, l) / t.median("hptsleep", p, l)
}

fn idle(book: &mut Book) {
    let t = Grid::sleeps();
    let largest = most(Grid::cells().map(|(p, l)| gain(t, p, l)));
    let above = Grid::cells()
        .filter(|(p, l)| gain(t, p, l) >= 1000.0)
        .count();
    book.holds(
        "thousands-of-times-less-miss",
        largest >= 1000.0,
        format!(
            "Up to {} times; 1000 and more in {above} of 15 cells.",
            sig(largest)
        ),
        vec![effect("largest ratio of medians", largest, "1")],
    );
    let hybrid = |p| t.median("hptsleep", p, "idle");
    let (low, high) = (least(FOUR.map(hybrid)), most(FOUR.map(hybrid)));
    book.holds(
        "idle-hybrid-range",
        low >= 79.5 && high < 116.5,
        format!("{low} to {high} ns; the lower end is 82, said as 80."),
        vec![
            effect("least median of the four", low, "ns"),
            effect("largest median of the four", high, "ns"),
        ],
    );
    let orders = |p| gain(t, p, "idle").log10();
    let fits = |o: f64| (2.5..=3.5).contains(&o);
    let ratios = FOUR.map(|p| gain(t, p, "idle"));
    book.holds(
        "idle-three-orders",
        FOUR.iter().all(|p| fits(orders(p))),
        format!("{} to {} times.", sig(least(ratios)), sig(most(ratios))),
        vec![
            effect("smallest ratio of medians", least(ratios), "1"),
            effect("largest ratio of medians", most(ratios), "1"),
        ],
    );
    let there = gain(t, "virtualbox", "idle");
    book.holds(
        "idle-three-orders-virtualbox",
        fits(there.log10()),
        format!("{} times.", sig(there)),
        vec![effect("ratio of medians on VirtualBox", there, "1")],
    );
}

fn figures(book: &mut Book) {
    let t = Grid::sleeps();
    let of = |functions: &[&str], load: &str| -> Vec<Beside> {
        let beside = |f: &&str| PLATFORMS.map(|p| t.beside_text(TEXT, f, p, load));
        functions.iter().flat_map(beside).collect()
    };
    text_figures(book, "idle-sleep-figures", of(&t.functions, "idle"));
    text_figures(book, "cpu-load-hybrid-figures", of(&["hptsleep"], "cpu"));
    text_figures(book, "cpu-load-usleep-figures", of(&["usleep"], "cpu"));
    text_figures(
        book,
        "io-load-usleep-figures",
        of(&["usleep"], "io-network"),
    );
}

fn cpu(book: &mut Book) {
    let t = Grid::sleeps();
    let max = |f, p| t.at("max", f, p, "cpu");
    let ratios = PLATFORMS.map(|p| max("hptsleep", p) / max("usleep", p));
    let longer = ratios.iter().filter(|r| **r > 1.0).count();
    book.holds(
        "cpu-load-hybrid-longer-tails",
        longer == 5,
        format!(
            "On {longer} of 5 platforms, {} to {} times.",
            sig(least(ratios)),
            sig(most(ratios))
        ),
        vec![
            tested(
                "platforms of 5 with the longer maximum",
                longer as f64,
                sign_test(longer, 5),
                "sign test",
            ),
            effect("smallest ratio of maxima", least(ratios), "1"),
        ],
    );
    let moved = |p| t.median("hptsleep", p, "cpu") / t.median("hptsleep", p, "idle");
    let far = most(PLATFORMS.map(|p| f64::ln(moved(p)).abs())).exp();
    book.holds(
        "cpu-load-hybrid-like-idle",
        far <= 1.5,
        format!(
            "The largest change of a median is {} times, either way.",
            sig(far)
        ),
        vec![effect("largest change of a median, either way", far, "1")],
    );
    let median = |f, p| t.median(f, p, "cpu");
    let within = |x: f64, about: f64| (about / 1.5..=about * 1.5).contains(&x);
    let (hybrid, standard) = (
        median("hptsleep", "virtualbox"),
        median("usleep", "virtualbox"),
    );
    book.holds(
        "cpu-load-median-sizes",
        within(hybrid, 7.6e6)
            && FOUR.iter().all(|p| within(median("hptsleep", p), 100.0))
            && FOUR.iter().all(|p| within(median("usleep", p), 50e3)),
        format!(
            "VirtualBox: {} us with the two-phase sleep, {} ms with the standard one; Xen's standard sleep {} us.",
            sig(hybrid / 1e3),
            sig(standard / 1e6),
            sig(median("usleep", "xen") / 1e3)
        ),
        vec![
            effect("VirtualBox, two-phase sleep", hybrid, "ns"),
            effect("VirtualBox, standard sleep", standard, "ns"),
            effect("Xen, standard sleep", median("usleep", "xen"), "ns"),
        ],
    );
    for (name, f, limit) in [
        ("hybrid-differs-15-percent", "hptsleep", 15.5),
        ("usleep-differs-45-percent", "usleep", 45.5),
    ] {
        let (low, high) = (
            least(FOUR.map(|p| median(f, p))),
            most(FOUR.map(|p| median(f, p))),
        );
        let share = 100.0 * (high - low) / high;
        book.holds(
            name,
            share < limit,
            format!(
                "{} to {} ns: {} % of the larger.",
                sig(low),
                sig(high),
                sig(share)
            ),
            vec![effect("difference as a share of the larger", share, "%")],
        );
    }
    let high = most(FOUR.map(|p| median("hptsleep", p)));
    let name = "cpu-load-hybrid-p99-9";
    let effects = vec![effect("largest of the four medians", high, "ns")];
    if high > 120.0 {
        book.holds(name, false, format!("A median of {high} ns."), effects);
    } else {
        book.open(name, "No median speaks against it.".to_owned(), effects);
    }
}
