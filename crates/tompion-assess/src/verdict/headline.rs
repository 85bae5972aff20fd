//! The verdict in one line.

use std::collections::BTreeSet;
use tompion_model::AT_REST;

use crate::verdict::{Outcome, Profile, ProfileVerdict};

/// `Good for VoIP and a 128 Hz game server; not for packet pacing from 1 Gbit/s;
/// undecided: audio (64 frames).` The easiest demands come first among those
/// met, the profiles of one group are joined.
pub fn headline(profiles: &[Profile], verdicts: &[ProfileVerdict]) -> String {
    if verdicts.iter().all(|v| v.by_load.is_empty()) {
        return "No verdict: the run holds no wake-up latency to judge.".to_owned();
    }
    if let Some(side_by_side) = side_by_side(verdicts) {
        return side_by_side;
    }
    let entries = entries(profiles, verdicts);
    let having = |outcome: Outcome| -> Vec<String> {
        let members = entries.iter().filter(|e| e.1 == outcome);
        members.map(|e| e.0.clone()).collect()
    };
    let clauses = [
        (Outcome::Pass, "good for"),
        (Outcome::WithRemedy, "with a remedy for"),
        (Outcome::Fail, "not for"),
        (Outcome::NearLimit, "near the limit:"),
        (Outcome::Inconclusive, "inconclusive:"),
        (Outcome::NotMeasured, "not measured:"),
    ];
    let clauses = clauses.into_iter().filter_map(|(outcome, words)| {
        let found = having(outcome);
        (!found.is_empty()).then(|| format!("{words} {}", list(&found)))
    });
    let clauses: Vec<String> = clauses.collect();
    let only_idle = verdicts
        .iter()
        .flat_map(|v| &v.by_load)
        .all(|l| l.load == AT_REST);
    let scope = if only_idle {
        " (measured at rest only)"
    } else {
        ""
    };
    crate::verdict::basis::sentence(&format!("{}{scope}.", clauses.join("; ")))
}

/// Where there are several platforms or placements, none stands for all.
fn side_by_side(verdicts: &[ProfileVerdict]) -> Option<String> {
    let distinct = |of: fn(&ProfileVerdict) -> Option<&String>| {
        let mut known = BTreeSet::new();
        let names = verdicts.iter().filter_map(of);
        let names: Vec<String> = names.filter(|name| known.insert(*name)).cloned().collect();
        names
    };
    let platforms = distinct(|v| v.platform.as_ref());
    let placements = distinct(|v| v.placement.as_ref());
    let each = "side by side, each judged by itself:";
    match (platforms.len(), placements.len()) {
        (0, 0) => None,
        (n, 0) => Some(format!("{n} platforms {each} {}.", list(&platforms))),
        (0, m) => Some(format!("{m} placements {each} {}.", list(&placements))),
        (n, m) => Some(format!(
            "{n} platforms in {m} placements {each} {}, in {}.",
            list(&platforms),
            list(&placements)
        )),
    }
}

/// What the line lists: one entry a profile, or one a group and outcome; the
/// demands with the largest limits first.
fn entries(profiles: &[Profile], verdicts: &[ProfileVerdict]) -> Vec<(String, Outcome)> {
    let mut order: Vec<(&Profile, &ProfileVerdict)> = profiles.iter().zip(verdicts).collect();
    order.sort_by(|a, b| b.0.limit_ns().total_cmp(&a.0.limit_ns()));
    let mut entries = Vec::new();
    let mut done = BTreeSet::new();
    for &(profile, verdict) in &order {
        let Some(group) = profile.group.as_deref() else {
            entries.push((profile.title.clone(), verdict.outcome));
            continue;
        };
        if done.insert(group) {
            let members: Vec<(&str, Outcome)> = order
                .iter()
                .filter(|(p, _)| p.group.as_deref() == Some(group))
                .map(|(p, v)| (p.rate.as_deref().unwrap_or(&p.title), v.outcome))
                .collect();
            entries.extend(joined(group, &members));
        }
    }
    entries
}

