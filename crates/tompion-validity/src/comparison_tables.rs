//! The tables of how often `compare` is right.

use std::fmt::Write;

use tompion_assess::compare::Figure;

use crate::comparisons::{How, Row, SHORT, false_differences, power, within_ten_percent};
use crate::table::Counted;
use crate::truth::{Shape, Truth};

const FIGURES: [Figure; 2] = [Figure::Median, Figure::P99];

/// A part of the tables and how many bounds were missed in it.
pub type Part = (String, u32);

/// False differences of one truth: separate runs and turns.
pub fn like_with_like(truth: Truth, shape: Shape, draws: (u64, u64)) -> Part {
    let (mut text, mut missed) = (String::new(), 0);
    let [apart, turns] =
        [How::TwoRuns, How::Turns].map(|how| false_differences(truth, shape, how, FIGURES, draws));
    for (figure, (apart, turns)) in FIGURES.into_iter().zip(apart.into_iter().zip(turns)) {
        missed += [&apart, &turns]
            .into_iter()
            .filter(|row| !row.is_kept())
            .count() as u32;
        let _ = writeln!(
            text,
            "{:22} {:7} {:>10} {:>10} {:>10}",
            truth.name(),
            figure.name(),
            apart.differs,
            apart.undecided,
            turns.differs
        );
    }
    (text, missed)
}

/// What stands above [`like_with_like`].
pub fn head() -> String {
    format!(
        "{:22} {:7} {:>10} {:>10} {:>10}\n",
        "like with like", "", "differs", "undecided", "by turns"
    )
}

/// Runs that scatter by 2 %, what is found of what there is, and "within 10 %".
pub fn runs_and_power(draws: (u64, u64)) -> Part {
    let (mut text, mut missed) = (String::new(), 0);
    let mut line = |name: &str, figure: &str, cells: &[&Counted]| {
        missed += cells.iter().filter(|c| !c.is_kept()).count() as u32;
        let cells: Vec<String> = cells.iter().map(|c| format!("{c:>10}")).collect();
        let _ = writeln!(text, "{name:34} {figure:7} {}", cells.join(" "));
    };
    let both = |row: &Row| (row.differs, row.undecided);
    for (name, how) in [
        ("one run a side, scatter of 2 %", How::ScatteringRuns),
        ("five runs a side, one after other", How::SeveralRuns),
        ("five runs a side, by turns", How::SeveralByTurns),
    ] {
        let rows = false_differences(Truth::Independent, SHORT, how, FIGURES, draws);
        for (figure, row) in FIGURES.into_iter().zip(&rows) {
            let (differs, undecided) = both(row);
            line(name, figure.name(), &[&differs, &undecided]);
        }
    }
    for (name, how) in [
        ("found: pairs by turns", How::Turns),
        ("found: separate runs", How::TwoRuns),
    ] {
        for (figure, times) in [(Figure::Median, 1.05), (Figure::P99, 1.15)] {
            let (differs, undecided) = both(&power(how, figure, times, draws));
            let name = format!("{name}, {:+.0} %", 100.0 * (times - 1.0));
            line(&name, figure.name(), &[&differs, &undecided]);
        }
    }
    for (name, how) in [
        ("within 10 %: pairs by turns", How::Turns),
        ("within 10 %: separate runs", How::TwoRuns),
    ] {
        for times in [1.1, 1.0] {
            let found = within_ten_percent(how, times, draws);
            let name = format!("{name}, {:+.0} %", 100.0 * (times - 1.0));
            line(&name, "median", &[&found]);
        }
    }
    (text, missed)
}
