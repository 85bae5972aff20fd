//! Plain Linux and VServer: sections 4.1 and 4.2.

use super::{BOTH, LOADS, ms};
use crate::book::{Book, effect, least, most, sig};

pub fn decide(book: &mut Book) {
    linux(book);
    vserver(book);
}

fn linux(book: &mut Book) {
    let kernel = |p, l| ms("p99", p, "kernel", l);
    let calm = most(LOADS[..5].iter().map(|l| kernel("host", l)));
    book.holds(
        "linux-kernel-134-us",
        calm <= 0.1345,
        format!("At most {} us at the 99th percentile.", sig(1e3 * calm)),
        vec![effect(
            "largest kernel share without network load",
            1e3 * calm,
            "us",
        )],
    );
    let two = ["host", "vserver"].map(|p| kernel(p, "network"));
    book.holds(
        "kernel-6-ms-under-network",
        two.iter().all(|d| d.round() == 6.0),
        format!("{} ms on plain Linux, {} on VServer.", two[0], two[1]),
        vec![
            effect("plain Linux", two[0], "ms"),
            effect("VServer", two[1], "ms"),
        ],
    );
    let total = |p| ms("p99", p, "total", "network");
    for (name, platform, claimed) in [
        ("linux-user-120-ms", "host", 120.0),
        ("vserver-user-98-ms", "vserver", 98.0),
    ] {
        assert!(
            total(platform) < claimed,
            "a larger percentile would decide it"
        );
        book.open(
            name,
            format!(
                "The 99th percentile is {} ms, maxima are not printed.",
                total(platform)
            ),
            vec![effect("total, 99th percentile", total(platform), "ms")],
        );
    }
    let ratio = BOTH.map(|c| ms(c, "host", "user", "network") / ms(c, "host", "kernel", "network"));
    book.holds(
        "user-stamps-overestimate-anyway",
        least(ratio) >= 10.0,
        format!(
            "{} times the kernel's share in the median, {} at the 99th percentile.",
            sig(ratio[0]),
            sig(ratio[1])
        ),
        vec![
            effect("user over kernel share, median", ratio[0], "1"),
            effect("user over kernel share, 99th percentile", ratio[1], "1"),
        ],
    );
    let grown: Vec<f64> = BOTH
        .into_iter()
        .flat_map(|c| {
            ["host", "vserver"].map(|p| ms(c, p, "user", "network") / ms(c, p, "user", "idle"))
        })
        .collect();
    book.holds(
        "network-raises-user-share",
        least(grown.clone()) >= 10.0,
        format!(
            "{} to {} times.",
            sig(least(grown.clone())),
            sig(most(grown.clone()))
        ),
        vec![
            effect("smallest ratio to rest", least(grown.clone()), "1"),
            effect("largest ratio to rest", most(grown), "1"),
        ],
    );
    let shares: Vec<f64> = BOTH
        .into_iter()
        .flat_map(|c| ["host", "vserver"].map(|p| (c, p)))
        .flat_map(|(c, p)| LOADS.map(|l| ms(c, p, "kernel", l) / ms(c, p, "total", l)))
        .collect();
    let half = shares.iter().filter(|s| **s <= 0.5).count();
    book.holds(
        "kernel-stamps-reduce-error",
        most(shares.clone()) < 1.0 && 2 * half > shares.len(),
        format!(
            "The kernel's share is {} to {} % of the total, at most half in {half} of {} cells.",
            sig(100.0 * least(shares.clone())),
            sig(100.0 * most(shares.clone())),
            shares.len()
        ),
        vec![
            effect(
                "smallest kernel share of the total",
                100.0 * least(shares.clone()),
                "%",
            ),
            effect(
                "largest kernel share of the total",
                100.0 * most(shares.clone()),
                "%",
            ),
        ],
    );
}

fn vserver(book: &mut Book) {
    let ratio = |c, l| ms(c, "vserver", "total", l) / ms(c, "host", "total", l);
    let all: Vec<f64> = BOTH
        .into_iter()
        .flat_map(|c| LOADS.map(|l| ratio(c, l)))
        .collect();
    let far = most(all.iter().map(|r| r.ln().abs())).exp();
    book.holds(
        "vserver-same-order",
        far < 3.2,
        format!("At most {} times apart, either way.", sig(far)),
        vec![effect("largest ratio of totals, either way", far, "1")],
    );
    let cpu = BOTH.map(|c| ratio(c, "cpu"));
    book.holds(
        "vserver-better-under-cpu",
        most(cpu) < 1.0,
        format!(
            "{} of the median and {} of the 99th percentile; at rest it is better too, {} and {}.",
            sig(cpu[0]),
            sig(cpu[1]),
            sig(ratio("median", "idle")),
            sig(ratio("p99", "idle"))
        ),
        vec![
            effect("VServer over plain Linux, median", cpu[0], "1"),
            effect("VServer over plain Linux, 99th percentile", cpu[1], "1"),
        ],
    );
    let network = BOTH.map(|c| ratio(c, "network"));
    book.open(
        "vserver-worse-for-a-tenth",
        format!(
            "VServer's median is {} times, its 99th percentile {} of plain Linux's.",
            sig(network[0]),
            sig(network[1])
        ),
        vec![
            effect("VServer over plain Linux, median", network[0], "1"),
            effect("VServer over plain Linux, 99th percentile", network[1], "1"),
        ],
    );
}