/// The members of a group, from the easiest to the hardest demand, as one entry
/// an outcome.
fn joined(group: &str, members: &[(&str, Outcome)]) -> Vec<(String, Outcome)> {
    // Whatever is met below a demand that is met, the range says it all.
    let orderly = members.is_sorted_by_key(|m| m.1);
    Outcome::ALL
        .into_iter()
        .filter_map(|outcome| {
            let rates: Vec<String> = members
                .iter()
                .filter(|m| m.1 == outcome)
                .map(|m| m.0.to_owned())
                .collect();
            let (first, last) = (rates.first()?, rates.last()?);
            let text = match outcome {
                Outcome::Pass if orderly => format!("{group} up to {last}"),
                Outcome::Fail if orderly => format!("{group} from {first}"),
                _ if orderly && first != last => format!("{group} at {first} to {last}"),
                _ => format!("{group} at {}", list(&rates)),
            };
            Some((text, outcome))
        })
        .collect()
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{LoadVerdict, profiles};
    use Outcome::{Fail, Inconclusive, NearLimit, Pass, WithRemedy};

    /// The headline for outcomes in the order of the data file: pacing at 300M,
    /// 1G, 10G, 100G, scheduler, audio, control, VoIP, game.
    fn line(outcomes: [Outcome; 9], load: &str) -> String {
        let verdicts: Vec<ProfileVerdict> = profiles()
            .iter()
            .zip(outcomes)
            .map(|(p, outcome)| ProfileVerdict {
                name: p.name.clone(),
                title: p.title.clone(),
                requirement: p.requirement(),
                source: p.source.clone(),
                outcome,
                as_it_is: outcome,
                by_load: vec![LoadVerdict {
                    load: load.to_owned(),
                    outcome,
                    as_it_is: outcome,
                    limit_ns: p.limit_ns(),
                    quantile: p.quantile,
                    estimate_ns: 1.0,
                    samples: 1,
                    watched_ns: 1,
                    ..LoadVerdict::default()
                }],
                ..ProfileVerdict::default()
            })
            .collect();
        headline(profiles(), &verdicts)
    }

    #[test]
    fn lines_read_well() {
        insta::assert_snapshot!(line([Pass; 9], "cpu"), @"Good for VoIP, a 128 Hz game server, audio (64 frames), a 1 kHz control loop, packet pacing up to 100 Gbit/s and a 12 µs packet scheduler.");
        insta::assert_snapshot!(line([Fail; 9], "cpu"), @"Not for VoIP, a 128 Hz game server, audio (64 frames), a 1 kHz control loop, packet pacing from 300 Mbit/s and a 12 µs packet scheduler.");
        insta::assert_snapshot!(line([Inconclusive; 9], "cpu"), @"Inconclusive: VoIP, a 128 Hz game server, audio (64 frames), a 1 kHz control loop, packet pacing at 300 Mbit/s to 100 Gbit/s and a 12 µs packet scheduler.");
        insta::assert_snapshot!(
            line([Pass, Inconclusive, Fail, Fail, Fail, Pass, Inconclusive, Pass, Pass], "cpu"),
            @"Good for VoIP, a 128 Hz game server, audio (64 frames) and packet pacing up to 300 Mbit/s; not for packet pacing from 10 Gbit/s and a 12 µs packet scheduler; inconclusive: a 1 kHz control loop and packet pacing at 1 Gbit/s."
        );
        insta::assert_snapshot!(
            line([Fail, Fail, Fail, Fail, Fail, Fail, Fail, Pass, Pass], "idle"),
            @"Good for VoIP and a 128 Hz game server; not for audio (64 frames), a 1 kHz control loop, packet pacing from 300 Mbit/s and a 12 µs packet scheduler (measured at rest only)."
        );
    }

    #[test]
    fn a_group_out_of_order_is_listed_rate_by_rate() {
        let text = line(
            [Fail, Pass, Pass, Fail, Fail, Fail, Fail, Fail, Fail],
            "cpu",
        );
        assert!(
            text.contains("good for packet pacing at 1 Gbit/s and 10 Gbit/s")
                || text.starts_with("Good for packet pacing at 1 Gbit/s and 10 Gbit/s"),
            "{text}"
        );
        assert!(
            text.contains("packet pacing at 300 Mbit/s and 100 Gbit/s"),
            "{text}"
        );
    }

    #[test]
    fn no_combination_of_outcomes_makes_the_line_long() {
        let four = [Pass, WithRemedy, NearLimit, Fail];
        let longest = (0..4usize.pow(9))
            .map(|code| {
                let outcomes = std::array::from_fn(|i| four[code / 4usize.pow(i as u32) % 4]);
                line(outcomes, "idle").chars().count()
            })
            .max();
        assert!(longest.unwrap() <= 300, "{longest:?}");
    }

    #[test]
    fn nothing_measured_is_said_plainly() {
        let line = crate::verdict::assess(&[]).headline;
        assert_eq!(
            line,
            "No verdict: the run holds no wake-up latency to judge."
        );
    }
}
