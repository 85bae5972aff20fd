//! Loads, machine, limits of this run, and how to repeat it.

use maud::{Markup, html as markup};

use crate::data::ReportData;
use crate::environment::groups;
use crate::figures::{NONE, count, real, shell_words};
use crate::limitations::limitations;
use crate::loads::summaries;
use crate::sections::load_title;

/// The proof that each load ran.
pub(super) fn loads(data: &ReportData) -> Markup {
    let loads = summaries(data);
    markup! {
        section #loads {
            h2 { "Did the loads run?" }
            @if loads.is_empty() {
                p { "No load ran beside the measurements." }
            } @else {
                p.lead { "What each load did while the measurements ran, averaged over its trials. Context switches and interrupts are those of the whole machine." }
                div.scroll tabindex="0" {
                    table.numbers {
                        thead { tr {
                            th { "Load" } th.left { "asked for" } th.left { "driver" } th { "trials" } th { "operations/s" } th { "MB/s" }
                            th { "CPUs kept busy" } th { "context switches/s" } th { "interrupts/s" }
                        } }
                        tbody {
                            @for l in &loads {
                                tr {
                                    th scope="row" { @if l.is_part { "with " } (load_title(&l.load)) }
                                    td.left { code { (l.asked) } }
                                    td.left { (l.driver) }
                                    td { (count(l.trials as u64)) }
                                    td {
                                        @if let Some((rate, what)) = &l.operations { (real(*rate)) span.variant { (what) } } @else { (NONE) }
                                    }
                                    td { @if let Some(rate) = l.bytes_per_second { (real(rate / 1e6)) } @else { (NONE) } }
                                    td { (real(l.busy_cpus)) }
                                    td { (real(l.context_switches_per_second)) }
                                    td { (real(l.interrupts_per_second)) }
                                }
                            }
                        }
                    }
                }
                @for l in loads.iter().filter(|l| !l.notes.is_empty()) {
                    p { b { (load_title(&l.load)) } ": " (l.notes.join("; ")) "." }
                }
            }
        }
    }
}

/// The machine and what guarded the measurement.
pub(super) fn machine(data: &ReportData) -> Markup {
    let header = &data.record().header;
    markup! {
        section #machine {
            h2 { "The machine" }
            div.groups {
                @for group in groups(&header.environment) {
                    div.card {
                        h3.minor { (group.title) }
                        dl.pairs {
                            @for (label, value) in &group.rows { div { dt { (label) } dd { (value) } } }
                        }
                    }
                }
                div.card {
                    h3.minor { "Guards" }
                    @if header.guards.is_empty() {
                        p { "None: nothing protected this measurement." }
                    } @else {
                        ul { @for guard in &header.guards { li { (guard) } } }
                    }
                }
            }
        }
    }
}

/// What to keep in mind.
pub(super) fn limits(data: &ReportData) -> Markup {
    let all = limitations(data);
    markup! {
        section #limits {
            h2 { "Limitations" }
            @if all.is_empty() {
                p { "None were recorded." }
            } @else {
                ul { @for sentence in &all { li { (sentence) } } }
            }
        }
    }
}

/// The command, the seed and the sources.
pub(super) fn again(data: &ReportData) -> Markup {
    let header = &data.record().header;
    markup! {
        section #again {
            h2 { "Run it again" }
            pre { code { (shell_words(&header.command_line)) } }
            p.small {
                (header.tool) ", " (header.design.order) ", seed " (header.design.seed)
                ". Times differ from run to run; the order of trials repeats with the seed."
            }
            h3.minor { "Sources" }
            ul.small {
                li { "Kirova et al. 2019, Future Internet 11(8):179: read cost, wake-up latency, the form of both plots, equation 1 for packet pacing." }
                li { "Korniichuk et al. 2017: the same measures on Xen and VirtualBox." }
                li { "Perneel et al. 2015: stalls of a busy loop (clock tick processing duration), their lengths in binary bins." }
                li { "Adamczyk and Chydzinski 2015, PLOS ONE 10(7): periodic timer events, their mean and standard deviation." }
                li { "ITU-T G.810 (1996) and Riley, NIST SP 1065: MTIE and TDEV." }
                li { "Hyndman and Fan 1996, The American Statistician 50(4): quantiles, definition 7." }
                li { "Davison and Hinkley 1997, Bootstrap Methods and their Application: intervals from whole blocks." }
            }
        }
    }
}
