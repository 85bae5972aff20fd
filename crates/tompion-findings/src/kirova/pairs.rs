//! The paper's comparisons of pairs, sections 3.1.4 and 3.2.4, done again.

use tompion_papers::claims::Effect;
use tompion_stats::{
    Adjustment, Distribution, NullMethod, PairComparison, PooledRanks, Tail, dunn, mann_whitney,
};

use super::factors::{LEVEL, p_text};
use crate::book::{Book, effect, least, most, sig, tested};
use crate::grid::{FOUR, Grid, LOADS, PLATFORMS, STATISTICS};

const DUNN: &str = "Dunn's test, Holm";

pub fn decide_reads(book: &mut Book) {
    let t = Grid::reads();
    platforms(book, "reads-platform-only-virtualbox", t);
    loads(book, t);
    host_and_esxi(book, t);
    within_platform(book, t);
    within_load(book, t);
    cells(book, t);
    virtualbox_everywhere(book, "reads-virtualbox-worse-everywhere", t);
}

pub fn decide_sleeps(book: &mut Book) {
    let t = Grid::sleeps();
    platforms(book, "sleeps-platform-only-virtualbox", t);
    function_by_load(book, t);
    virtualbox_everywhere(book, "sleeps-virtualbox-worse-everywhere", t);
}

/// Dunn's test between groups of values.
fn compare(groups: &[Distribution]) -> Vec<PairComparison> {
    dunn(
        &PooledRanks::of(groups).expect("groups with values"),
        Adjustment::Holm,
    )
}

fn by_platform(t: Grid, column: &str) -> Vec<PairComparison> {
    compare(&PLATFORMS.map(|p| t.values(column, |row| row[1] == p)))
}

/// The pair of these two groups.
fn of(pairs: &[PairComparison], a: usize, b: usize) -> &PairComparison {
    let (first, second) = (a.min(b), a.max(b));
    let found = pairs
        .iter()
        .find(|c| (c.first, c.second) == (first, second));
    found.expect("every pair is compared")
}

/// VirtualBox differs from each other platform, and no other pair differs.
fn platforms(book: &mut Book, name: &str, t: Grid) {
    let last = PLATFORMS.len() - 1;
    let (mut with, mut among, mut told, mut effects) = (0, 0, Vec::new(), Vec::new());
    for column in STATISTICS {
        let pairs = by_platform(t, column);
        let differs = |c: &&PairComparison| c.p_adjusted < LEVEL;
        let (of_last, others): (Vec<_>, Vec<_>) = pairs.iter().partition(|c| c.second == last);
        let found = of_last.iter().copied().filter(differs).count();
        with += found;
        among += others.iter().copied().filter(differs).count();
        told.push(format!("{column} {found}"));
        effects.extend(of_last.iter().map(|pair| {
            let what = format!("{column}, {} and virtualbox: z", PLATFORMS[pair.first]);
            tested(what, pair.statistic, pair.p_adjusted, DUNN)
        }));
    }
    let because = format!(
        "{with} of 16 pairs with VirtualBox differ (of 4 each: {}), {among} of 24 others do.",
        told.join(", ")
    );
    book.holds(name, with == 16 && among == 0, because, effects);
}

fn loads(book: &mut Book, t: Grid) {
    let pairs = compare(&LOADS.map(|l| t.values("mad", |row| row[2] == l)));
    let pair = of(&pairs, 0, 1);
    book.holds(
        "reads-mad-idle-to-cpu",
        pair.p_adjusted >= LEVEL,
        format!("p {}; ten values a load.", p_text(pair.p_adjusted)),
        vec![tested(
            "MAD, idle against CPU: z",
            pair.statistic,
            pair.p_adjusted,
            DUNN,
        )],
    );
}

