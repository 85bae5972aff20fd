//! The data as a whole: counts, order, keys, sources.

use std::collections::BTreeSet;

use tompion_papers::published::{Quality, Relation, Unit, table, tables, tables_of};

#[test]
fn every_table_has_as_many_rows_and_figures_as_its_source() {
    // Counted in the papers: rows, figures, marked figures.
    for (id, rows, figures, marked) in [
        ("whiteaker-2011/table-1", 60, 120, 1),
        ("perneel-2015/table-1", 40, 40, 1),
        ("adamczyk-2015/text", 24, 32, 2),
        ("korniichuk-2017/text", 39, 42, 16),
        ("kirova-2019/table-1", 30, 120, 4),
        ("kirova-2019/table-2", 30, 120, 5),
        ("kirova-2019/text", 40, 42, 8),
    ] {
        let table = table(id).unwrap();
        assert_eq!(table.rows.len(), rows, "{id}");
        assert_eq!(table.figures().count(), figures, "{id}");
        let of_table = table.figures().filter(|f| !f.value.is_sound());
        assert_eq!(of_table.count(), marked, "{id}");
    }
    assert_eq!(tables().len(), 7);
}

#[test]
fn tables_are_of_papers_we_cite_and_ids_say_which() {
    let mut ids = BTreeSet::new();
    for table in tables() {
        assert!(ids.insert(&table.id));
        assert!(table.id.starts_with(&format!("{}/", table.paper().id)));
        for text in [&table.title, &table.place, &table.samples] {
            assert!(!text.is_empty(), "{}", table.id);
        }
        for caveat in &table.caveats {
            assert!(caveat.ends_with('.') && caveat.len() > 30, "{caveat}");
        }
        assert!(!table.caveats.is_empty());
    }
}

#[test]
fn every_figure_has_a_place_a_quantity_and_a_reason_where_it_is_marked() {
    for figure in tables().iter().flat_map(|t| t.figures()) {
        assert!(!figure.place().is_empty(), "{figure}");
        assert!(!figure.column.statistic.is_empty() && !figure.column.quantity.is_empty());
        match figure.value.quality() {
            Quality::Sound => assert!(figure.value.number().is_some(), "{figure}"),
            Quality::Marked(why) => assert!(why.ends_with('.') && why.len() > 10, "{figure}"),
        }
    }
}

#[test]
fn statistics_of_a_row_are_in_order() {
    let orders: [(&str, &[&str]); 3] = [
        ("kirova-2019/table-1", &["min", "median", "max"]),
        ("kirova-2019/table-2", &["min", "median", "max"]),
        ("whiteaker-2011/table-1", &["median", "p99"]),
    ];
    for (id, order) in orders {
        let table = table(id).unwrap();
        for row in &table.rows {
            let label = table.label(row);
            let numbers: Vec<f64> = order
                .iter()
                .map(|c| row.value(c).unwrap().number().unwrap())
                .collect();
            assert!(numbers.is_sorted(), "{id} {label}: {numbers:?}");
            if let Some(mad) = row.value("mad") {
                // Half the interquartile range is within half the range.
                let range = numbers[2] - numbers[0];
                assert!(mad.number().unwrap() <= range / 2.0, "{id} {label}");
            }
        }
    }
}

#[test]
fn the_tables_of_experiments_are_full_factorials() {
    for (id, factors, cells) in [
        (
            "kirova-2019/table-1",
            &["function", "platform", "load"][..],
            2 * 5 * 3,
        ),
        (
            "kirova-2019/table-2",
            &["function", "platform", "load"][..],
            2 * 5 * 3,
        ),
    ] {
        for column in ["median", "mad", "min", "max"] {
            let seen = table(id).unwrap().observations(column, factors).unwrap();
            let levels: BTreeSet<_> = seen.iter().map(|o| &o.levels).collect();
            assert_eq!((seen.len(), levels.len()), (cells, cells), "{id} {column}");
        }
    }
    // Xen has two layers where the others have one.
    let rtt = table("whiteaker-2011/table-1").unwrap();
    assert_eq!(rtt.rows.len(), (3 + 3 + 4) * 6);
}

#[test]
fn figures_are_found_by_levels_in_their_units() {
    let stalls = table("perneel-2015/table-1").unwrap();
    let levels = [
        ("scenario", "cpu-neighbour"),
        ("platform", "xen"),
        ("virtualization", "para"),
        ("quantum", "customized"),
    ];
    let figure = stalls.figure("max", &levels).unwrap();
    assert_eq!(figure.ns(), Some(6.74e6));
    assert_eq!(figure.column.unit, Unit::Millisecond);
    // Two quanta: without one the question has two answers.
    assert!(stalls.figure("max", &levels[..3]).is_none());
    assert!(stalls.figure("median", &levels).is_none());
    let one = [
        ("scenario", "one-to-all"),
        ("platform", "xen"),
        ("virtualization", "para"),
    ];
    assert_eq!(
        stalls.figure("max", &one).unwrap().value.number(),
        Some(0.023)
    );

    let events = table("adamczyk-2015/text").unwrap();
    let disk = [
        ("platform", "xen-new-timer"),
        ("load", "disk"),
        ("period", "50us"),
    ];
    let gain = events.figure("gain", &disk).unwrap();
    assert_eq!(gain.value.relation(), Relation::About);
    assert_eq!(gain.place(), "New High Resolution Timer");
    assert_eq!(gain.ns(), None);
}

#[test]
fn observations_keep_levels_and_marks_and_refuse_unknown_names() {
    let table = table("kirova-2019/table-1").unwrap();
    let factors = ["platform", "function", "load"];
    let medians = table.observations("median", &factors).unwrap();
    let vbox = medians
        .iter()
        .find(|o| o.levels == ["virtualbox", "tsc", "idle"]);
    let vbox = vbox.unwrap();
    assert_eq!((vbox.value, vbox.marked), (2053.9, true));
    assert_eq!(medians.iter().filter(|o| o.marked).count(), 3);
    let error = table.observations("mean", &factors).unwrap_err();
    assert!(
        error.contains("no column `mean`") && error.contains("median"),
        "{error}"
    );
    let error = table.observations("median", &["kernel"]).unwrap_err();
    assert!(
        error.contains("no factor `kernel`") && error.contains("load"),
        "{error}"
    );
}

#[test]
fn a_paper_names_all_its_tables() {
    assert_eq!(tables_of("kirova-2019").len(), 3);
    assert_eq!(tables_of("kirova-2019/table-2").len(), 1);
    assert!(tables_of("kirova").is_empty());
}
