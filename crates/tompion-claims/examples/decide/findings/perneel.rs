//! Perneel 2015 against its own Table I.

use tompion_claims::Evidence;
use tompion_published::table;

use super::book::{Book, effect, least, most, sig, sign_test, tested};

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
    hyper_v(&mut book);
    scenarios(&mut book);
    kinds_of_guest(&mut book);
    ranking(&mut book);
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

fn hyper_v(book: &mut Book) {
    let pinned = HYPER_V.map(|c| ratio(c, 2, 1));
    let effects = || {
        vec![
            effect("scenario 2 over 1, emulated", pinned[0], "1"),
            effect("scenario 2 over 1, enlightened", pinned[1], "1"),
        ]
    };
    book.holds(
        "hyperv-affinity-doubles",
        pinned.iter().all(|r| (1.5..=2.0).contains(r)),
        format!(
            "{} times for the emulated guest, {} for the enlightened one.",
            sig(pinned[0]),
            sig(pinned[1])
        ),
        effects(),
    );
    book.open(
        "hyperv-do-not-pin",
        format!(
            "{} and {} times, but with one physical CPU left for guest and parent partition.",
            sig(pinned[0]),
            sig(pinned[1])
        ),
        effects(),
    );
    let caches = HYPER_V.map(|c| ms(c, 4) - ms(c, 3));
    book.holds(
        "hyperv-caches-3-ms",
        caches.iter().all(|d| (d / 3.0 - 1.0).abs() <= 0.2),
        format!("{} and {} ms.", sig(caches[0]), sig(caches[1])),
        vec![
            effect("emulated", caches[0], "ms"),
            effect("enlightened", caches[1], "ms"),
        ],
    );
}

fn scenarios(book: &mut Book) {
    let told = |s, to| {
        let list = COLUMNS.map(|c| format!("{} {}", name(c), sig(ratio(c, s, to))));
        format!("{}.", list.join("; "))
    };
    let effects = |s: usize, to: usize| {
        COLUMNS
            .map(|c| {
                effect(
                    format!("scenario {s} over {to}: {}", name(c)),
                    ratio(c, s, to),
                    "1",
                )
            })
            .to_vec()
    };
    let all = |s, to| COLUMNS.map(|c| ratio(c, s, to));
    let (five, six, seven) = (all(5, 1), all(6, 5), all(7, 6));
    let within = |r: &[f64], low: f64, high: f64| r.iter().all(|r| (low..=high).contains(r));
    book.holds(
        "scenario-5-like-1",
        within(&five, 0.8, 1.25),
        told(5, 1),
        effects(5, 1),
    );
    book.holds(
        "scenario-6-threefold",
        within(&six, 2.4, 3.6),
        told(6, 5),
        effects(6, 5),
    );
    let more = six.iter().filter(|r| **r > 1.0).count();
    let mut with_test = vec![tested(
        "columns of 5 that rise",
        more as f64,
        sign_test(more, 5),
        "sign test",
    )];
    with_test.extend(effects(6, 5));
    book.holds("memory-load-costs-more", more == 5, told(6, 5), with_test);
    let much = seven.iter().filter(|r| **r <= 2.0 / 3.0).count();
    book.holds(
        "scenario-7-below-6",
        seven.iter().all(|r| *r < 1.0) && much >= 3,
        format!("At most two thirds in {much} of 5: {}", told(7, 6)),
        effects(7, 6),
    );
    let moved = most(XEN.map(|c| (ms(c, 2) - ms(c, 1)).abs()));
    book.holds(
        "xen-affinity-no-effect",
        moved == 0.0,
        format!(
            "{} and {} us in both.",
            sig(1e3 * ms(XEN[0], 1)),
            sig(1e3 * ms(XEN[1], 1))
        ),
        vec![effect("largest difference", moved, "ms")],
    );
    let others = [XEN[0], XEN[1], ESXI];
    let caches = others.map(|c| ms(c, 4) - ms(c, 3));
    let short = XEN.map(|c| of_quantum(c, 4, "customized") - of_quantum(c, 3, "customized"));
    let memory = others.map(|c| ratio(c, 6, 5));
    book.holds(
        "other-scenarios-alike",
        caches.iter().all(|d| (d / 3.0 - 1.0).abs() <= 0.2) && within(&memory, 2.4, 3.6),
        format!(
            "Caches: {} and {} ms on Xen ({} and {} with the short quantum), {} on ESXi. Memory loads: {}, {} and {} times.",
            sig(caches[0]),
            sig(caches[1]),
            sig(short[0]),
            sig(short[1]),
            sig(caches[2]),
            sig(memory[0]),
            sig(memory[1]),
            sig(memory[2])
        ),
        vec![
            effect("scenario 4 less 3, Xen, fully virtualized", caches[0], "ms"),
            effect("scenario 4 less 3, ESXi", caches[2], "ms"),
            effect("scenario 6 over 5, ESXi", memory[2], "1"),
        ],
    );
}

