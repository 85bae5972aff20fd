//! Figures that had to be parted or read off: read again from the rows of numbers
//! as our texts of the papers have them, and held against what clocks can give.

use tompion_papers::published::{Row, Table, table};

const KIROVA: [&str; 2] = ["kirova-2019/table-1", "kirova-2019/table-2"];
/// The columns in the order of the rows.
const COLUMNS: [&str; 4] = ["mad", "max", "median", "min"];

/// Whether thousands are parted by commas, or four digits by none, and no zero
/// leads.
fn is_whole(text: &str) -> bool {
    let groups: Vec<&str> = text.split(',').collect();
    let first = groups[0];
    let led_by_zero = first.starts_with('0') && text != "0";
    let most = if groups.len() == 1 { 4 } else { 3 };
    !led_by_zero && (1..=most).contains(&first.len()) && groups[1..].iter().all(|g| g.len() == 3)
}

/// All ways to part `raw` into four numbers with `decimals` digits behind the point.
fn splits(raw: &str, decimals: usize) -> Vec<[String; 4]> {
    let mut rest = raw;
    let mut numbers = Vec::new();
    while let Some((whole, after)) = rest.split_once('.') {
        if after.len() < decimals || !is_whole(whole) || after[..decimals].contains(',') {
            return Vec::new();
        }
        numbers.push(format!("{whole}.{}", &after[..decimals]));
        rest = &after[decimals..];
    }
    match <[String; 4]>::try_from(numbers) {
        Ok(four) if rest.is_empty() => vec![four],
        _ => Vec::new(),
    }
}

fn printed(row: &Row) -> [&str; 4] {
    COLUMNS.map(|c| row.value(c).unwrap().printed())
}

fn raw<'a>(table: &'a Table, row: &Row) -> &'a str {
    &table.raw[&table.label(row)]
}

#[test]
fn rows_of_kirova_part_into_the_same_figures_again_and_in_one_way_only() {
    for id in KIROVA {
        let table = table(id).unwrap();
        assert_eq!(table.raw.len(), table.rows.len(), "{id}");
        for row in &table.rows {
            let label = table.label(row);
            let found: Vec<_> = (1..=8).flat_map(|d| splits(raw(table, row), d)).collect();
            assert_eq!(found.len(), 1, "{id} {label}: {found:?}");
            assert_eq!(
                found[0].each_ref().map(String::as_str),
                printed(row),
                "{label}"
            );
        }
    }
}

#[test]
fn the_test_of_parting_notices_a_wrong_digit() {
    assert_eq!(splits("2.9216,009,000.015.814.3", 1).len(), 1);
    assert!(splits("2.9216,009,000.015.814.3", 2).is_empty());
    assert!(splits("2.9216,09,000.015.814.3", 1).is_empty());
    assert!(splits("2.9216,009,000.015.8143", 1).is_empty());
    assert!(splits("2.90216,009,000.015.814.3", 1).is_empty());
}

/// How many digits count: without leading zeros, and without those at the end.
fn significant(printed: &str) -> usize {
    let digits: String = printed.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

#[test]
fn values_of_kirova_have_at_most_six_significant_digits() {
    // Which is what C++ streams print, and another parting would break. The MAD is
    // reckoned from such values, and may have more.
    for id in KIROVA {
        let figures = table(id).unwrap().figures();
        for figure in figures.filter(|f| f.column.key != "mad") {
            let printed = figure.value.printed();
            assert!(significant(printed) <= 6, "{figure}: {printed}");
        }
    }
    assert_eq!(significant("3,611,915.2"), 8);
    assert_eq!(significant("216,009,000.0"), 6);
}

#[test]
fn system_calls_of_kirova_cost_whole_nanoseconds() {
    // clock_gettime tells nanoseconds, and quartiles of whole numbers lie at most
    // half a step apart.
    let table = table(KIROVA[0]).unwrap();
    for row in table.rows_with(&[("function", "system-call")]) {
        for (column, step) in [("max", 1.0), ("median", 1.0), ("min", 1.0), ("mad", 0.5)] {
            let number = row.value(column).unwrap().number().unwrap();
            assert_eq!(number % step, 0.0, "{} {column}", table.label(row));
        }
    }
}

#[test]
fn reads_of_the_counter_in_kirova_are_multiples_of_four_counts() {
    // 1.4 ns, as Korniichuk 2017 says of all platforms but Virtual Box: four counts
    // at 2.79 GHz (nominally 2.80), with the rounding of one decimal.
    const STEP_NS: f64 = 4.0 / 2.793;
    const ROUNDING_NS: f64 = 0.06;
    let table = table(KIROVA[0]).unwrap();
    let tsc = [("function", "tsc")];
    let others = table
        .rows_with(&tsc)
        .filter(|r| r.level("platform") != Some("virtualbox"));
    for row in others {
        for (column, step) in [
            ("median", STEP_NS),
            ("min", STEP_NS),
            ("mad", STEP_NS / 2.0),
        ] {
            let number = row.value(column).unwrap().number().unwrap();
            let off = (number / step).round().mul_add(-step, number).abs();
            assert!(off <= ROUNDING_NS, "{} {column}: {off}", table.label(row));
        }
    }
}

#[test]
fn whiteaker_s_figures_are_those_of_the_printed_rows() {
    let table = table("whiteaker-2011/table-1").unwrap();
    let layers = [
        ("host", "kernel"),
        ("host", "user"),
        ("host", "total"),
        ("vserver", "kernel"),
        ("vserver", "user"),
        ("vserver", "total"),
        ("xen", "dom0"),
        ("xen", "domu"),
        ("xen", "user"),
        ("xen", "total"),
    ];
    assert_eq!(table.raw.len(), 12);
    for (label, text) in &table.raw {
        let (column, load) = label.split_once('/').unwrap();
        let numbers: Vec<&str> = text.split(' ').collect();
        assert_eq!(numbers.len(), layers.len(), "{label}");
        for (number, (platform, layer)) in numbers.into_iter().zip(layers) {
            let levels = [("platform", platform), ("layer", layer), ("load", load)];
            let figure = table.figure(column, &levels).unwrap();
            assert_eq!(figure.value.printed(), number, "{figure}");
        }
    }
}

#[test]
fn perneel_s_figures_are_those_of_the_printed_rows() {
    let table = table("perneel-2015/table-1").unwrap();
    assert_eq!(table.raw.len(), 7);
    let mut read = 0;
    for (scenario, text) in &table.raw {
        let words: Vec<&str> = text.split(' ').collect();
        let figures = words.chunks(2).map(|w| match w {
            [number, "ms"] => (*number).to_owned(),
            _ => w.join(" "),
        });
        let levels = [("scenario", scenario.as_str())];
        let typed = table
            .rows_with(&levels)
            .map(|r| r.value("max").unwrap().printed());
        let typed: Vec<&str> = typed.collect();
        assert_eq!(figures.collect::<Vec<_>>(), typed, "{scenario}");
        read += typed.len();
    }
    // All but the bare machine.
    assert_eq!(read, table.rows.len() - 1);
}
