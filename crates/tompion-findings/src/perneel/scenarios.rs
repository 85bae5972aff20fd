//! Scenarios against one another: section VI.A.

use super::{COLUMNS, ESXI, HYPER_V, XEN, ms, name, of_quantum, ratio};
use crate::book::{Book, effect, most, sig, sign_test, tested};

pub fn decide(book: &mut Book) {
    hyper_v(book);
    scenarios(book);
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
