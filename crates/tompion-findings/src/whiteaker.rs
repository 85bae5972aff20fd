//! Whiteaker 2011 against its own Table 1.

mod hosts;
mod xen;

use tompion_papers::claims::Evidence;
use tompion_papers::published::table;

use super::book::{Book, effect, least, most, sig};

const LOADS: [&str; 6] = ["idle", "cpu", "io", "hd", "memory", "network"];
/// Columns: median and 99th percentile.
const BOTH: [&str; 2] = ["median", "p99"];

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new("whiteaker-2011", &["whiteaker-2011/table-1"]);
    headlines(&mut book);
    hosts::decide(&mut book);
    xen::decide(&mut book);
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
