//! Whiteaker 2011 against its own Table 1.

use tompion_claims::Evidence;
use tompion_published::table;

use super::book::{Book, effect, least, most, sig};

const LOADS: [&str; 6] = ["idle", "cpu", "io", "hd", "memory", "network"];
/// Columns: median and 99th percentile.
const BOTH: [&str; 2] = ["median", "p99"];

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new("whiteaker-2011", &["whiteaker-2011/table-1"]);
    headlines(&mut book);
    linux(&mut book);
    vserver(&mut book);
    xen_at_rest(&mut book);
    xen_loaded(&mut book);
    discussion(&mut book);
    book.evidence()
}

/// A delay in milliseconds.
fn ms(column: &str, platform: &str, layer: &str, load: &str) -> f64 {
    let wanted = [("platform", platform), ("layer", layer), ("load", load)];
    let t = table("whiteaker-2011/table-1").expect("a published table");
    let found = t.figure(column, &wanted).and_then(|f| f.value.number());
    found.unwrap_or_else(|| panic!("no {column} of {platform}, {layer}, {load}"))
}

fn headlines(book: &mut Book) {
    let network = |p| ms("p99", p, "total", "network");
    book.open(
        "network-adds-100-ms",
        format!(
            "At the 99th percentile {} ms on VServer, {} on Xen, and {} on plain Linux, where no guest competes.",
            network("vserver"),
            network("xen"),
            network("host")
        ),
        vec![
            effect("VServer, total, 99th percentile", network("vserver"), "ms"),
            effect("Xen, total, 99th percentile", network("xen"), "ms"),
            effect("plain Linux, total, 99th percentile", network("host"), "ms"),
        ],
    );
    let (rest, worst) = (
        ms("median", "xen", "total", "idle"),
        most(LOADS.map(|l| ms("median", "xen", "total", l))),
    );
    book.holds(
        "local-delay-not-negligible",
        rest > 0.1,
        format!("On Xen {rest} ms at rest and up to {worst} ms in the median."),
        vec![
            effect("Xen, median at rest", rest, "ms"),
            effect("Xen, largest median", worst, "ms"),
        ],
    );
    let leading = |p| {
        let mut order = LOADS;
        order.sort_by(|a, b| ms("p99", p, "total", b).total_cmp(&ms("p99", p, "total", a)));
        order
    };
    let named = |order: [&str; 6]| {
        order[..3]
            .iter()
            .filter(|l| ["network", "cpu", "io"].contains(*l))
            .count()
    };
    let counts = ["host", "vserver", "xen"].map(|p| named(leading(p)));
    book.holds(
        "worst-loads",
        counts == [3; 3],
        format!(
            "From large to small: plain Linux {}; VServer {}; Xen {}.",
            leading("host").join(", "),
            leading("vserver").join(", "),
            leading("xen").join(", ")
        ),
        vec![
            effect(
                "named loads among the three largest, plain Linux",
                counts[0] as f64,
                "1",
            ),
            effect(
                "named loads among the three largest, VServer",
                counts[1] as f64,
                "1",
            ),
            effect(
                "named loads among the three largest, Xen",
                counts[2] as f64,
                "1",
            ),
        ],
    );
    let cells: Vec<f64> = BOTH
        .into_iter()
        .flat_map(|c| ["host", "vserver"].map(|p| (c, p)))
        .flat_map(|(c, p)| LOADS.map(|l| ms(c, p, "user", l) / ms(c, p, "kernel", l)))
        .collect();
    let above = cells.iter().filter(|r| **r > 1.0).count();
    book.holds(
        "user-space-dominates-linux-vserver",
        10 * above >= 9 * cells.len(),
        format!(
            "In {above} of {} cells, from {} to {} times.",
            cells.len(),
            sig(least(cells.clone())),
            sig(most(cells.clone()))
        ),
        vec![
            effect("cells with the larger user share", above as f64, "1"),
            effect("cells", cells.len() as f64, "1"),
        ],
    );
    let share = |layer, l| ms("p99", "xen", layer, l);
    let domu = ["cpu", "io", "hd"]
        .map(|l| share("domu", l) / (share("dom0", l) + share("domu", l) + share("user", l)));
    book.open(
        "xen-delay-in-dom0",
        format!(
            "Beside CPU, I/O and disk loads {} % or more of the shares' sum fall between the stamps of dom0 and domU; beside a network load {} of {} ms do, at the 99th percentile.",
            sig(100.0 * least(domu)),
            share("domu", "network"),
            share("total", "network")
        ),
        vec![
            effect("least share between dom0's and domU's stamps, CPU, I/O, disk", 100.0 * least(domu), "%"),
            effect("dom0's share, network", share("dom0", "network"), "ms"),
            effect("domU's share, network", share("domu", "network"), "ms"),
        ],
    );
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

fn xen_at_rest(book: &mut Book) {
    let ratio = |c, p| ms(c, "xen", "total", "idle") / ms(c, p, "total", "idle");
    let all = [
        ratio("median", "host"),
        ratio("median", "vserver"),
        ratio("p99", "host"),
        ratio("p99", "vserver"),
    ];
    book.holds(
        "xen-at-rest-three-to-four-times",
        all.iter().all(|r| (2.5..=4.5).contains(r)),
        format!(
            "Medians {} times plain Linux and {} times VServer, 99th percentiles {} and {} times.",
            sig(all[0]),
            sig(all[1]),
            sig(all[2]),
            sig(all[3])
        ),
        vec![
            effect("median, over plain Linux", all[0], "1"),
            effect("median, over VServer", all[1], "1"),
            effect("99th percentile, over plain Linux", all[2], "1"),
            effect("99th percentile, over VServer", all[3], "1"),
        ],
    );
    let dom0 = most(LOADS[..5].iter().map(|l| ms("p99", "xen", "dom0", l)));
    book.holds(
        "xen-dom0-284-us",
        dom0 <= 0.2845,
        format!("At most {} us at the 99th percentile.", sig(1e3 * dom0)),
        vec![effect(
            "largest dom0 share without network load",
            1e3 * dom0,
            "us",
        )],
    );
    let (domu, user) = (
        ms("median", "xen", "domu", "idle"),
        ms("median", "xen", "user", "idle"),
    );
    let near = |x: f64, about: f64| (x / about - 1.0).abs() <= 0.1;
    book.holds(
        "xen-domu-300-user-150-us",
        near(domu, 0.3) && near(user, 0.15),
        format!("{} and {} us.", sig(1e3 * domu), sig(1e3 * user)),
        vec![
            effect("domU's kernel", 1e3 * domu, "us"),
            effect("user space", 1e3 * user, "us"),
        ],
    );
}

fn xen_loaded(book: &mut Book) {
    let p99 = |layer, l| ms("p99", "xen", layer, l);
    let (cpu, io) = (p99("total", "cpu"), p99("total", "io"));
    book.holds(
        "xen-cpu-32-io-56-ms",
        cpu.floor() == 32.0 && io.floor() == 56.0,
        format!("{cpu} and {io} ms at the 99th percentile."),
        vec![effect("CPU", cpu, "ms"), effect("I/O", io, "ms")],
    );
    let user = ["cpu", "io"].map(|l| 100.0 * p99("user", l) / p99("domu", l));
    book.holds(
        "xen-user-like-domu",
        most(user) <= 5.0,
        format!(
            "{} % beside CPU load, {} % beside I/O.",
            sig(user[0]),
            sig(user[1])
        ),
        vec![effect("user over domU share, largest", most(user), "%")],
    );
    let dom0 = most(["cpu", "io"].map(|l| p99("dom0", l)));
    book.holds(
        "xen-delay-unseen-in-dom0",
        dom0 < 0.3,
        format!("{} us at most.", sig(1e3 * dom0)),
        vec![effect("largest dom0 share", 1e3 * dom0, "us")],
    );
    let total = p99("total", "network");
    book.holds(
        "xen-network-25-ms",
        total <= 25.5,
        format!("{total} ms at the 99th percentile."),
        vec![effect("total, 99th percentile", total, "ms")],
    );
    let times = BOTH.map(|c| {
        ms(c, "xen", "dom0", "network") / most(LOADS[..5].iter().map(|l| ms(c, "xen", "dom0", l)))
    });
    book.holds(
        "xen-network-shows-in-dom0",
        least(times) >= 10.0,
        format!(
            "{} times the next in the median, {} at the 99th percentile.",
            sig(times[0]),
            sig(times[1])
        ),
        vec![
            effect("network over next load, median", times[0], "1"),
            effect("network over next load, 99th percentile", times[1], "1"),
        ],
    );
    let others = ["host", "vserver"];
    let between = BOTH.iter().all(|c| {
        let xen = ms(c, "xen", "total", "network");
        others
            .iter()
            .all(|p| ms(c, p, "kernel", "network") < xen && xen < ms(c, p, "total", "network"))
    });
    let xen = BOTH.map(|c| ms(c, "xen", "total", "network"));
    let bounds = |c| {
        (
            most(others.map(|p| ms(c, p, "kernel", "network"))),
            least(others.map(|p| ms(c, p, "total", "network"))),
        )
    };
    let (median, tail) = (bounds("median"), bounds("p99"));
    book.holds(
        "xen-network-between-kernel-and-user",
        between,
        format!(
            "Median {} ms between {} and {}, 99th percentile {} between {} and {}.",
            xen[0], median.0, median.1, xen[1], tail.0, tail.1
        ),
        vec![
            effect("Xen, median", xen[0], "ms"),
            effect("Xen, 99th percentile", xen[1], "ms"),
        ],
    );
}

fn discussion(book: &mut Book) {
    let ratios: Vec<f64> = BOTH
        .into_iter()
        .flat_map(|c| {
            ["host", "vserver"].map(|p| ms(c, p, "kernel", "network") / ms(c, p, "kernel", "idle"))
        })
        .collect();
    book.holds(
        "network-load-spoils-kernel-stamps",
        least(ratios.clone()) >= 5.0,
        format!(
            "{} to {} times as late as at rest.",
            sig(least(ratios.clone())),
            sig(most(ratios.clone()))
        ),
        vec![
            effect("smallest ratio to rest", least(ratios.clone()), "1"),
            effect("largest ratio to rest", most(ratios), "1"),
        ],
    );
    let stamp = |l| ms("p99", "xen", "dom0", l) + ms("p99", "xen", "domu", l);
    let worst = most(LOADS.map(stamp));
    book.holds(
        "kernel-stamps-do-not-solve-xen",
        worst > 10.0,
        format!(
            "The shares below a guest's kernel stamp add up to {} ms, percentiles added.",
            sig(worst)
        ),
        vec![effect(
            "largest sum of dom0's and domU's shares",
            worst,
            "ms",
        )],
    );
}
