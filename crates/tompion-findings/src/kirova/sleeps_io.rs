//! Wake-up latencies beside an I/O and network load: section 3.2.3 against Table 2.

use super::reads::longer_tails;
use super::sleeps::gain;
use crate::book::{Book, effect, least, most, sig, sign_test, tested};
use crate::grid::{Grid, LOADS, PLATFORMS};

pub fn decide(book: &mut Book) {
    io_medians(book);
    io_spreads(book);
}

fn io_medians(book: &mut Book) {
    let t = Grid::sleeps();
    let load = "io-network";
    let smallest = least(PLATFORMS.map(|p| gain(t, p, load)));
    book.holds(
        "io-load-hybrid-lower",
        smallest >= 10.0,
        format!("At least {} times lower on every platform.", sig(smallest)),
        vec![
            effect("smallest ratio of medians", smallest, "1"),
            tested(
                "platforms of 5 on which it is lower",
                5.0,
                sign_test(5, 5),
                "sign test",
            ),
        ],
    );
    let tens = |f, unit: f64| {
        let fits = |p: &&&str| (10.0 * unit..100.0 * unit).contains(&t.median(f, p, load));
        PLATFORMS.iter().filter(fits).count()
    };
    let (hybrid, standard) = (tens("hptsleep", 1.0), tens("usleep", 1e3));
    book.holds(
        "io-load-tens-of-ns",
        hybrid == 5 && standard == 5,
        format!("{hybrid} of 5 medians are tens of ns, {standard} of 5 tens of us."),
        vec![
            effect("two-phase medians of 10 to 100 ns", hybrid as f64, "1"),
            effect("standard medians of 10 to 100 us", standard as f64, "1"),
        ],
    );
    let moved = |p| {
        let of = LOADS.map(|l| t.median("hptsleep", p, l));
        most(of) / least(of)
    };
    let stay = PLATFORMS.iter().filter(|p| moved(p) <= 1.1).count();
    let farthest = most(PLATFORMS.map(moved));
    book.holds(
        "hybrid-medians-stay",
        stay == 5,
        format!(
            "Within 10 % on {stay} of 5 platforms; the largest over the smallest is {} on the host, {} on Xen, {} on ESXi, {} on QEMU.",
            sig(moved("host")),
            sig(moved("xen")),
            sig(moved("esxi")),
            sig(moved("qemu"))
        ),
        vec![
            effect("platforms of 5 that stay within 10 %", stay as f64, "1"),
            effect("largest over smallest median by load", farthest, "1"),
        ],
    );
    let (longer, smallest) = longer_tails(t, load, "cpu");
    let (cpu, _) = longer_tails(t, "cpu", load);
    book.holds(
        "io-load-greatest-on-tails",
        longer == 10,
        format!(
            "The larger maximum is the I/O and network load's in {longer} of 10 pairs and the CPU load's in {cpu}."
        ),
        vec![
            tested("pairs of 10 with the larger maximum beside the CPU load", cpu as f64, sign_test(cpu, 10), "sign test"),
            effect("smallest ratio of I/O and network to CPU", smallest, "1"),
        ],
    );
}

fn io_spreads(book: &mut Book) {
    let t = Grid::sleeps();
    let of = |column, f, p| t.at(column, f, p, "io-network");
    let range = |f, p| of("max", f, p) - of("min", f, p);
    let lowest = |by: &dyn Fn(&'static str) -> f64| {
        *PLATFORMS
            .iter()
            .min_by(|a, b| by(a).total_cmp(&by(b)))
            .expect("five")
    };
    let highest = |by: &dyn Fn(&'static str) -> f64| {
        *PLATFORMS
            .iter()
            .max_by(|a, b| by(a).total_cmp(&by(b)))
            .expect("five")
    };
    let mad = |p| of("mad", "hptsleep", p);
    let spread = |p| range("hptsleep", p);
    book.holds(
        "io-load-esxi-hybrid-tightest",
        lowest(&mad) == "esxi" || lowest(&spread) == "esxi",
        format!(
            "The least MAD is that of {} ({} ns; ESXi {}), the least range that of {}.",
            lowest(&mad),
            mad(lowest(&mad)),
            mad("esxi"),
            lowest(&spread)
        ),
        vec![
            effect(
                "ESXi's MAD over the least",
                mad("esxi") / mad(lowest(&mad)),
                "1",
            ),
            effect(
                "ESXi's range over the least",
                spread("esxi") / spread(lowest(&spread)),
                "1",
            ),
        ],
    );
    book.holds(
        "io-load-xen-hybrid-widest",
        highest(&mad) == "xen" || highest(&spread) == "xen",
        format!(
            "The largest MAD is that of {}, the largest range that of {}.",
            highest(&mad),
            highest(&spread)
        ),
        vec![
            effect(
                "Xen's MAD over the largest",
                mad("xen") / mad(highest(&mad)),
                "1",
            ),
            effect(
                "Xen's range over the largest",
                spread("xen") / spread(highest(&spread)),
                "1",
            ),
        ],
    );
    let relative = |p| mad(p) / t.median("hptsleep", p, "io-network");
    let below = PLATFORMS
        .iter()
        .filter(|p| relative(p) > relative("virtualbox"))
        .count();
    let near = of("max", "hptsleep", "virtualbox") / of("max", "hptsleep", "xen");
    book.holds(
        "io-load-virtualbox-hybrid",
        below >= 2 && (1.0 / 1.5..=1.5).contains(&near),
        format!(
            "MAD is {} % of the median, more on {below} of the four others; the maximum is {} times Xen's.",
            sig(100.0 * relative("virtualbox")),
            sig(near)
        ),
        vec![
            effect("MAD over median on VirtualBox", 100.0 * relative("virtualbox"), "%"),
            effect("VirtualBox's maximum over Xen's", near, "1"),
        ],
    );
    let mad = |p| of("mad", "usleep", p);
    let spread = |p| range("usleep", p);
    book.open(
        "io-load-xen-usleep-tightest",
        format!(
            "The least range is that of {}, the least MAD that of {}.",
            lowest(&spread),
            lowest(&mad)
        ),
        vec![
            effect(
                "Xen's range over the next",
                spread("xen") / least(["host", "esxi", "qemu", "virtualbox"].map(spread)),
                "1",
            ),
            effect(
                "Xen's MAD over the least",
                mad("xen") / mad(lowest(&mad)),
                "1",
            ),
        ],
    );
}
