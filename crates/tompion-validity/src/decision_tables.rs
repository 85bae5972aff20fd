//! Tables of limits that are watched while samples come in, as text.

use std::fmt::Write as _;

use crate::decisions::{Looking, Row, TIMES, share_right};
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

/// True quantiles over the limit that can be told from it.
const TELLABLE: [f64; 6] = [0.5, 0.8, 0.9, 1.1, 1.25, 2.0];
/// Samples are tried in these steps.
const FEWEST: f64 = 1_000.0;
const STEP: f64 = std::f64::consts::SQRT_2;
const MOST: f64 = 600_000.0;
/// Answered rightly in so many of the draws.
const NINE_OF_TEN: f64 = 0.9;

/// How many samples it takes until nine of ten such limits are answered rightly.
pub fn needed(draws: (u64, u64)) -> String {
    let mut text = String::new();
    for (name, q) in [("p99", 0.99), ("p99.9", 0.999)] {
        let times: String = TELLABLE.map(|t| format!("{t:>10}")).concat();
        let _ = writeln!(text, "\n## {name}\n\n{:14}{times}", "true/limit");
        for truth in WATCHED {
            let until = |times: f64| {
                let tried = std::iter::successors(Some(FEWEST), |n| Some(n * STEP));
                let mut tried = tried.take_while(|n| *n <= MOST).map(|n| n as usize);
                tried.find(|n| {
                    share_right(truth, *n, (q, times), draws).is_some_and(|s| s >= NINE_OF_TEN)
                })
            };
            let row: Vec<String> = std::thread::scope(|scope| {
                let threads = TELLABLE.map(|times| scope.spawn(move || until(times)));
                let found = threads.map(|t| t.join().expect("a number"));
                let told =
                    |n: Option<usize>| n.map_or_else(|| "more".to_owned(), |n| n.to_string());
                found.map(|n| format!("{:>10}", told(n))).to_vec()
            });
            let _ = writeln!(text, "{:14}{}", truth.name(), row.concat());
        }
    }
    text
}

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
