//! The other forms of a report, and what redacting leaves.

use crate::common::{
    Trial, assessment, data, draft, header, key, report_of, run, run_with, stalls_key,
    stalls_trial, unjudged,
};
use roxmltree::Document;
use tompion_cause::Cause;
use tompion_model::{Factors, Status, factor};
use tompion_report::Vocabulary;
use tompion_report::{
    FORMS, Make, Plots, ReportData, csv, html, json, markdown, redacted, terminal,
};
use tompion_store::Run;

/// The plots of a report in a form that makes files of them.
fn vocabulary() -> Vocabulary {
    Vocabulary {
        probes: "wake-up stalls".split(' ').collect(),
        load_options: vec!["peer"],
        loads: "idle cpu network".split(' ').collect(),
        ..Vocabulary::default()
    }
}

fn plots<'a>(data: &'a ReportData, form: &str) -> Plots<'a> {
    let form = FORMS.iter().find(|f| f.name == form).unwrap();
    let Make::Plots(_, make) = form.make else {
        panic!("{} makes no files", form.name)
    };
    make(data)
}

fn trials() -> Vec<Trial> {
    let usleep = |load: &str| key("wake-up", "usleep", load).with(factor::TARGET, "100us");
    let values = || data((1..200).map(|v| v * 1_000_000));
    let mut all = Vec::new();
    for load in [
        "idle",
        "network:peer=10.1.2.3:9000",
        "network:peer=db.example.org:9000",
    ] {
        let mut d = draft(usleep(load), 0);
        if let Some(evidence) = &mut d.load {
            evidence.load = load.to_owned();
            evidence.notes = vec!["files in /home/mira/bench on planted-host".to_owned()];
        }
        all.push((d, values()));
    }
    let by = [(
        1_000_000,
        vec![(Cause::Preempted, Some("hog[7]"), 3_000_000)],
    )];
    all.push(stalls_trial(stalls_key("0", "idle"), 0, 50_000_000, &by));
    all
}

fn report(edit: bool) -> ReportData {
    let mut header = header(1, 4);
    header.command_line = ["tompion", "check", "--out", "/home/mira/run"]
        .map(str::to_owned)
        .to_vec();
    header
        .guards
        .push("started by mira from 192.168.7.9".to_owned());
    let (_keep, run) = run_with(header, &trials());
    let run: Run = if edit {
        redacted(run, vocabulary(), &mut [])
    } else {
        run
    };
    ReportData::gather(&run, |_| assessment()).unwrap()
}

fn forms(data: &ReportData) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("html", html(data)),
        ("md", markdown(data)),
        ("csv", csv(data)),
        ("json", json(data).to_string()),
        ("terminal", terminal(data, 100, false)),
    ];
    for plot in plots(data, "svg") {
        let plot = plot.unwrap();
        all.push((
            "svg",
            format!("{} {}", plot.name, String::from_utf8(plot.content).unwrap()),
        ));
    }
    all
}

#[test]
fn redacting_leaves_nobody_named_in_any_form() {
    const SECRETS: [&str; 6] = [
        "planted-host",
        "mira",
        "10.1.2.3",
        "db.example.org",
        "192.168.7.9",
        "/home",
    ];
    let plain: String = forms(&report(false)).into_iter().map(|f| f.1).collect();
    for secret in SECRETS {
        assert!(plain.contains(secret), "{secret} must have been there");
    }
    for (form, text) in forms(&report(true)) {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} in {form}");
        }
    }
    // Two peers stay two loads, and the figures are the same.
    let cells = |edit| csv(&report(edit)).lines().count();
    assert_eq!(cells(true), cells(false));
    let page = html(&report(true));
    assert!(page.contains("peer=(value 1)") && page.contains("peer=(value 2)"));
    assert!(
        page.contains("(process 1)[7]"),
        "causes are what the report is about"
    );
}

