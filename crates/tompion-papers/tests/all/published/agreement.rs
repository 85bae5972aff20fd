//! Where the sources speak of the same thing twice: what differs is marked on all
//! sides, what agrees is not.

use tompion_papers::published::{Figure, table};

/// The figures of one column in the three sources of the two papers of Anhalt that
/// speak of this function, platform and load.
fn told(column: &str, function: &str, platform: &str, load: &str) -> Vec<Figure<'static>> {
    let io = if load == "io-network" { "io" } else { load };
    let sources = [
        ("kirova-2019/table-1", load),
        ("kirova-2019/table-2", load),
        ("kirova-2019/text", load),
        ("korniichuk-2017/text", io),
    ];
    sources
        .into_iter()
        .flat_map(|(id, load)| {
            let wanted = [
                ("function", function),
                ("platform", platform),
                ("load", load),
            ];
            table(id)
                .unwrap()
                .figures()
                .filter(move |f| f.row.has(&wanted))
        })
        .filter(|f| f.column.key == column)
        .collect()
}

#[test]
fn a_figure_of_the_anhalt_papers_is_marked_exactly_where_another_place_differs() {
    let (mut repeated, mut differing) = (0, Vec::new());
    for id in ["kirova-2019/table-1", "kirova-2019/table-2"] {
        for row in &table(id).unwrap().rows {
            let [function, platform, load] =
                ["function", "platform", "load"].map(|f| row.level(f).unwrap());
            for column in ["median", "min", "max", "mad"] {
                let told = told(column, function, platform, load);
                let agree = told
                    .iter()
                    .all(|a| told.iter().all(|b| a.value.agrees(b.value)));
                repeated += usize::from(told.len() > 1);
                if !agree {
                    differing.push(format!("{function}/{platform}/{load} {column}"));
                }
                for figure in &told {
                    assert_eq!(figure.value.is_sound(), agree, "{figure}: {told:#?}");
                }
            }
        }
    }
    // 41 medians and two largest values.
    assert_eq!(repeated, 43, "figures told more than once");
    differing.sort();
    assert_eq!(
        differing,
        [
            "hptsleep/qemu/cpu median",
            "hptsleep/qemu/io-network median",
            "hptsleep/virtualbox/idle median",
            "system-call/qemu/io-network median",
            "system-call/virtualbox/idle median",
            "tsc/virtualbox/idle max",
            "tsc/virtualbox/idle median",
            "usleep/qemu/cpu median",
            "usleep/qemu/io-network median",
        ]
    );
}

fn number(id: &str, column: &str, levels: &[(&str, &str)]) -> f64 {
    let found = table(id)
        .unwrap()
        .figures()
        .find(|f| f.column.key == column && f.row.has(levels));
    found.unwrap().value.number().unwrap()
}

#[test]
fn marks_within_one_paper_rest_on_its_own_numbers() {
    // A bound for 99.9 % of the samples below the median of one platform.
    let bound = number("kirova-2019/text", "p99_9", &[("function", "hptsleep")]);
    let qemu = [
        ("function", "hptsleep"),
        ("platform", "qemu"),
        ("load", "cpu"),
    ];
    assert!(bound < number("kirova-2019/table-2", "median", &qemu));
    // "100 times" beside the medians of the same paper.
    let hybrid = |platform| {
        let levels = [
            ("function", "hptsleep"),
            ("platform", platform),
            ("load", "idle"),
        ];
        number("korniichuk-2017/text", "median", &levels)
    };
    let ratios = ["host", "xen", "qemu", "esxi"].map(|p| hybrid("virtualbox") / hybrid(p));
    assert!(
        ratios.iter().all(|r| (44.5..63.5).contains(r)),
        "{ratios:?}"
    );
    // A step below one count of the clock.
    let step = number(
        "korniichuk-2017/text",
        "step",
        &[("platform", "virtualbox")],
    );
    assert!(step < 1.0 / 2.80);
    // "Up to 25 ms" below the 99 % quantile.
    let xen = [("platform", "xen"), ("layer", "total"), ("load", "network")];
    assert!(number("whiteaker-2011/table-1", "p99", &xen) > 25.0);
}

#[test]
fn adamczyk_s_gain_is_what_its_two_standard_deviations_give() {
    let sd = |platform| {
        let levels = [("platform", platform), ("load", "disk"), ("period", "50us")];
        number("adamczyk-2015/text", "sd", &levels)
    };
    let ratio = sd("xen") / sd("xen-new-timer");
    // Two orders of magnitude.
    assert_eq!(ratio.log10().round(), 2.0, "{ratio}");
}
