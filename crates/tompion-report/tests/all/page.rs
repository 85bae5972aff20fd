//! The page: everything is drawn, nothing breaks out, whatever the run.

use crate::common::page::{as_xml, check_page, class, paths, plots};
use crate::common::{
    data, draft, gather, header, key, overgrown, realistic_run, report_of_cells, run, run_with,
    unjudged,
};
use roxmltree::Document;
use tompion_model::{Factors, RunRecord, Sample, Status, TrialData, factor};
use tompion_report::{html, json, markdown, terminal};

/// What a run is like, its trials, and how many cells are drawn.
type Case = (&'static str, Vec<(Factors, TrialData)>, usize);

#[test]
fn every_cell_is_drawn_within_the_size_limit() {
    let (_keep, run) = realistic_run(8, &["idle", "cpu", "network"], 400);
    let report = gather(&run);
    let page = html(&report);
    check_page(&page);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());

    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    let cells = report.cells().len();
    assert_eq!(cells, 3 * (13 + 2 * 6 + 2 * 3 + 2 * 2));
    let count = |kind: &str, role: &str| -> usize {
        let all = plots(&document, kind);
        all.iter()
            .flat_map(|p| paths(p, role))
            .map(|d| d.matches('M').count())
            .sum()
    };
    let drawn = |kind: &str, role: &str| -> usize {
        plots(&document, kind)
            .iter()
            .map(|p| paths(p, role).len())
            .sum()
    };
    // One line, mean and end point a cell in the CCDFs (strokes of one look may
    // share a path); one cloud, one set of ranges and one median over time.
    assert_eq!(
        [count("ccdf", "l"), count("ccdf", "m"), count("ccdf", "e")],
        [cells; 3]
    );
    assert_eq!(
        [drawn("time", "p"), drawn("time", "r"), drawn("time", "n")],
        [cells; 3]
    );
    // Four lines a plot: of 13 clocks, and of 14 and of 8 sleeps, two of each at most.
    assert_eq!(plots(&document, "ccdf").len(), 3 * (4 + 4 + 2));
    assert_eq!(plots(&document, "time").len(), 13 + 8 + 5);
    for plot in plots(&document, "ccdf") {
        // Within one figure no two lines look alike.
        let mut looks: Vec<&str> = plot
            .descendants()
            .map(|n| class(&n))
            .filter(|c| c.starts_with("l "))
            .collect();
        let all = looks.len();
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), all);
    }
}

/// Where nothing slept the report opens with what a read costs.
#[test]
fn a_report_without_a_verdict_opens_with_the_cheapest_and_the_dearest_read() {
    let reads =
        |method: &str, load: &str, ps: i64| (key("read-cost", method, load), data(vec![ps; 100]));
    let trials = vec![
        reads("clock-monotonic", "idle", 25_000),
        reads("rdtsc", "idle", 12_000),
        reads("clock-tai", "idle", 31_000),
        reads("rdtsc", "io", 13_000),
    ];
    let text = terminal(&report_of_cells(trials), 200, false);
    assert!(
        text.starts_with(
            "At rest a read takes from 12.0 ns with rdtsc to 31.0 ns with clock-tai (medians).\n\
             Under io load a read takes 13.0 ns with rdtsc (median).\nNothing to judge.\n"
        ),
        "{text}"
    );
}

#[test]
fn the_largest_sample_is_the_highest_dot() {
    let f = key("wake-up", "usleep", "idle");
    let mut values: Vec<i64> = vec![50_000_000; 100_000];
    values[61_803] = 40_000_000_000;
    let page = html(&report_of_cells(vec![(f, data(values))]));
    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    let plot = plots(&document, "time")[0];
    let dots: Vec<(f64, f64)> = paths(&plot, "p")[0]
        .split("h0")
        .filter_map(|d| d.strip_prefix('M')?.split_once(' '))
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    let floor = dots.iter().map(|d| d.1).fold(0.0, f64::max);
    let high: Vec<_> = dots.iter().filter(|d| d.1 < floor - 20.0).collect();
    assert_eq!(high.len(), 1, "one dot stands out");
    let (left, right) = (dots[0].0, dots[dots.len() - 1].0);
    let along = (high[0].0 - left) / (right - left);
    assert!((along - 0.618).abs() < 0.01, "{along}");
}

