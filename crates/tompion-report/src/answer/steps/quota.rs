//! What to do about a CPU quota that was used up.

use tompion_assess::blame::Culprit;

use super::{Kind, Mends, Shown, Step, places};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

fn steps(_: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let step = places(shown, |c| *c == Culprit::Quota).map(|on| {
        let what = format!(
            "{on}give this control group more CPU time; CPUQuota= of its unit, --cpus of its container"
        );
        let short = "give this control group more CPU time".to_owned();
        Step::not_measured(Mends::Quota, what, short)
    });
    step.into_iter().collect()
}