fn kinds_of_guest(book: &mut Book) {
    for (claim, columns, low, high) in [
        ("hyperv-paravirtual-twice-better", HYPER_V, 1.6, 2.4),
        ("xen-paravirtual-1-5-times-better", XEN, 1.2, 1.8),
    ] {
        let ratios: Vec<f64> = (1..=7)
            .map(|s| ms(columns[0], s) / ms(columns[1], s))
            .collect();
        let mean = ratios.iter().sum::<f64>() / 7.0;
        let better = ratios.iter().filter(|r| **r > 1.0).count();
        book.holds(
            claim,
            (low..=high).contains(&mean),
            format!(
                "{} on average, {} to {}.",
                sig(mean),
                sig(least(ratios.clone())),
                sig(most(ratios.clone()))
            ),
            vec![
                effect("mean ratio of the seven scenarios", mean, "1"),
                tested(
                    "scenarios of 7 with the paravirtual guest better",
                    better as f64,
                    sign_test(better, 7),
                    "sign test",
                ),
            ],
        );
    }
    let to_bare = |c| least((1..=7).map(|s| ms(c, s))) / bare();
    for (claim, column) in [
        ("hyperv-far-from-bare", HYPER_V[1]),
        ("esxi-far-from-bare", ESXI),
    ] {
        let r = to_bare(column);
        book.holds(
            claim,
            r >= 10.0,
            format!("At least {} times the bare machine's value.", sig(r)),
            vec![effect(
                "least overhead over the bare machine's value",
                r,
                "1",
            )],
        );
    }
    let alone = ms(XEN[1], 1) / bare();
    let worst = most((1..=7).map(|s| ms(XEN[1], s))) / bare();
    book.holds(
        "xen-close-to-bare",
        alone <= 1.0 && worst <= 10.0,
        format!(
            "{} times the bare machine's value alone, up to {} times beside a neighbour.",
            sig(alone),
            sig(worst)
        ),
        vec![
            effect("scenario 1 over the bare machine's value", alone, "1"),
            effect("worst scenario over the bare machine's value", worst, "1"),
        ],
    );
}

fn ranking(book: &mut Book) {
    let below = |s: usize, quantum: &str| {
        let xen = most(XEN.map(|c| {
            of_quantum(
                c,
                s,
                if [3, 4].contains(&s) {
                    quantum
                } else {
                    "default"
                },
            )
        }));
        xen < least(HYPER_V.map(|c| ms(c, s)))
    };
    let default = (1..=7).filter(|s| below(*s, "default")).count();
    let customized = (1..=7).filter(|s| below(*s, "customized")).count();
    book.holds(
        "ranking-xen-first",
        default == 7,
        format!(
            "In {default} of 7 scenarios with the default quantum, in {customized} with the customized one; in scenario 3 Xen has {} and {} ms, Hyper-V {} and {}.",
            ms(XEN[0], 3),
            ms(XEN[1], 3),
            ms(HYPER_V[0], 3),
            ms(HYPER_V[1], 3)
        ),
        vec![
            tested("scenarios of 7 with Xen below Hyper-V, default quantum", default as f64, sign_test(default, 7), "sign test"),
            effect("the same with the customized quantum", customized as f64, "1"),
        ],
    );
    let others = |s| most(COLUMNS[..4].iter().map(|c| ms(*c, s)));
    let last = (1..=7).filter(|s| ms(ESXI, *s) > others(*s)).count();
    book.holds(
        "ranking-esxi-last",
        last == 7,
        format!(
            "In {last} of 7 scenarios, by {} times or more.",
            sig(least((1..=7).map(|s| ms(ESXI, s) / others(s))))
        ),
        vec![tested(
            "scenarios of 7 with ESXi highest",
            last as f64,
            sign_test(last, 7),
            "sign test",
        )],
    );
    let shared_worst =
        |c| least([3, 4].map(|s| ms(c, s))) > most([1, 2, 5, 6, 7].map(|s| ms(c, s)));
    let columns = COLUMNS.into_iter().filter(|c| shared_worst(*c)).count();
    book.holds(
        "no-competition-is-best",
        columns == 5,
        format!("Scenarios 3 and 4 are the two worst in {columns} of 5 columns."),
        vec![effect("columns of 5", columns as f64, "1")],
    );
}
