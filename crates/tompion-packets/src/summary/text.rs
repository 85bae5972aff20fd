//! The summary for a terminal.

use std::fmt::Write;

use tompion_model::format_ns;
use tompion_path::stamps::Missing;

use super::{MissingStamps, Quantiles, Summary};

/// What stands above the columns of [`row`].
pub(crate) const HEADS: &str =
    "                                probes       min    median       p99       max\n";

/// A line of durations, 78 columns wide.
pub(crate) fn row(name: &str, q: &Quantiles) -> String {
    format!(
        "{name:<30}{:>8}{:>10}{:>10}{:>10}{:>10}\n",
        q.samples,
        time(q.min_ns),
        time(q.median_ns),
        time(q.p99_ns),
        time(q.max_ns)
    )
}

impl Summary {
    /// As a table for a terminal, 80 columns wide.
    pub fn text(&self) -> String {
        let mut out = HEADS.to_owned();
        out.push_str("Round trip, as seen from\n");
        for seen in &self.round_trips {
            out.push_str(&row(&format!("  {}", seen.vantage), &seen.quantiles));
        }
        for least in &self.least_of {
            let name = format!("  least of {} by user", least.several);
            out.push_str(&row(&name, &least.quantiles));
        }
        if !self.added.is_empty() {
            out.push_str("What lies between\n");
        }
        for added in &self.added {
            let name = format!("  {} and {}", added.upper, added.lower);
            out.push_str(&row(&name, &added.quantiles));
            let ways = [("out", added.outward), ("home", added.homeward)];
            // Where two vantage points have one stamp in common, only the other way is there.
            let is_one_way = |q: &Quantiles| q.min_ns == 0 && q.max_ns == 0;
            if ways
                .iter()
                .any(|(_, of)| of.as_ref().is_some_and(is_one_way))
            {
                continue;
            }
            for (way, of) in ways {
                if let Some(of) = of {
                    out.push_str(&row(&format!("    on the way {way}"), &of));
                }
            }
        }
        if let Some(stay) = &self.far_stay {
            out.push_str(&row("Far end's stay", stay));
        }
        if let (Some(path), Some(outer)) = (&self.path, self.round_trips.last()) {
            let name = format!("Path beyond {}", outer.vantage);
            out.push_str(&row(&name, path));
        }
        if let Some(clean) = self.ends.as_ref().and_then(|ends| ends.clean_path) {
            out.push_str(&row("Path of clean probes", &clean));
        }
        for variation in &self.variation {
            let of = match variation.is_of_path {
                true => "of the path",
                false => "with far end's stay",
            };
            let name = format!("{} {of}", variation.name);
            out.push_str(&row(&name, &variation.quantiles));
        }
        if let Some(late) = &self.lateness {
            out.push_str(&row("Sent late by", late));
        }
        out.push('\n');
        let share = self
            .loss
            .map_or(String::new(), |l| format!(" ({:.2} %)", 100.0 * l));
        let _ = writeln!(
            out,
            "{} probes sent, {} answered, {} lost{share}, longest loss {}, {} duplicates, {} reordered",
            self.sent, self.answered, self.lost, self.longest_loss, self.duplicates, self.reordered
        );
        self.notes(&mut out);
        if let Some(ends) = &self.ends {
            ends.text(&mut out);
        }
        out
    }

    fn notes(&self, out: &mut String) {
        let left_out = self.probes.saturating_sub(self.sent);
        if left_out > 0 {
            let _ = writeln!(out, "{left_out} probes were not sent");
        }
        if self.sent_too_late > 0 {
            let late = self.sent_too_late;
            let _ = writeln!(
                out,
                "probes that left only after the next one was due: {late}"
            );
        }
        if self.far_end.beyond_its_rate > 0 {
            let _ = writeln!(
                out,
                "at least {} were left unanswered by the far end, as they came faster than it answers (its --rate)",
                self.far_end.beyond_its_rate
            );
        }
        if let Some(probes) = self.silent_after {
            let _ = writeln!(
                out,
                "none after the first {probes} was answered: a reflector of Tompion's leaves alone for a while who sends faster than its --rate"
            );
        }
        if self.late_replies > 0 {
            let late = self.late_replies;
            let _ = writeln!(out, "{late} replies came after the timeout: lost");
        }
        if self.far_stay.is_some() {
            let (told, all) = (self.followed_up, self.answered);
            let _ = match told {
                0 => writeln!(
                    out,
                    "the far end's stay ends with its program's stamp: what its own queue takes counts as path"
                ),
                _ => writeln!(
                    out,
                    "the far end's stay ends with its kernel's transmit stamp in {told} of {all} replies, else with its program's"
                ),
            };
        } else if self.impossible_stays > 0 {
            let _ = writeln!(
                out,
                "what the far end says of how long it kept probes cannot be true ({} of them): round trips and their variation contain it",
                self.impossible_stays
            );
        } else if self.answered > 0 {
            out.push_str(
                "the far end does not say how long it kept probes: round trips and their variation contain it\n",
            );
        }
        if self.refused > 0 {
            let _ = writeln!(
                out,
                "{} stamps or replies have no place in the table and are left out",
                self.refused
            );
        }
        for missing in &self.missing {
            let MissingStamps { place, count, why } = missing;
            let _ = writeln!(
                out,
                "stamps missing: {place}, of {count} probes ({})",
                reason(*why)
            );
        }
        for wrong in &self.disorder {
            let _ = writeln!(
                out,
                "stamps in the wrong order: {} before {}, of {} of {}, by up to {}",
                wrong.later,
                wrong.earlier,
                wrong.violations,
                wrong.compared,
                time(wrong.worst_ns)
            );
        }
        for (oddity, count) in &self.oddities {
            let _ = writeln!(out, "in {count} replies: {oddity}");
        }
        if self.icmp_errors > 0 {
            let _ = writeln!(out, "{} ICMP errors", self.icmp_errors);
        }
    }
}

/// Why a stamp is missing, in a few words.
fn reason(why: Missing) -> &'static str {
    match why {
        Missing::NotTaken => "nobody asked for it",
        Missing::Refused => "the kernel gives none here",
        Missing::Overflowed => "no room for it where it had to wait",
        Missing::TooLate => "it came too late",
        Missing::Lost => "the packet was lost",
        Missing::TapDropped => "the tap dropped packets",
        Missing::NotSeen => "the tap did not see it",
        Missing::NotGiven => "the far end gave none",
        Missing::Implausible => "it cannot be true",
        _ => "it did not come",
    }
}

/// A duration with its sign.
fn time(ns: i64) -> String {
    let sign = if ns < 0 { "\u{2212}" } else { "" };
    format!("{sign}{}", format_ns(ns.unsigned_abs() as f64))
}