#[test]
fn csv_has_a_row_for_each_cell_with_all_factors() {
    let text = csv(&report(false));
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(heads[..5], ["cpu", "load", "method", "probe", "target"]);
    let column = |name: &str| heads.iter().position(|h| *h == name).unwrap();
    let idle: Vec<&str> = text
        .lines()
        .find(|l| l.contains(",idle,usleep,"))
        .unwrap()
        .split(',')
        .collect();
    assert_eq!(idle.len(), heads.len());
    // 1 us to 199 us in steps of 1 us.
    assert_eq!(
        (
            idle[column("samples")],
            idle[column("median_ns")],
            idle[column("max_ns")]
        ),
        ("199", "100000", "199000")
    );
    // No sample lies beyond the p99.9.
    assert_eq!(idle[column("p99_9_ns")], "");
    assert_eq!(lines.count(), 4);
}

#[test]
fn markdown_has_whole_tables() {
    let text = markdown(&report(false));
    assert!(text.starts_with("# Can you trust time here? "), "{text}");
    for heading in [
        "## Is time good enough here?",
        "## Is the clock right?",
        "## Wake-up latency, target 100 µs",
        "## Did the loads run?",
        "## Limitations",
    ] {
        assert!(text.contains(heading), "{heading}");
    }
    let mut columns = None;
    for line in text.lines() {
        // Within a table every line has as many cells.
        let now = line
            .starts_with('|')
            .then(|| line.replace("\\|", "").matches('|').count());
        if let (Some(before), Some(now)) = (columns, now) {
            assert_eq!(before, now, "{line}");
        }
        columns = now;
    }
}

/// A run of stalls and timer events has no verdict: like the page, the Markdown form opens
/// with what was found, says that there is no verdict, and has the tables of the page.
#[test]
fn markdown_opens_like_the_page() {
    let reads = key("read-cost", "rdtsc", "idle");
    let report = report_of(&[(draft(reads, 0), data(vec![12_000; 100]))]);
    let text = markdown(&report);
    assert!(
        text.starts_with(
            "# At rest a read takes 12.0 ns with rdtsc (median).\n\nNothing to judge.\n\n"
        ),
        "{}",
        &text[..200]
    );
    assert!(html(&report).contains("<h1>At rest a read takes 12.0 ns with rdtsc (median).</h1>"));
    // An end before its time stands above everything else, as on the page.
    let reads = key("read-cost", "rdtsc", "idle");
    let (_keep, run) = run(vec![(reads, data(vec![12_000; 100]))], Status::Interrupted);
    let text = markdown(&unjudged(&run));
    let warned = text.find("**Interrupted**: ").expect("a warning");
    assert!(warned < text.find("## ").unwrap());
}

#[test]
fn hostile_names_stay_text_in_every_form() {
    let f: Factors = key("wake-up", "<b>|x\n", "=1+1").with(factor::TARGET, "100us");
    let (_keep, run) = run_with(header(1, 1), &[(draft(f, 0), data(1_000..1_100))]);
    let data = ReportData::gather(&run, |_| assessment()).unwrap();
    let text = markdown(&data);
    assert!(text.contains("&lt;b&gt;\\|x ") && !text.contains("<b>"));
    for plot in plots(&data, "svg") {
        let plot = plot.unwrap();
        assert!(!plot.name.contains(['<', '/', '|', '\n']), "{}", plot.name);
        Document::parse(std::str::from_utf8(&plot.content).unwrap()).unwrap();
    }
}

#[test]
fn each_plot_is_a_file_that_stands_by_itself() {
    let data = report(false);
    let files: Vec<_> = plots(&data, "svg").map(Result::unwrap).collect();
    let page = html(&data);
    assert_eq!(files.len(), page.matches(r#"<svg class="plot "#).count());
    for file in &files {
        let text = std::str::from_utf8(&file.content).unwrap();
        let document = Document::parse(text).unwrap();
        assert!(!text.contains("var(--"), "{}", file.name);
        let marks = document
            .descendants()
            .filter(|n| n.has_tag_name("path"))
            .count();
        assert!(marks >= 2, "{}: {marks} paths", file.name);
    }
    let mut names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
    names.dedup();
    assert_eq!(names.len(), files.len());
    // One picture is enough: drawing takes long in a debug build.
    let png = plots(&data, "png").next().unwrap().unwrap();
    assert_eq!(png.content[..8], *b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png.content[at..at + 4].try_into().unwrap());
    assert!(number(16) > 800 && number(20) > 400);
    assert!(
        png.content.len() > 10_000,
        "{} bytes: an empty picture",
        png.content.len()
    );
}
