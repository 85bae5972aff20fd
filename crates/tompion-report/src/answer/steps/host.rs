//! What to ask for where the host takes the CPU: nothing within a guest mends that.

use tompion_assess::blame::Culprit;

use super::{Kind, Mends, Shown, Step, places};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

fn steps(_: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let is_host = |c: &Culprit| matches!(c, Culprit::Host { is_guest: true, .. });
    let step = places(shown, is_host).map(|on| {
        let what = format!(
            "{on}ask the provider for dedicated or pinned virtual CPUs; show them the page of this run"
        );
        let short = "ask the provider for dedicated or pinned virtual CPUs".to_owned();
        Step::not_measured(Mends::Host, what, short)
    });
    step.into_iter().collect()
}
