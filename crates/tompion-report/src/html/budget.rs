//! The packet budget.

use maud::{Markup, html as markup};

use crate::data::ReportData;
use crate::figures::NONE;
use crate::packet_budget::{Budget, Measured, RATES, READS_PER_PACKET, bit_rate, budgets};
use crate::precision::{interval, rounded};

/// What a packet may cost here; nothing where no clock was read.
pub(super) fn section(data: &ReportData) -> Markup {
    let budgets = budgets(data);
    if budgets.is_empty() {
        return Markup::default();
    }
    markup! {
        section #budget {
            h2 { "Packet budget" }
            p.lead {
                "How often a program can look at the clock and sleep for each packet of 1500 bytes. Reads: packet time by the median cost of a read. "
                "Sleeps: packets that fall due within one median wake-up latency; below 1 a sleep for every packet keeps the rate, "
                "at 5 a program must send five packets after each. Medians of all blocks; no more digits than their 95 % interval supports."
            }
            div.scroll tabindex="0" {
                table.numbers {
                    thead {
                        tr {
                            th rowspan="2" { "Load" }
                            th.left rowspan="2" { "By" }
                            @for (rate, ns) in RATES { th.group colspan="2" { (rate) ", " (tompion_record::format_ns(ns)) } }
                        }
                        tr { @for _ in RATES { th.first { "reads" } th { "packets a sleep" } } }
                    }
                    tbody {
                        @for b in &budgets {
                            tr {
                                th scope="row" { (b.place()) }
                                td.left.ways { (ways(b)) }
                                @for (_, ns) in RATES {
                                    td.first { (number(b.reads_that_fit(ns))) }
                                    td { @if let Some(p) = b.packets_per_sleep(ns) { (number(p)) } @else { (NONE) } }
                                }
                            }
                        }
                    }
                }
            }
            h3.minor { "With " (READS_PER_PACKET) " reads and one sleep a packet" }
            p.lead {
                "So many Kirova et al. 2019 count for each packet of a bandwidth estimator (Korniichuk et al. 2017: 187). "
                "Packets a second = 1 / (reads × read cost + wake-up latency), of medians; the packets themselves cost nothing here, so this is a bound."
            }
            div.scroll tabindex="0" {
                table.numbers {
                    thead { tr { th { "Load" } th.left { "By" } th { "packets/s" } th { "95 % interval" } th { "at 1500 bytes" } } }
                    tbody {
                        @for b in &budgets {
                            @if let Some(rate) = b.packets_per_second() {
                                tr {
                                    th scope="row" { (b.place()) }
                                    td.left.ways { (ways(b)) }
                                    td { (number(rate)) }
                                    td { (rate.interval.map_or_else(|| NONE.to_owned(), interval)) }
                                    td { (bit_rate(rate)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn ways(b: &Budget) -> Markup {
    markup! {
        (b.way)
        span.variant { (b.clock) @if let Some(sleep) = &b.sleep { ", " (sleep) } }
    }
}

fn number(m: Measured) -> String {
    rounded(m.value, m.interval)
}
