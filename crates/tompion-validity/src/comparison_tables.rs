//! The tables of how often `compare` is right.

use std::fmt::Write;

use tompion_assess::compare::Figure;

use crate::comparisons::{ENOUGH, How, SHORT, false_differences, power, within_ten_percent};
use crate::table::{Counted, Part, in_threads, joined, missed};
use crate::theory::{error_of_logarithm, power_beside_trend};
use crate::truth::{SIGMA, Shape, Truth};

const FIGURES: [Figure; 2] = [Figure::Median, Figure::P99];

/// False differences: separate runs and turns. `draws` are how many, from which seeds on.
pub fn like_with_like(truths: &[Truth], shape: Shape, draws: &[(u64, u64)]) -> Part {
    let mut text = format!(
        "{:22} {:7} {:>14} {:>16} {:>12}\n",
        "like with like", "", "differs", "undecided", "by turns"
    );
    let mut count = 0;
    let rows = in_threads(truths, |truth| {
        let hows = [How::TwoRuns, How::Turns];
        let rows = |draws: &(u64, u64)| false_differences(*truth, shape, hows, FIGURES, *draws);
        draws.iter().map(rows).collect::<Vec<_>>()
    });
    for (truth, sets) in truths.iter().zip(rows) {
        for (at, figure) in FIGURES.into_iter().enumerate() {
            let of = |how: usize| sets.iter().map(move |set| &set[how][at]);
            let differs: Vec<Counted> = of(0).map(|row| row.differs).collect();
            let undecided: Vec<Counted> = of(0).map(|row| row.undecided).collect();
            let turns: Vec<Counted> = of(1).map(|row| row.differs).collect();
            count += missed(differs.iter().chain(&undecided).chain(&turns));
            let _ = writeln!(
                text,
                "{:22} {:7} {:>14} {:>16} {:>12}",
                truth.name(),
                figure.name(),
                joined(&differs),
                joined(&undecided),
                joined(&turns)
            );
        }
    }
    (text, count)
}

/// A line of [`runs_and_power`]: what it is about, what theory allows at most, what is counted.
type Line = (
    String,
    Figure,
    Option<f64>,
    Box<dyn Fn((u64, u64)) -> Vec<Counted> + Send + Sync>,
);

/// Runs that scatter by 2 %, what is found of what there is, and "within 10 %".
pub fn runs_and_power(draws: &[(u64, u64)]) -> Part {
    let mut lines: Vec<Line> = Vec::new();
    for (name, how) in [
        ("one run a side, scatter of 2 %", How::ScatteringRuns),
        ("five runs a side, one after other", How::SeveralRuns),
        ("five runs a side, by turns", How::SeveralByTurns),
    ] {
        for figure in FIGURES {
            let counted = move |draws| {
                let [[row]] = false_differences(Truth::Independent, SHORT, [how], [figure], draws);
                vec![row.differs, row.undecided]
            };
            lines.push((name.to_owned(), figure, None, Box::new(counted)));
        }
    }
    let enough = Shape {
        blocks: ENOUGH,
        ..SHORT
    };
    for (name, how, shape) in [
        ("found: pairs by turns", How::Turns, SHORT),
        ("found: separate runs", How::TwoRuns, SHORT),
        ("found: separate runs of 20", How::TwoRuns, enough),
    ] {
        for (figure, q, times) in [(Figure::Median, 0.5, 1.05), (Figure::P99, 0.99, 1.15f64)] {
            let at_most = (how == How::TwoRuns).then(|| {
                let error = error_of_logarithm(q, shape.samples, SIGMA);
                power_beside_trend(shape.blocks, error, times.ln(), 0.05)
            });
            let counted = move |draws| {
                let row = power(how, shape, figure, times, draws);
                vec![row.differs, row.undecided]
            };
            let name = format!("{name}, {:+.0} %", 100.0 * (times - 1.0));
            lines.push((name, figure, at_most, Box::new(counted)));
        }
    }
    for (name, how) in [
        ("within 10 %: pairs by turns", How::Turns),
        ("within 10 %: separate runs", How::TwoRuns),
    ] {
        for times in [1.1, 1.0] {
            let name = format!("{name}, {:+.0} %", 100.0 * (times - 1.0));
            let counted = move |draws| vec![within_ten_percent(how, times, draws)];
            lines.push((name, Figure::Median, None, Box::new(counted)));
        }
    }
    let found = in_threads(&lines, |(.., counted)| {
        draws
            .iter()
            .map(|draws| counted(*draws))
            .collect::<Vec<_>>()
    });
    let mut text = format!(
        "{:34} {:7} {:>14} {:>14} {:>8}\n",
        "", "", "said", "undecided", "at most"
    );
    let mut count = 0;
    for ((name, figure, at_most, _), sets) in lines.iter().zip(found) {
        count += missed(sets.iter().flatten());
        let cell = |at: usize| joined(sets.iter().filter_map(|set| set.get(at)));
        let at_most = at_most.map_or(String::new(), |share| format!("{:.1}", 100.0 * share));
        let line = format!(
            "{name:34} {:7} {:>14} {:>14} {at_most:>8}",
            figure.name(),
            cell(0),
            cell(1)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    (text, count)
}
