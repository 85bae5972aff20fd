//! What to do about other programs that take the CPU.

use std::collections::HashSet;

use tompion_assess::blame::Culprit;

use super::super::lines::cut;
use super::{Kind, Mends, Shown, Step, is_plain, places};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

/// What the names of Tompion's own programs begin with.
const OWN: &str = "tompion";

/// Programs that a command names.
const NAMED: usize = 2;

/// Characters of a program's name.
const NAME: usize = 20;

fn steps(_: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let (mut names, mut known): (Vec<&str>, HashSet<&str>) = Default::default();
    for culprit in shown.iter().flat_map(|s| &s.culprits) {
        if let Culprit::Programs(found) = culprit {
            for name in found {
                if known.insert(name) {
                    names.push(name);
                }
            }
        }
    }
    let is_own_first = names.first().is_some_and(|name| name.starts_with(OWN));
    // Two that measure hold each other up, whatever their priority is.
    let (own, others): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| name.starts_with(OWN));
    let wait = match own.is_empty() {
        true => "",
        false => "wait until other programs called tompion have ended",
    };
    let step = places(shown, |c| matches!(c, Culprit::Programs(_))).map(|on| {
        if !own.is_empty() && others.is_empty() {
            let what = format!("{on}{wait}, and measure again");
            return Step::not_measured(Mends::Programs, what, wait.to_owned());
        }
        let who = match others.is_empty() {
            true => "other programs".to_owned(),
            false => others.join(", "),
        };
        // What is said first stays where there is little room.
        let last = match wait {
            "" => String::new(),
            wait => format!("; and {wait}"),
        };
        let renice = renice(&others);
        let what = format!(
            "{who}: {renice} (chrt -a -o -p 0 PID where it runs in real time), or taskset -acp CPUS PID to keep it on other CPUs; or limit it, \
             systemctl set-property UNIT CPUQuota=20%{last}; then check again"
        );
        let short = format!("{}: {renice}", few(&others));
        // Who took most is first.
        match is_own_first {
            true => {
                let what = format!("{on}{wait}, and check again; besides {who}: {renice}");
                Step::not_measured(Mends::Programs, what, wait.to_owned())
            }
            false => Step::not_measured(Mends::Programs, format!("{on}{what}"), short),
        }
    });
    step.into_iter().collect()
}

/// What gives others the CPU before these, of whose threads each has a nice value of its own. Anybody chooses what a process is
/// called.
fn renice(names: &[&str]) -> String {
    let of = names
        .iter()
        .map(|name| name.strip_prefix("children of ").unwrap_or(name));
    let mut plain: Vec<&str> = of.filter(|name| is_plain(name)).take(NAMED).collect();
    plain.dedup();
    match &plain[..] {
        [] => "renice 19 $(ls /proc/PID/task)".to_owned(),
        plain => format!(
            "renice 19 $(pgrep -x '{}' | xargs -I% ls /proc/%/task)",
            plain.join("|")
        ),
    }
}

/// The first of them, who takes most.
fn few(names: &[&str]) -> String {
    match names {
        [] => "other programs".to_owned(),
        [one] => cut(one, NAME),
        [first, ..] => format!("{} and others", cut(first, NAME)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_names_that_a_command_cannot_have_none_stands_in_it() {
        let of = |names: &[&str]| renice(names);
        let whom =
            |names: &str| format!("renice 19 $(pgrep -x '{names}' | xargs -I% ls /proc/%/task)");
        assert_eq!(of(&["cc1", "rustc", "sh"]), whom("cc1|rustc"));
        assert_eq!(of(&["children of make", "make", "sh"]), whom("make"));
        for hostile in ["", "-v", "a b", "'; reboot; '", "$(reboot)", "a|b", "a\nb"] {
            assert_eq!(
                of(&[hostile]),
                "renice 19 $(ls /proc/PID/task)",
                "{hostile:?}"
            );
            assert_eq!(of(&[hostile, "sh"]), whom("sh"), "{hostile:?}");
        }
    }
}
