//! Xen: section 4.3.

use super::{BOTH, LOADS, ms};
use crate::book::{Book, effect, least, most, sig};

pub fn decide(book: &mut Book) {
    xen_at_rest(book);
    xen_loaded(book);
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
