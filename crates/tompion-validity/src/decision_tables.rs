//! Tables of limits that are watched while samples come in, as text.

use std::fmt::Write as _;

use crate::decisions::{Looking, Row, TIMES};
use crate::truth::Truth;

/// Series that are watched.
const WATCHED: [Truth; 6] = [
    Truth::Independent,
    Truth::Heavy,
    Truth::Autoregression(0.9),
    Truth::Stalls(10),
    Truth::Stalls(50),
    Truth::Trend(0.03),
];

/// Quantiles that are watched, and samples that a check brings.
const CHECKS: [(&str, f64, usize); 4] = [
    ("p99", 0.99, 2_000),
    ("p99", 0.99, 16_000),
    ("p99.9", 0.999, 8_000),
    ("p99.9", 0.999, 64_000),
];

/// How often such limits are judged wrongly, and how many rows miss a bound; of so many draws, from a
/// first seed on.
pub fn tables(draws: (u64, u64), how: Looking) -> (String, u32) {
    let (mut text, mut missed) = (String::new(), 0);
    for (name, q, samples) in CHECKS {
        let times: String = TIMES.map(|t| format!("{t:>17}")).concat();
        let _ = writeln!(
            text,
            "\n## {name}, {samples} samples: kept / exceeded / open\n\n{:14} {:>5}{times}  stopped at",
            "true/limit", "due"
        );
        let rows: Vec<Row> = std::thread::scope(|scope| {
            let row = |truth: &Truth| {
                let truth = *truth;
                scope.spawn(move || Row::of(truth, samples, q, draws, how))
            };
            let threads: Vec<_> = WATCHED.iter().map(row).collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("a row"))
                .collect()
        });
        for row in rows {
            missed += u32::from(!row.is_kept());
            let answers = row.answers.map(|a| a.map(|c| c.to_string()).join("/"));
            let answers: String = answers.map(|a| format!("{a:>17}")).concat();
            let (name, due, stopped) = (row.truth.name(), row.due, row.stopped);
            let _ = writeln!(text, "{name:14} {due:>5.1}{answers}  {stopped:.2}");
        }
    }
    (text, missed)
}
