//! What a load did, in words.

use std::fmt::Write;
use std::time::Duration;

use tompion_model::{LoadEvidence, format_bytes};

use super::Rates;

/// All of it, one block a load.
pub fn of(evidence: &LoadEvidence) -> String {
    let mut out = String::new();
    for part in &evidence.parts {
        out += &of_one(part);
    }
    out += &of_one(evidence);
    let seconds = evidence.observed_ns as f64 / 1e9;
    out += "whole machine\n";
    for (name, rate) in [
        ("context switches", evidence.context_switches_per_second),
        ("interrupts", evidence.interrupts_per_second),
    ] {
        row(
            &mut out,
            name,
            &whole(rate * seconds),
            &per_second(rate),
            "",
        );
    }
    out
}

fn of_one(evidence: &LoadEvidence) -> String {
    let seconds = evidence.observed_ns as f64 / 1e9;
    let mut out = format!("{} ({}), {seconds:.1} s\n", evidence.load, evidence.driver);
    if let Some((count, rate)) = evidence.operations.zip(evidence.operations_per_second()) {
        let what = evidence.operation.as_deref().unwrap_or("");
        row(
            &mut out,
            "operations",
            &whole(count as f64),
            &per_second(rate),
            what,
        );
    }
    if let Some((count, rate)) = evidence.bytes.zip(evidence.bytes_per_second()) {
        let rate = format!("{}/s", format_bytes(rate));
        row(&mut out, "bytes", &format_bytes(count as f64), &rate, "");
    }
    let cpu_time = format!("{:.2} s", evidence.cpu_time_ns as f64 / 1e9);
    let cpus = format!("{:.2} CPUs", busy_cpus(evidence));
    row(&mut out, "CPU time", &cpu_time, &cpus, "");
    for note in &evidence.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    out
}

fn row(out: &mut String, name: &str, total: &str, rate: &str, what: &str) {
    let line = format!("  {name:<18}{total:>16}{rate:>18}   {what}");
    let _ = writeln!(out, "{}", line.trim_end());
}

/// CPUs kept busy on average.
pub fn busy_cpus(evidence: &LoadEvidence) -> f64 {
    evidence.cpu_time_ns as f64 / evidence.observed_ns.max(1) as f64
}

/// The line of progress.
pub fn progress(rates: &Rates, elapsed: Duration, time: Option<Duration>) -> String {
    let mut line = format!("{} s", elapsed.as_secs());
    if let Some(time) = time {
        let _ = write!(line, " of {:.0} s", time.as_secs_f64());
    }
    let _ = write!(line, ", {:.2} CPUs", rates.cpus);
    if let Some(rate) = rates.operations {
        let _ = write!(line, ", {} operations", per_second(rate));
    }
    if let Some(rate) = rates.bytes.filter(|rate| *rate > 0.0) {
        let _ = write!(line, ", {}/s", format_bytes(rate));
    }
    line
}

fn per_second(rate: f64) -> String {
    format!("{}/s", whole(rate))
}

/// A whole number with a narrow space between thousands; small ones with a digit
/// more.
fn whole(number: f64) -> String {
    if number != 0.0 && number < 10.0 {
        return format!("{number:.1}").trim_end_matches(".0").to_owned();
    }
    tompion_model::grouped(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let plain = |n: f64| whole(n).replace('\u{202f}', " ");
        assert_eq!(plain(1_234_567.4), "1 234 567");
        assert_eq!(plain(999.6), "1 000");
        assert_eq!(plain(2.5), "2.5");
        assert_eq!(plain(3.0), "3");
        assert_eq!(plain(0.0), "0");
    }

    #[test]
    fn each_part_and_the_whole_are_told() {
        let part = |load: &str, bytes| LoadEvidence {
            load: load.into(),
            driver: "built-in".into(),
            operations: Some(4000),
            operation: Some("thing done".into()),
            bytes,
            cpu_time_ns: 1_000_000_000,
            observed_ns: 2_000_000_000,
            context_switches_per_second: 50.0,
            interrupts_per_second: 25.0,
            ..LoadEvidence::default()
        };
        let both = LoadEvidence {
            parts: vec![part("cpu:threads=4", None), part("io", Some(8_000_000))],
            operations: None,
            cpu_time_ns: 2_000_000_000,
            notes: vec!["slow disk".into()],
            ..part("cpu:threads=4+io", Some(8_000_000))
        };
        let text = of(&both).replace('\u{202f}', " ");
        let expected = "\
cpu:threads=4 (built-in), 2.0 s
  operations                   4 000           2 000/s   thing done
  CPU time                    1.00 s         0.50 CPUs
io (built-in), 2.0 s
  operations                   4 000           2 000/s   thing done
  bytes                     8.000 MB        4.000 MB/s
  CPU time                    1.00 s         0.50 CPUs
cpu:threads=4+io (built-in), 2.0 s
  bytes                     8.000 MB        4.000 MB/s
  CPU time                    2.00 s         1.00 CPUs
  note: slow disk
whole machine
  context switches               100              50/s
  interrupts                      50              25/s
";
        assert_eq!(text, expected);
    }

    #[test]
    fn progress_is_one_line() {
        let rates = Rates {
            operations: Some(20.0),
            bytes: Some(1.5e6),
            cpus: 0.25,
        };
        let seconds = Duration::from_secs;
        assert_eq!(
            progress(&rates, seconds(3), Some(seconds(30))),
            "3 s of 30 s, 0.25 CPUs, 20/s operations, 1.500 MB/s"
        );
    }
}