fn host_and_esxi(book: &mut Book, t: Grid) {
    let mut effects = Vec::new();
    for column in STATISTICS {
        let pairs = by_platform(t, column);
        let pair = of(&pairs, 0, 2);
        effects.push(tested(
            format!("{column}, host and ESXi: z"),
            pair.statistic,
            pair.p_adjusted,
            DUNN,
        ));
    }
    let smallest = least(effects.iter().filter_map(|e| e.p));
    book.holds(
        "reads-host-like-esxi",
        smallest >= LEVEL,
        format!("The smallest of the four p is {}.", p_text(smallest)),
        effects,
    );
}

/// The exact two-sided test of two small groups.
fn exact(what: String, a: &Distribution, b: &Distribution) -> Effect {
    let found = mann_whitney(a, b, Tail::TwoSided, NullMethod::Auto).expect("groups with values");
    let method = if found.exact {
        "Mann-Whitney, exact"
    } else {
        "Mann-Whitney, normal because of ties"
    };
    tested(what, found.u, found.p, method)
}

fn within_platform(book: &mut Book, t: Grid) {
    let mut effects = Vec::new();
    for platform in ["xen", "qemu"] {
        for column in ["median", "max"] {
            let [a, b] = t
                .functions
                .map(|f| t.values(column, |row| row[0] == f && row[1] == platform));
            effects.push(exact(format!("{platform}, {column}: U"), &a, &b));
        }
    }
    book.open(
        "reads-function-within-xen-qemu",
        "Three values against three: of the 20 ways to part six values the most extreme two make a p of 0.1, above 0.05 whatever the values.".to_owned(),
        effects,
    );
}

fn within_load(book: &mut Book, t: Grid) {
    let mut effects = Vec::new();
    for load in LOADS {
        for column in ["median", "max"] {
            let [a, b] = t
                .functions
                .map(|f| t.values(column, |row| row[0] == f && row[2] == load));
            effects.push(exact(format!("{load}, {column}: U"), &a, &b));
        }
    }
    let p = || effects.iter().filter_map(|e| e.p);
    let below = p().filter(|p| *p < LEVEL).count();
    book.holds(
        "reads-function-within-load",
        below == 6,
        format!(
            "{below} of 6 tests are below 0.05; p runs from {} to {}.",
            p_text(least(p())),
            p_text(most(p()))
        ),
        effects,
    );
}

/// Cells of platform and load: two values each, one a function.
fn cells(book: &mut Book, t: Grid) {
    let all: Vec<(&str, &str)> = Grid::cells().collect();
    let smallest_possible = {
        // The two lowest ranks of 30 against the two highest, all 105 pairs.
        let (n, difference) = (30.0, 28.0);
        let z: f64 = difference / (n * (n + 1.0) / 12.0_f64).sqrt();
        let pairs = compare(
            &(0..15)
                .map(|i| Distribution::from_values([2 * i, 2 * i + 1]))
                .collect::<Vec<_>>(),
        );
        let widest = most(pairs.iter().map(|c| c.statistic.abs()));
        assert!((widest - z).abs() < 1e-9, "the widest pair of 15 cells");
        least(pairs.iter().map(|c| c.p_adjusted))
    };
    let z_of = |column: &str, from: (&str, &str), to: (&str, &str)| {
        let groups: Vec<_> = all
            .iter()
            .map(|c| t.values(column, |row| (row[1], row[2]) == *c))
            .collect();
        let pairs = compare(&groups);
        let place = |c| all.iter().position(|x| *x == c).expect("a cell");
        let pair = of(&pairs, place(from), place(to));
        let what = format!("{column}, {} to {}, {}: z", from.0, to.0, from.1);
        tested(what, pair.statistic, pair.p_adjusted, DUNN)
    };
    let because = format!(
        "Two values a cell and 105 pairs of cells: the smallest p that any values can reach is {}.",
        sig(smallest_possible)
    );
    let first = |effects: Vec<Effect>| {
        let least = effect("smallest p within reach", smallest_possible, "1");
        std::iter::once(least).chain(effects).collect::<Vec<_>>()
    };
    let idle = ["host", "esxi"].map(|p| z_of("median", ("xen", "idle"), (p, "idle")));
    book.open("reads-idle-xen-pairs", because.clone(), first(idle.into()));
    let mut loaded = Vec::new();
    for load in ["cpu", "io-network"] {
        for p in ["host", "esxi"] {
            loaded.extend(["median", "min", "max"].map(|c| z_of(c, ("xen", load), (p, load))));
        }
    }
    book.open("reads-loaded-xen-pairs", because, first(loaded));
}

