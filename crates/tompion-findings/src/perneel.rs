//! Perneel 2015 against its own Table I.

mod general;
mod scenarios;

use tompion_papers::claims::Evidence;
use tompion_papers::published::table;

use super::book::{Book, effect, least, most, sig};

/// Scenarios 1 to 7.
const SCENARIOS: [&str; 7] = [
    "one-to-all",
    "one-to-one",
    "cpu-neighbour",
    "memory-neighbour",
    "three-cpu-guests",
    "three-memory-guests",
    "one-memory-guest",
];
/// The table's columns: hypervisor and kind of guest.
const COLUMNS: [(&str, &str); 5] = [
    ("hyper-v", "full"),
    ("hyper-v", "para"),
    ("xen", "full"),
    ("xen", "para"),
    ("esxi", "full"),
];
const HYPER_V: [(&str, &str); 2] = [COLUMNS[0], COLUMNS[1]];
const XEN: [(&str, &str); 2] = [COLUMNS[2], COLUMNS[3]];
const ESXI: (&str, &str) = COLUMNS[4];

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new(
        "perneel-2015",
        &[
            "perneel-2015/table-1",
            "Perneel 2015, figures of sections II.C, IV.B.1 and IV.B.2",
        ],
    );
    scenario_one(&mut book);
    quanta(&mut book);
    method(&mut book);
    scenarios::decide(&mut book);
    general::decide(&mut book);
    book.evidence()
}

/// An overhead in milliseconds; scenarios count from 1, Xen has its default quantum.
fn ms((platform, kind): (&str, &str), scenario: usize) -> f64 {
    of_quantum((platform, kind), scenario, "default")
}

fn of_quantum((platform, kind): (&str, &str), scenario: usize, quantum: &str) -> f64 {
    let t = table("perneel-2015/table-1").expect("a published table");
    let wanted = [
        ("platform", platform),
        ("virtualization", kind),
        ("scenario", SCENARIOS[scenario - 1]),
    ];
    let rows = t.rows.iter().filter(|r| r.has(&wanted));
    let mut of = rows.filter(|r| r.level("quantum").is_none_or(|q| q == quantum));
    let found = of.next().and_then(|r| r.value("max")?.number());
    assert!(of.next().is_none(), "one row a cell");
    found.unwrap_or_else(|| panic!("no {platform}, {kind}, scenario {scenario}"))
}

/// The bare machine's value in milliseconds.
fn bare() -> f64 {
    let t = table("perneel-2015/table-1").expect("a published table");
    let found = t.figure("max", &[("platform", "host")]);
    found
        .and_then(|f| f.value.number())
        .expect("the bare machine's value")
}

fn ratio(column: (&str, &str), scenario: usize, to: usize) -> f64 {
    ms(column, scenario) / ms(column, to)
}

fn name((platform, kind): (&str, &str)) -> String {
    format!("{platform}, {kind}")
}

fn scenario_one(book: &mut Book) {
    let all = COLUMNS.map(|c| ms(c, 1));
    book.holds(
        "virtualization-adds-latency",
        least(all) > bare() && most(all) >= 10.0 * least(all),
        format!(
            "{} us to {} ms, the bare machine {} us.",
            sig(1e3 * least(all)),
            sig(most(all)),
            sig(1e3 * bare())
        ),
        vec![
            effect(
                "smallest overhead over the bare machine's value",
                least(all) / bare(),
                "1",
            ),
            effect(
                "largest over smallest overhead",
                most(all) / least(all),
                "1",
            ),
        ],
    );
}

fn quanta(book: &mut Book) {
    let added = |c| ms(c, 3) - ms(c, 2);
    let (full, para) = (added(HYPER_V[0]), added(HYPER_V[1]));
    let near = |x: f64, about: f64, share: f64| (x / about - 1.0).abs() <= share;
    book.holds(
        "hyperv-quantum",
        near(full, 10.0, 0.2) && near(para, 5.0, 0.2),
        format!(
            "{} and {} ms, a ratio of {}.",
            sig(full),
            sig(para),
            sig(full / para)
        ),
        vec![
            effect("emulated", full, "ms"),
            effect("enlightened", para, "ms"),
            effect("ratio", full / para, "1"),
        ],
    );
    let xen = XEN.map(added);
    book.holds(
        "xen-quantum-30-ms",
        xen.iter().all(|q| near(*q, 30.0, 0.05)),
        format!("{} and {} ms.", sig(xen[0]), sig(xen[1])),
        vec![
            effect("fully virtualized", xen[0], "ms"),
            effect("para-virtualized", xen[1], "ms"),
        ],
    );
    let helped: Vec<f64> = XEN
        .into_iter()
        .flat_map(|c| [3, 4].map(|s| of_quantum(c, s, "customized") / ms(c, s)))
        .collect();
    book.holds(
        "xen-short-quantum-helps",
        most(helped.clone()) < 1.0,
        format!(
            "To {} to {} of the default's; {} to {} ms are left, several times the quantum of 1 ms.",
            sig(least(helped.clone())),
            sig(most(helped.clone())),
            sig(of_quantum(XEN[1], 3, "customized")),
            sig(of_quantum(XEN[0], 4, "customized"))
        ),
        vec![effect("largest ratio to the default's", most(helped), "1")],
    );
    let esxi = added(ESXI);
    book.open(
        "esxi-quantum-little-effect",
        format!(
            "Scenario 3 less scenario 2 is {} ms, {} quanta of 50 ms.",
            sig(esxi),
            sig(esxi / 50.0)
        ),
        vec![effect("scenario 3 less scenario 2", esxi, "ms")],
    );
}

fn method(book: &mut Book) {
    let tick = 76.5 - 68.1;
    book.holds(
        "tick-takes-8-4-us",
        (tick - 8.4f64).abs() < 0.05,
        format!(
            "76.5 - 68.1 = {} us; the table's value for the bare machine is {} us, over an hour.",
            sig(tick),
            sig(1e3 * bare())
        ),
        vec![effect("difference", tick, "us")],
    );
    let loops = 3600e6 / 68.1;
    book.holds(
        "sixty-million-an-hour",
        loops >= 59.5e6,
        format!(
            "An hour holds {} million loops of 68.1 us.",
            sig(loops / 1e6)
        ),
        vec![effect("loops an hour at most", loops / 1e6, "million")],
    );
}