#[test]
fn hostile_names_stay_text() {
    let hostile = "<script>alert('1')</script>&amp;\"\u{1b}[31m";
    let f = key("wake-up", hostile, "]]>--><b>")
        .with("<i>", "\"x\"")
        .with(factor::TARGET, "<u>");
    let g = key("<probe>", "m", "idle");
    let probe = g.clone().with(factor::PROBE, "probe");
    let (_keep, run) = run(
        vec![(f, data(1..500)), (probe, data(1..500))],
        Status::Complete,
    );
    // As another program may have written it.
    let run = run.edited(|record| record.trials[1].factors = g, |_| ());
    let report = unjudged(&run);
    let page = html(&report);
    check_page(&page.replace('\u{1b}', ""));
    assert!(page.contains("&lt;script&gt;alert"));
    assert!(!page.contains("<i>") && !page.contains("<u>") && !page.contains("]]><b>"));
    assert!(!terminal(&report, 100, false).contains('\u{1b}'));
}

#[test]
fn odd_runs_still_give_a_page() {
    let tail = overgrown((0..5_000).map(|v| v * 777 % 90_001)).0;
    let batched = TrialData {
        samples: (0..50)
            .map(|i| Sample {
                at_ns: i * 10,
                value_ps: 9_000,
                n: 100,
                ..Sample::default()
            })
            .collect(),
        ..TrialData::default()
    };
    let usleep = |data| vec![(key("wake-up", "usleep", "idle"), data)];
    let ten = |l: i64| {
        (
            key("wake-up", "usleep", &format!("load{l}")),
            data((1..300).map(move |v| v * l)),
        )
    };
    let cases: Vec<Case> = vec![
        ("no trials", vec![], 0),
        ("no samples", usleep(TrialData::default()), 0),
        ("no factors", usleep(data(1..300)), 1),
        ("one sample", usleep(data([5])), 1),
        ("a constant", usleep(data([5_000; 400])), 1),
        ("negative values", usleep(data(-400_000..400)), 1),
        (
            "zeros only",
            vec![(
                key("read-cost", "clock-monotonic-coarse", "idle"),
                data([0; 300]),
            )],
            1,
        ),
        (
            "batches only",
            vec![(key("read-cost", "rdtsc", "idle"), batched)],
            1,
        ),
        ("ten loads", (0..10).map(ten).collect(), 10),
        (
            "another probe",
            vec![(key("stall", "spin", "cpu"), data(1..300))],
            1,
        ),
    ];
    for (what, trials, drawn) in cases {
        let (_keep, run) = run(trials, Status::Complete);
        let without = |record: &mut RunRecord| {
            if what == "no factors" {
                record.trials[0].factors = Factors::new();
            }
        };
        let run = run.edited(without, |_| ());
        let report = gather(&run);
        let page = html(&report);
        check_page(&page);
        let xml = as_xml(&page);
        let document = Document::parse(&xml).unwrap();
        let lines: usize = plots(&document, "ccdf")
            .iter()
            .map(|p| paths(p, "l").len())
            .sum();
        let clouds: usize = plots(&document, "time")
            .iter()
            .map(|p| paths(p, "p").len())
            .sum();
        assert_eq!((lines, clouds), (drawn, drawn), "{what}");
        let text = terminal(&report, 80, true);
        assert!(text.contains("Can you trust time here?"), "{what}");
        assert!(json(&report)["cells"].is_array(), "{what}");
    }
    // A trial that outgrew its limit says so.
    let mut d = draft(key("wake-up", "usleep", "idle"), 0);
    d.storage = overgrown((0..5_000).map(|v| v * 777 % 90_001)).1;
    let (_keep, run) = run_with(header(1, 1), &[(d, tail)]);
    let page = html(&gather(&run));
    check_page(&page);
    assert!(page.contains("outgrew their storage"));
}

