//! Korniichuk 2017 against the tables that Kirova 2019 prints of the same measurements.

mod reads;
mod sleeps;

use tompion_papers::claims::Evidence;

use super::book::{Book, effect, least, most, sig, sign_test, tested};
use super::grid::{FOUR, Grid, LOADS, PLATFORMS};
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
    reads::decide(&mut book);
    sleeps::decide(&mut book);
    conclusions(&mut book);
    book.evidence()
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
