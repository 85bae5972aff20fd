//! The paper's analysis of variance on ranks, sections 3.1.4 and 3.2.4, done again.
//!
//! Three factors, one value a cell. Aligned ranks and Scheirer-Ray-Hare test main effects and
//! interactions of two, the interaction of three serving as error; Kruskal-Wallis, which
//! the paper names, takes one factor and knows no interaction. A statement about
//! significance is decided where the methods agree at 0.05, and open where the verdict
//! would depend on the choice of method.

use tompion_papers::claims::{Effect, Outcome};
use tompion_stats::{
    FactorTable, Factorial, PooledRanks, aligned_rank_transform, kruskal_wallis, scheirer_ray_hare,
};

use crate::book::{Book, tested};
use crate::grid::{Grid, LOADS, PLATFORMS, STATISTICS};

/// The paper's level of significance.
pub const LEVEL: f64 = 0.05;

/// Statistics for which the paper calls an effect significant.
const ALL: &[&str] = &STATISTICS;

pub fn decide_reads(book: &mut Book) {
    let a = Analysis::of(Grid::reads());
    a.decide(book, "reads-function-significant", &["function"], ALL);
    a.decide(book, "reads-load-only-mad", &["load"], &["mad"]);
    a.decide(
        book,
        "reads-function-by-platform",
        &["function", "platform"],
        &["median", "max", "min"],
    );
    a.decide(
        book,
        "reads-platform-by-load",
        &["platform", "load"],
        &["mad"],
    );
}

pub fn decide_sleeps(book: &mut Book) {
    let a = Analysis::of(Grid::sleeps());
    a.decide(book, "sleeps-function-significant", &["function"], ALL);
    a.decide(book, "sleeps-load-only-max", &["load"], &["max"]);
    a.decide(
        book,
        "sleeps-function-by-platform",
        &["function", "platform"],
        &["median", "mad", "min"],
    );
    a.decide(
        book,
        "sleeps-platform-by-load",
        &["platform", "load"],
        &["max"],
    );
    a.decide(book, "sleeps-function-by-load", &["function", "load"], ALL);
}

/// Both factorial analyses of each statistic of one table.
struct Analysis {
    grid: Grid,
    by_statistic: Vec<(&'static str, Factorial, Factorial)>,
}

impl Analysis {
    fn of(grid: Grid) -> Self {
        let analyse = |column: &'static str| {
            let rows = grid.rows();
            let cells = rows
                .iter()
                .map(|[f, p, l]| (vec![*f, *p, *l], grid.at(column, f, p, l)));
            let table = FactorTable::new(&["function", "platform", "load"], cells)
                .expect("30 cells of one value");
            (
                column,
                aligned_rank_transform(&table),
                scheirer_ray_hare(&table),
            )
        };
        Self {
            grid,
            by_statistic: STATISTICS.map(analyse).into(),
        }
    }

    /// What each method says of an effect on one statistic.
    fn tests(&self, of: &(&'static str, Factorial, Factorial), effect: &[&str]) -> Vec<Effect> {
        let (column, aligned, scheirer) = of;
        let mut found = Vec::new();
        for (analysis, name, method) in [
            (aligned, "F", "aligned rank transform"),
            (scheirer, "H", "Scheirer-Ray-Hare"),
        ] {
            let e = analysis.effect(effect).expect("an effect of this design");
            let what = format!("{column}, {}: {name}", e.name());
            found.push(tested(what, e.statistic, e.p, method));
        }
        if let [factor] = effect {
            let (h, p) = self.kruskal_wallis(column, factor);
            let what = format!("{column}, {factor}: H");
            found.push(tested(what, h, p, "Kruskal-Wallis"));
        }
        found
    }

    fn kruskal_wallis(&self, column: &str, factor: &str) -> (f64, f64) {
        let (place, levels): (usize, Vec<&str>) = match factor {
            "function" => (0, self.grid.functions.into()),
            "platform" => (1, PLATFORMS.into()),
            _ => (2, LOADS.into()),
        };
        let groups: Vec<_> = levels
            .iter()
            .map(|level| self.grid.values(column, |row| row[place] == *level))
            .collect();
        let found = kruskal_wallis(&PooledRanks::of(&groups).expect("groups with values"));
        (found.h, found.p)
    }

    /// The paper says that `effect` is significant for the `significant` statistics and
    /// not for the rest.
    fn decide(&self, book: &mut Book, name: &str, effect: &[&str], significant: &[&str]) {
        let (mut against, mut open, mut effects) = (Vec::new(), Vec::new(), Vec::new());
        for of in &self.by_statistic {
            let tests = self.tests(of, effect);
            let p = |t: &Effect| t.p.unwrap_or(1.0);
            let said = significant.contains(&of.0);
            let agreeing = tests.iter().filter(|t| (p(t) < LEVEL) == said).count();
            let list: Vec<String> = tests.iter().map(|t| super::factors::p_text(p(t))).collect();
            let told = format!("{} (p {})", of.0, list.join(", "));
            if agreeing == 0 {
                against.push(told);
            } else if agreeing < tests.len() {
                open.push(told);
            }
            effects.extend(tests);
        }
        let methods = if effect.len() == 1 {
            "aligned ranks, Scheirer-Ray-Hare and Kruskal-Wallis"
        } else {
            "aligned ranks and Scheirer-Ray-Hare"
        };
        let (outcome, mut because) = if !against.is_empty() {
            (
                Outcome::Contradicted,
                format!("By {methods} it is otherwise for {}.", against.join("; ")),
            )
        } else if !open.is_empty() {
            (
                Outcome::NotDecidable,
                format!(
                    "By {methods} the verdict depends on the method for {}.",
                    open.join("; ")
                ),
            )
        } else {
            (
                Outcome::Supported,
                format!("By {methods} it is so for all four statistics."),
            )
        };
        if outcome == Outcome::Contradicted && !open.is_empty() {
            because.push_str(&format!(
                " It depends on the method for {}.",
                open.join("; ")
            ));
        }
        because.push_str(" One value a cell: the interaction of all three factors cannot be tested and serves as error.");
        book.add(name, outcome, because, effects);
    }
}

/// A p for a sentence.
pub fn p_text(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}
