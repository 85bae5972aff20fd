//! How often change points are found where there are some, and where there are none.

use std::fmt::Write;

use tompion_stats::{ChangePoint, Figures, change_points};

use crate::noise::Noise;
use crate::table::{Bound, Counted, Part, in_threads, joined, missed};
use crate::wander::{STEADY, Series, line, stepped, walk};

const LEVEL: f64 = 0.05;

/// And series that no test with the power to find the step can tell from it.
const HIDDEN: [(&str, Series); 6] = [
    ("walk of 0.1 below noise", |noise, n| walk(noise, n, 0.1)),
    ("walk of 0.2 below noise", |noise, n| walk(noise, n, 0.2)),
    ("walk of 0.3 below noise", |noise, n| walk(noise, n, 0.3)),
    ("walk of 0.5 below noise", |noise, n| walk(noise, n, 0.5)),
    ("line of 1", |noise, n| line(noise, n, 1.0)),
    ("line of 2", |noise, n| line(noise, n, 2.0)),
];

/// A line of the table.
#[derive(Clone, Copy)]
enum Row {
    /// A step of that size in the middle of so many figures that scatter by a tenth.
    Step(f64, usize),
    /// A series without a jump: name, figures, whether theory forbids the bound.
    None(&'static str, Series, usize, bool),
}

impl Row {
    fn name(&self) -> String {
        match self {
            Self::Step(by, n) => format!("step of {:.0} % in the middle of {n}", 100.0 * by),
            Self::None(name, _, n, _) => format!("{name}, {n}"),
        }
    }

    /// Changes that count, in the draw of that seed.
    fn found(&self, seed: u64) -> Vec<ChangePoint> {
        let mut noise = Noise::new(seed);
        let look = |figures: &[f64], kind| {
            change_points(figures, kind, LEVEL).expect("figures above 0, and enough of them")
        };
        match *self {
            Self::Step(by, n) => {
                let mut found = look(&stepped(&mut noise, n, by), Figures::Positive);
                found.retain(|f| f.index.abs_diff(n / 2) <= 2);
                found
            }
            Self::None(_, series, n, _) => {
                let figures = series(&mut noise, n);
                let figures: Vec<f64> = figures.iter().map(|v| 100.0 + 10.0 * v).collect();
                look(&figures, Figures::Signed)
            }
        }
    }

    /// Found at all, and told without the caveat that a slow wander may look like it.
    fn counted(&self, (draws, seeds): (u64, u64)) -> [Counted; 2] {
        let (mut all, mut plain) = (0, 0);
        for draw in 0..draws {
            let found = self.found(seeds + draw);
            all += u64::from(!found.is_empty());
            plain += u64::from(found.iter().any(|f| f.p_wander <= LEVEL));
        }
        let [of_all, of_plain] = match *self {
            Self::Step(_, n) => [(n >= 60).then_some(Bound::AtLeast(0.85)), None],
            Self::None(.., hidden) => {
                let seldom = Some(Bound::AtMost(LEVEL));
                [seldom.filter(|_| !hidden), seldom]
            }
        };
        [(all, of_all), (plain, of_plain)].map(|(times, bound)| Counted {
            times,
            of: draws,
            bound,
        })
    }
}

/// The table. `draws` are how many, from which seeds on.
pub fn table(draws: &[(u64, u64)]) -> Part {
    let mut rows = vec![
        Row::Step(0.2, 60),
        Row::Step(0.3, 60),
        Row::Step(0.2, 30),
        Row::Step(0.2, 120),
    ];
    for n in [24, 60, 120] {
        let steady = STEADY
            .into_iter()
            .map(|(name, series)| (name, series, false));
        let hidden = HIDDEN
            .into_iter()
            .map(|(name, series)| (name, series, true));
        rows.extend(
            steady
                .chain(hidden)
                .map(|(name, of, hidden)| Row::None(name, of, n, hidden)),
        );
    }
    let counted = in_threads(&rows, |row| -> Vec<[Counted; 2]> {
        draws.iter().map(|draws| row.counted(*draws)).collect()
    });
    let mut text = format!("{:34} {:>13} {:>13}\n", "figures", "found", "no caveat");
    let mut count = 0;
    for (row, sets) in rows.iter().zip(counted) {
        count += missed(sets.iter().flatten());
        let cell = |at: usize| joined(sets.iter().map(|set| set[at]));
        let _ = writeln!(text, "{:34} {:>13} {:>13}", row.name(), cell(0), cell(1));
    }
    (text, count)
}
