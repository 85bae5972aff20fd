//! Is the clock right?

use maud::{Markup, html as markup};

use crate::clock_right::clocks;
use crate::data::ReportData;

/// Synchronisation, drift and steps.
pub(super) fn section(data: &ReportData) -> Markup {
    let clocks = clocks(data);
    markup! {
        section #clock {
            h2 { "Is the clock right?" }
            p.lead { (clocks.answer()) }
            @if !clocks.rows().is_empty() {
                div.card.narrow {
                    dl.pairs { @for (label, value) in clocks.rows() { div { dt { (label) } dd { (value) } } } }
                }
            }
            p.small {
                "The clocks were read side by side when the run began, after each block and at its end. NTP slews MONOTONIC and the wall clock alike and leaves MONOTONIC_RAW alone, "
                "so that the first difference is what it corrects, and a change of the last is a step; one that was set back within a block does not show. "
                "Where the kernel keeps time by the same counter, MONOTONIC_RAW cannot tell whether that counter is right."
            }
        }
    }
}
