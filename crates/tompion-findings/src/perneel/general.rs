//! General conclusions and the ranking: sections VI.B and VII.

use super::{COLUMNS, ESXI, HYPER_V, XEN, bare, ms, of_quantum};
use crate::book::{Book, effect, least, most, sig, sign_test, tested};

pub fn decide(book: &mut Book) {
    kinds_of_guest(book);
    ranking(book);
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
