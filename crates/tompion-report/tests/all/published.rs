//! Published tables in the terminal and in JSON.

use tompion_papers::published::{Quality, table, tables};
use tompion_report::{published_json, published_list, published_list_json, published_table};

#[test]
fn a_table_with_a_row_for_a_row() {
    let table = table("kirova-2019/table-2").unwrap();
    insta::assert_snapshot!("kirova_2019_table_2", published_table(table, 100, false));
}

#[test]
fn a_table_with_a_line_for_a_figure() {
    let table = table("adamczyk-2015/text").unwrap();
    insta::assert_snapshot!("adamczyk_2015_text", published_table(table, 80, false));
}

#[test]
fn every_figure_mark_and_caveat_is_printed_whatever_the_width() {
    for table in tables() {
        for width in [40, 57, 80, 100, 140] {
            let text = published_table(table, width, false);
            for line in text.lines() {
                // An address cannot be broken.
                let fits = line.chars().count() <= width || line.contains("https:");
                assert!(fits, "{width}: {line}");
            }
            // Lines break at hyphens, too.
            let words = |s: &str| s.split_whitespace().collect::<String>();
            let flat = words(&text);
            for caveat in &table.caveats {
                assert!(flat.contains(&words(caveat)), "{width}: {caveat}");
            }
            for figure in table.figures() {
                let printed = figure.value.printed().replace(" us", " µs");
                let number = printed.trim_start_matches(['<', '>', '=', ' ']);
                assert!(flat.contains(&words(number)), "{width}: {figure}");
                if let Quality::Marked(why) = figure.value.quality() {
                    assert!(flat.contains(&words(why)), "{width}: {figure}");
                }
            }
        }
    }
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let table = table("perneel-2015/table-1").unwrap();
    assert!(!published_table(table, 80, false).contains('\u{1b}'));
    assert!(published_table(table, 80, true).contains('\u{1b}'));
    assert!(published_list(80, true).contains('\u{1b}'));
}

#[test]
fn the_list_names_every_table() {
    for width in [40, 100] {
        let text = published_list(width, false);
        assert!(tables().iter().all(|t| text.contains(&t.id)), "{text}");
    }
    let list = published_list_json();
    assert_eq!(list["kind"], "tompion-published-list");
    assert_eq!(list["tables"].as_array().unwrap().len(), tables().len());
    assert_eq!(list["papers"].as_array().unwrap().len(), 5);
}

#[test]
fn json_has_every_figure_with_its_quality_and_its_counterparts() {
    let all: Vec<_> = tables().iter().collect();
    let json = published_json(&all);
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["papers"].as_array().unwrap().len(), 5);
    for (table, json) in tables().iter().zip(json["tables"].as_array().unwrap()) {
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), table.rows.len());
        for figure in table.figures() {
            let at = table.rows.iter().position(|r| r == figure.row).unwrap();
            let value = &rows[at]["values"][&figure.column.key];
            assert_eq!(value["printed"], figure.value.printed(), "{figure}");
            assert_eq!(value["value"].as_f64(), figure.value.number(), "{figure}");
            let marked = value["quality"] == "marked";
            assert_eq!(marked, !figure.value.is_sound(), "{figure}");
            assert_eq!(marked, value["why"].is_string(), "{figure}");
        }
        let of = |key: &str| json[key].as_array().unwrap().len();
        assert!(of("counterparts") + of("without_counterpart") >= table.figures().count());
    }
}
