//! The whole program, quickly: every part runs and its output hangs together.
//! Nothing is asserted on how fast the machine is.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tompion-time-bench"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

#[test]
fn a_quick_run_measures_everything_in_every_block() {
    let output = bench(&["--quick", "--json", "--blocks", "2", "--seed", "7"]);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    // In a pipe nothing tells of progress.
    assert_eq!(complaints, "");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["head"]["seed"], 7);

    let sections = report["read"]["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 3);
    for section in sections {
        for source in section["sources"].as_array().unwrap() {
            let blocks = source["block_ns"].as_array().unwrap();
            assert_eq!(blocks.len(), 2, "{source}");
            assert!(
                blocks.iter().all(|ns| ns.as_f64().unwrap() > 0.0),
                "{source}"
            );
        }
    }

    let cells = report["sleep"]["cells"].as_array().unwrap();
    // Loads, targets, methods.
    assert_eq!(cells.len(), 3 * 3 * 8);
    for cell in cells {
        assert_eq!(cell["blocks"].as_array().unwrap().len(), 2, "{cell}");
        assert!(cell["all"]["sleeps"].as_u64().unwrap() >= 2 * 5, "{cell}");
        // No method here may return early, whatever the machine does.
        assert_eq!(cell["all"]["early_share"], 0.0, "{cell}");
        assert!(cell["all"]["median_us"].as_f64().unwrap() >= 0.0, "{cell}");
    }
    let used = report["sleep"]["cpus_used"].as_array().unwrap();
    assert_eq!(used[0]["hogs"], 0.0);
    assert!(used[1]["hogs"].as_f64().unwrap() > 0.0, "{used:?}");
    assert!(used[2]["hogs"].as_f64().unwrap() > 0.0, "{used:?}");
}

#[test]
fn the_tables_have_an_a_a_row_each() {
    let output = bench(&["--quick", "--blocks", "2", "--only", "read"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("\nRead cost: ").count(), 3, "{text}");
    assert_eq!(
        text.matches("\nA/A: ours / ours again").count(),
        3,
        "{text}"
    );
    assert!(!text.contains("Sleep "), "{text}");
    assert!(text.contains("a quick run"), "{text}");
}

#[test]
fn bad_options_get_one_answer_and_status_1() {
    let output = bench(&["--blocks", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(complaints.contains("1 is not in 2..=1000"), "{complaints}");
}
