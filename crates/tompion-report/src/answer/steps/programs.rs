//! What to do about other programs that take the CPU.

use std::collections::HashSet;

use tompion_assess::blame::Culprit;

use super::super::lines::cut;
use super::{Kind, Mends, Shown, Step, places};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

/// What the names of Tompion's own programs begin with.
const OWN: &str = "tompion";

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
    let who = match names.is_empty() {
        true => "other programs".to_owned(),
        false => names.join(", "),
    };
    // Two that measure hold each other up, whatever their priority is.
    let is_own = !names.is_empty() && names.iter().all(|name| name.starts_with(OWN));
    let step = places(shown, |c| matches!(c, Culprit::Programs(_))).map(|on| {
        if is_own {
            let what = format!("{on}another measurement of Tompion runs here: measure again when it has ended");
            let short = "another measurement runs here: wait for its end".to_owned();
            return Step::not_measured(Mends::Programs, what, short);
        }
        let what = format!(
            "{on}{who}: renice -n 19 -p PID (chrt -o -p 0 PID where it runs in real time), or taskset -cp CPUS PID to keep it on other CPUs; or limit it, \
             systemctl set-property UNIT CPUQuota=20%"
        );
        let short = format!("{}: renice -n 19 -p PID", few(&names));
        Step::not_measured(Mends::Programs, what, short)
    });
    step.into_iter().collect()
}

/// The first of them, who takes most.
fn few(names: &[&str]) -> String {
    match names {
        [] => "other programs".to_owned(),
        [one] => cut(one, NAME),
        [first, ..] => format!("{} and others", cut(first, NAME)),
    }
}