/// Paper has room for a dozen columns of numbers: further loads stand below.
#[test]
fn a_dozen_loads_have_tables_that_fit_a_sheet() {
    let loads: Vec<String> = (0..12).map(|i| format!("load{i:02}")).collect();
    let cell = |load: &String| {
        let f = key("wake-up", "usleep", load).with(factor::TARGET, "100us");
        (f, data((1..400).map(|v| v * 1_000)))
    };
    let page = html(&report_of_cells(loads.iter().map(cell).collect()));
    check_page(&page);
    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    let part = document
        .descendants()
        .find(|n| n.attribute("id") == Some("wake-up-100us"))
        .unwrap();
    let heads = |table: &roxmltree::Node<'_, '_>| -> Vec<String> {
        let groups = table
            .descendants()
            .filter(|n| class(n) == "group" && n.has_tag_name("th"));
        groups.filter_map(|n| n.text().map(str::to_owned)).collect()
    };
    let tables: Vec<Vec<String>> = part
        .descendants()
        .filter(|n| n.has_tag_name("table") && class(n) == "numbers")
        .map(|t| heads(&t))
        .collect();
    assert_eq!(tables.concat(), loads, "every load once, in order");
    assert!(tables.iter().all(|t| t.len() <= 4), "{tables:?}");
}

#[test]
fn a_dozen_platforms_have_plots_of_their_own() {
    let mut trials = Vec::new();
    for platform in 0..12 {
        for method in ["usleep", "timerfd"] {
            for load in ["idle", "cpu"] {
                let f = key("wake-up", method, load)
                    .with(factor::TARGET, "100us")
                    .with("platform", format!("site-{platform:02}"));
                trials.push((f, data((1..400).map(|v| v * 1_000 * (platform + 1)))));
            }
        }
    }
    let report = report_of_cells(trials);
    let page = html(&report);
    check_page(&page);
    // Side by side by their medians, each method under each load.
    let heads = "<th>95 % interval</th><th>p99</th><th>clocksource</th></tr>";
    assert_eq!(page.matches(heads).count(), 4);
    let xml = as_xml(&page);
    let document = Document::parse(&xml).unwrap();
    let ccdfs = plots(&document, "ccdf");
    assert_eq!(
        ccdfs.len(),
        4 * 3,
        "each method under each load, four platforms in each"
    );
    // Panels over time fill sheets, and none is lost.
    let over_time = plots(&document, "time");
    let high = |p: &roxmltree::Node<'_, '_>| -> f64 {
        let view = p.attribute("viewBox").unwrap();
        view.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(over_time.len(), 2 * 3, "four platforms of twelve in each");
    assert!(over_time.iter().all(|p| high(p) < 800.0));
    let panels: usize = over_time.iter().map(|p| paths(p, "p").len()).sum();
    assert_eq!(panels, 12 * 2 * 2);
    assert!(page.contains("<h4>usleep, 3 of 3</h4>"));
    for plot in ccdfs {
        let mut looks: Vec<&str> = plot
            .descendants()
            .map(|n| class(&n))
            .filter(|c| c.starts_with("l "))
            .collect();
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), 4, "every platform looks its own way");
    }
}

#[test]
fn platforms_stand_side_by_side_beside_the_host() {
    let mut trials = Vec::new();
    for (platform, factor) in [("host", 1_000), ("slow (emulated)", 3_000)] {
        for probe in ["wake-up", "stalls"] {
            let f = key(probe, "usleep", "idle").with("platform", platform);
            trials.push((f, data((1..=201).map(|v| v * factor))));
        }
    }
    let report = report_of_cells(trials);
    for text in [terminal(&report, 100, false), markdown(&report)] {
        let (_, after) = text
            .split_once("Platforms side by side")
            .expect("a section");
        let rows: Vec<&str> = after
            .lines()
            .filter(|l| l.contains(" ns"))
            .take(2)
            .collect();
        for part in ["host", "101 ns"] {
            assert!(rows[0].contains(part), "{rows:?}");
        }
        for part in ["slow (emulated)", "303 ns", "3.00×"] {
            assert!(rows[1].contains(part), "{rows:?}");
        }
        let words: Vec<&str> = after.split_whitespace().collect();
        assert!(
            words
                .join(" ")
                .contains("tompion compare RUN --by platform")
        );
    }
}