/// All four statistics of VirtualBox above those of every other platform, cell by cell.
fn virtualbox_everywhere(book: &mut Book, name: &str, t: Grid) {
    let mut effects = Vec::new();
    let mut told = Vec::new();
    let mut exceptions = Vec::new();
    for column in STATISTICS {
        let worst = |f: &str, l: &str| {
            let there = t.at(column, f, "virtualbox", l);
            FOUR.iter().all(|p| t.at(column, f, p, l) < there)
        };
        let of_function = |f: &'static str| LOADS.iter().filter(move |l| worst(f, l)).count();
        let n: usize = t.functions.into_iter().map(of_function).sum();
        told.push(format!("{column} in {n}"));
        // Where it is seldom otherwise, by whom.
        if (4..6).contains(&n) {
            exceptions.extend(above_virtualbox(t, column));
        }
        effects.push(effect(
            format!("cells of 6 in which its {column} is the largest"),
            n as f64,
            "1",
        ));
    }
    let exceptions = match exceptions.is_empty() {
        true => String::new(),
        false => format!(" Above it: {}.", exceptions.join("; ")),
    };
    let all = effects.iter().all(|e| e.value == 6.0);
    book.holds(
        name,
        all,
        format!(
            "Largest of five, of 6 combinations of function and load: {}.{exceptions}",
            told.join(", ")
        ),
        effects,
    );
}

/// Which platforms are not below VirtualBox, cell by cell.
fn above_virtualbox(t: Grid, column: &str) -> Vec<String> {
    let cells = t.functions.into_iter().flat_map(|f| LOADS.map(|l| (f, l)));
    let told = cells.filter_map(|(f, l)| {
        let there = t.at(column, f, "virtualbox", l);
        let above = FOUR.iter().filter(|p| t.at(column, f, p, l) >= there);
        let above: Vec<String> = above
            .map(|p| format!("{p} {}", sig(t.at(column, f, p, l))))
            .collect();
        let named = above.join(", ");
        let there = sig(there);
        (!above.is_empty())
            .then(|| format!("{column} of {f} beside {l}, {named} against {there} ns"))
    });
    told.collect()
}

/// Cells of function and load: five values each, one a platform.
fn function_by_load(book: &mut Book, t: Grid) {
    let cells: Vec<(&str, &str)> = t
        .functions
        .into_iter()
        .flat_map(|f| LOADS.map(|l| (f, l)))
        .collect();
    let (mut missing, mut extra, mut effects) = (0, 0, Vec::new());
    for column in STATISTICS {
        let groups: Vec<_> = cells
            .iter()
            .map(|c| t.values(column, |row| (row[0], row[2]) == *c))
            .collect();
        let pairs = compare(&groups);
        let other = |c: &&PairComparison| cells[c.first].0 != cells[c.second].0;
        let differs = |c: &PairComparison| c.p_adjusted < LEVEL;
        missing += pairs.iter().filter(other).filter(|c| !differs(c)).count();
        extra += pairs
            .iter()
            .filter(|c| !other(c))
            .filter(|c| differs(c))
            .count();
        let of_other = pairs.iter().filter(other).map(|c| c.p_adjusted);
        let worst = pairs.iter().filter(other).map(|c| c.statistic.abs());
        effects.push(tested(
            format!("{column}, pairs with another function: smallest z, largest p"),
            least(worst),
            most(of_other),
            DUNN,
        ));
    }
    book.holds(
        "sleeps-load-pairs",
        missing == 0 && extra == 0,
        format!(
            "Of 36 pairs with another function {} differ, of 24 with the same function {extra} do.",
            36 - missing
        ),
        effects,
    );
}
