//! Ours against the others: the limits on read costs, and the tables. Pure.

use super::figures::{Measured, Section};
use super::sources::{Role, Topic};
use crate::paired::{Comparison, Estimate, difference, ratio};
use crate::table::{Side, aligned, comparisons as comparison_table, interval, number};

/// Raw ticks: at most so far above the bare instruction.
const ABOVE_BARE_NS: f64 = 3.0;
/// Ours to the best peer.
const RATIO: f64 = 1.05;

/// One of a source's figures, block by block.
type Figure = fn(&Measured) -> &[f64];
/// Reads in a row: what the limits are about.
const IN_A_ROW: Figure = |it| &it.block_ns;
/// Each read with its result before the next.
const COMPLETED: Figure = |it| &it.block_completed_ns;

/// What the limits say about one section.
pub fn comparisons(topic: Topic, sources: &[Measured]) -> Vec<Comparison> {
    let Some(ours) = with_role(sources, Role::Ours) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    if let Some(bare) = with_role(sources, Role::Bare) {
        let what = format!("{} - {}, ns", ours.name, bare.name);
        let above = difference(&pairs(ours, bare, IN_A_ROW));
        rows.push(match topic {
            Topic::Raw => Comparison::limited(what, "ns", above, ABOVE_BARE_NS),
            Topic::Converted | Topic::Ordered => Comparison::shown(what, "ns", above),
        });
    }
    if let Some(best) = best_peer(sources, IN_A_ROW) {
        let what = format!("{} / {}, the best peer", ours.name, best.name);
        let estimate = ratio(&pairs(ours, best, IN_A_ROW));
        rows.push(Comparison::limited(what, "ratio", estimate, RATIO));
    }
    let again = with_role(sources, Role::OursAgain);
    let double = |figure| again.and_then(|again| ratio(&pairs(ours, again, figure)));
    let what = "A/A: ours / ours again".to_owned();
    rows.push(Comparison::shown(what, "ratio", double(IN_A_ROW)));
    if let Some(best) = best_peer(sources, COMPLETED) {
        let what = format!("completed: ours / {}, the best peer there", best.name);
        let estimate = ratio(&pairs(ours, best, COMPLETED));
        rows.push(Comparison::shown(what, "ratio", estimate));
    }
    let what = "completed, A/A: ours / ours again".to_owned();
    rows.push(Comparison::shown(what, "ratio", double(COMPLETED)));
    rows
}

/// The section as text.
pub fn table(section: &Section) -> String {
    let columns = [
        ("read", Side::Left),
        ("gives", Side::Left),
        ("ns", Side::Right),
        ("ours / it [95 %]", Side::Right),
        ("ours - it, ns [95 %]", Side::Right),
        ("completed ns", Side::Right),
        ("ours / it [95 %]", Side::Right),
        ("sustained ns", Side::Right),
    ];
    let ours = with_role(&section.sources, Role::Ours);
    type Compare = fn(&[(f64, f64)]) -> Option<Estimate>;
    let against = |it: &Measured, compare: Compare, figure| match it.role {
        Role::Ours => None,
        _ => ours.and_then(|ours| compare(&pairs(ours, it, figure))),
    };
    let rows = section.sources.iter().map(|it| {
        vec![
            it.name.to_owned(),
            it.gives.to_owned(),
            number(median(&it.block_ns), 2),
            interval(against(it, ratio, IN_A_ROW), 3),
            interval(against(it, difference, IN_A_ROW), 2),
            number(median(&it.block_completed_ns), 2),
            interval(against(it, ratio, COMPLETED), 3),
            number(median(&it.block_sustained_ns), 2),
        ]
    });
    format!(
        "{}\n{}\n{}\n",
        section.title,
        aligned(&columns, rows),
        comparison_table(&section.comparisons)
    )
}

/// The peer whose blocks are cheapest in the middle.
fn best_peer(sources: &[Measured], figure: Figure) -> Option<&Measured> {
    sources
        .iter()
        .filter(|s| s.role == Role::Peer)
        .filter_map(|s| Some((s, median(figure(s))?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(source, _)| source)
}

fn with_role(sources: &[Measured], role: Role) -> Option<&Measured> {
    sources.iter().find(|s| s.role == role)
}

fn pairs(ours: &Measured, theirs: &Measured, figure: Figure) -> Vec<(f64, f64)> {
    let pairs = figure(ours).iter().zip(figure(theirs));
    pairs.map(|(a, b)| (*a, *b)).collect()
}

/// The middle of the blocks' figures.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Verdict;

    /// A source whose blocks lie around `ns`.
    fn source(name: &'static str, role: Role, ns: f64) -> Measured {
        let block_ns: Vec<f64> = (0..20)
            .map(|i| ns * (1.0 + 0.001 * f64::from(i % 3)))
            .collect();
        Measured {
            name,
            gives: "ticks",
            role,
            // The planted peers' order is the other way round when completed.
            block_completed_ns: block_ns.iter().map(|ns| 60.0 - ns).collect(),
            block_sustained_ns: block_ns.clone(),
            block_ns,
        }
    }

    fn planted(ours_ns: f64) -> Vec<Measured> {
        vec![
            source("bare", Role::Bare, 13.0),
            source("ours", Role::Ours, ours_ns),
            source("again", Role::OursAgain, ours_ns),
            source("dear", Role::Peer, 30.0),
            source("cheap", Role::Peer, 13.5),
        ]
    }

    fn verdicts(ours_ns: f64) -> Vec<Option<Verdict>> {
        let rows = comparisons(Topic::Raw, &planted(ours_ns));
        rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn both_limits_and_the_noise_are_there() {
        use Verdict::{Met, NotMet};
        assert_eq!(verdicts(13.1), [Some(Met), Some(Met), None, None, None]);
        // 2 ns above the bare instruction, but 11 % above the best peer.
        assert_eq!(verdicts(15.0), [Some(Met), Some(NotMet), None, None, None]);
        assert_eq!(
            verdicts(17.0),
            [Some(NotMet), Some(NotMet), None, None, None]
        );
    }

    #[test]
    fn the_best_peer_is_the_cheapest() {
        let rows = comparisons(Topic::Converted, &planted(13.5));
        assert!(rows[1].what.contains("cheap"), "{}", rows[1].what);
        let estimate = rows[1].estimate.unwrap();
        assert!((estimate.mean - 1.0).abs() < 1e-9);
        // Chosen anew for the other figure.
        assert!(rows[3].what.contains("dear"), "{}", rows[3].what);
    }

    #[test]
    fn the_table_has_a_row_for_each_source_and_no_ratio_for_ours() {
        let sources = planted(13.1);
        let section = Section {
            title: "Raw",
            comparisons: comparisons(Topic::Raw, &sources),
            sources,
        };
        let text = table(&section);
        for name in ["bare", "again", "dear", "cheap"] {
            assert_eq!(
                text.lines().filter(|l| l.starts_with(name)).count(),
                1,
                "{text}"
            );
        }
        let ours = text.lines().find(|l| l.starts_with("ours ")).unwrap();
        assert!(!ours.contains('['), "{text}");
    }

    #[test]
    fn the_middle_of_an_even_number_is_halfway() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
