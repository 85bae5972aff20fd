//! Remedies that this very run tried, with what they gained and what they cost: sleeps at the quantile of the
//! uses, missed periods counted, and clocks, which no use is about, at the median.

use std::collections::HashMap;

use tompion_model::{AT_REST, Cell, Factors, Way, factor, format_ns, parse_duration_ns};
use tompion_probe::wake_up;
use tompion_stats::BlockRange;

use crate::verdict::Advice;
use crate::verdict::basis::{
    self, Comparison, Numbered, SMALLEST_RATIO, name, sentence, times, times_to_times, under,
};
use crate::verdict::clocks::{self, SYSCALL};
use crate::verdict::lateness::QUANTILE;
use crate::verdict::profile::quantile_name;
use crate::verdict::remedies::{HYBRID_SLEEP, TIMER_SLACK};

/// What one remedy is called and how it is applied.
struct Remedy {
    /// Subject of the sentence, for example `a timer slack of 1 ns`.
    subject: &'static str,
    /// What it acts on, for example `wake-up latency`.
    quantity: &'static str,
    /// The quantile at which it is compared, 0 to 1.
    quantile: f64,
    how: &'static str,
    price: &'static str,
}

/// Advice tested in this run: what helps first, the largest gain first.
pub fn advice(cells: &[Cell]) -> Vec<Advice> {
    let mut all: Vec<Advice> = [
        timer_slack(cells),
        hybrid_sleep(cells),
        absolute_sleep(cells),
        vdso_instead_of_syscall(cells),
        tompion_clock(cells),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.sort_by(|a, b| {
        b.effective
            .cmp(&a.effective)
            .then_with(|| b.gain.total_cmp(&a.gain))
    });
    all
}

fn timer_slack(cells: &[Cell]) -> Option<Advice> {
    let slacked = |c: &Cell| c.factors.clone().with(factor::SLACK, "1ns");
    let sleeps = kernel_sleeps(cells, |c| c.factors.level(factor::SLACK) == "default");
    let remedy = Remedy {
        subject: "a timer slack of 1 ns",
        quantity: "wake-up latency",
        quantile: QUANTILE,
        how: TIMER_SLACK.how,
        price: TIMER_SLACK.price,
    };
    remedy.for_any(cells, sleeps, slacked)
}

/// Whether a sleep is as programs have it: at the default slack, or out of its reach.
fn has_usual_slack(c: &Cell) -> bool {
    match c.factors.get(factor::SLACK) {
        Some(level) => level == "default",
        None => basis::method(&c.factors).is_some_and(|m| m.way == Way::Sleeps && !m.has_slack),
    }
}

fn hybrid_sleep(cells: &[Cell]) -> Option<Advice> {
    let hybrid = |c: &Cell| {
        let other = c.factors.clone().without(factor::SLACK);
        other.with(factor::METHOD, "tompion-hybrid")
    };
    let remedy = Remedy {
        subject: "Tompion's hybrid sleep in its place",
        quantity: "wake-up latency",
        quantile: QUANTILE,
        how: HYBRID_SLEEP.how,
        price: HYBRID_SLEEP.price,
    };
    remedy.for_any(cells, kernel_sleeps(cells, has_usual_slack), hybrid)
}

fn absolute_sleep(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "sleeping to an absolute time in its place",
        quantity: "wake-up latency",
        quantile: QUANTILE,
        how: "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) with next advanced by the period",
        price: "none; apart from the latency shown here it keeps a periodic task from drifting",
    };
    // The finest slack shows the difference best.
    let mut relative = kernel_sleeps(cells, |c| c.factors.level(factor::METHOD) == "nanosleep");
    relative.sort_by_key(|c| c.factors.level(factor::SLACK) != "1ns");
    let all = by_key(cells);
    relative.into_iter().find_map(|before| {
        let wanted = before
            .factors
            .clone()
            .with(factor::METHOD, "clock-nanosleep-abs");
        let after = *all.get(&wanted)?;
        remedy.for_sleeps(before, after)
    })
}

fn vdso_instead_of_syscall(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "reading the clock through the vDSO",
        quantity: "read cost",
        quantile: 0.5,
        how: "clock_gettime(CLOCK_MONOTONIC, &t) of the C library instead of syscall(SYS_clock_gettime, ...)",
        price: "none",
    };
    remedy.for_clocks(reading(cells, SYSCALL)?, reading(cells, "clock-monotonic")?)
}

fn tompion_clock(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "Tompion's clock in its place",
        quantity: "read cost",
        quantile: 0.5,
        how: "tompion_time::Instant::now() instead of clock_gettime",
        price: "a look at the kernel's clock every 5 ms, about 1 to 4 us, by the read that is due",
    };
    remedy.for_clocks(
        reading(cells, "clock-monotonic")?,
        reading(cells, "tompion")?,
    )
}

/// Read-cost cells are compared under one load only.
fn reading<'a>(cells: &'a [Cell], method: &str) -> Option<&'a Cell> {
    let load = reference_load(cells)?;
    clocks::reading(cells, method).filter(|c| c.factors.level(factor::LOAD) == load)
}

/// The load at which remedies are compared: rest, or else the first by name.
fn reference_load(cells: &[Cell]) -> Option<&str> {
    let loads = || cells.iter().map(|c| c.factors.level(factor::LOAD));
    loads().find(|l| *l == AT_REST).or_else(|| loads().min())
}

/// The cells by their keys; of two of the same the first.
fn by_key(cells: &[Cell]) -> HashMap<&Factors, &Cell> {
    cells.iter().rev().map(|c| (&c.factors, c)).collect()
}

/// Kernel sleeps at the reference load, the most used method first, then the
/// shortest target.
fn kernel_sleeps(cells: &[Cell], wanted: impl Fn(&Cell) -> bool) -> Vec<&Cell> {
    let Some(load) = reference_load(cells) else {
        return Vec::new();
    };
    let rank = |c: &Cell| {
        let sleeps = basis::method(&c.factors).filter(|m| m.way == Way::Sleeps);
        sleeps.map(|m| m.usual.unwrap_or(u8::MAX))
    };
    let mut sleeps: Vec<&Cell> = cells
        .iter()
        .filter(|c| c.factors.level(factor::PROBE) == wake_up::NAME)
        .filter(|c| c.factors.level(factor::LOAD) == load)
        .filter(|c| rank(c).is_some() && wanted(c))
        .collect();
    sleeps.sort_by_key(|c| {
        let target = parse_duration_ns(c.factors.level(factor::TARGET));
        (rank(c), target.unwrap_or(u64::MAX), c.factors.clone())
    });
    sleeps
}

impl Remedy {
    fn for_clocks(&self, before: &Cell, after: &Cell) -> Option<Advice> {
        self.tested(before, after, clocks::comparable(before, after))
    }

    /// What the run says of it for the first of these sleeps which it helped, or else for the first, and how many it
    /// helped: a use is judged by its own sleep, and passes with what did nothing for another.
    fn for_any(
        &self,
        cells: &[Cell],
        sleeps: Vec<&Cell>,
        remedied: impl Fn(&Cell) -> Factors,
    ) -> Option<Advice> {
        let all = by_key(cells);
        // Pairs without samples were not tried.
        let pairs: Vec<(&Cell, &Cell, bool)> = sleeps
            .into_iter()
            .filter_map(|before| {
                let after = *all.get(&remedied(before))?;
                let (was, is) = (basis::numbered(before), basis::numbered(after));
                let helped = Comparison::of(was, is, self.quantile)?.is_notably_larger();
                Some((before, after, helped))
            })
            .collect();
        let first_helped = pairs.iter().find(|(.., helped)| *helped);
        let &(before, after, _) = first_helped.or(pairs.first())?;
        let mut advice = self.for_sleeps(before, after)?;
        if pairs.len() > 1 {
            let helped = pairs.iter().filter(|(.., helped)| *helped).count();
            advice.sentence.push_str(&format!(
                " It helped in {helped} of the {} sleeps tried.",
                pairs.len()
            ));
        }
        Some(advice)
    }

    fn for_sleeps(&self, before: &Cell, after: &Cell) -> Option<Advice> {
        self.tested(
            before,
            after,
            (basis::numbered(before), basis::numbered(after)),
        )
    }

    /// What the run says of the remedy; `None` where a side has no samples.
    fn tested(
        &self,
        before: &Cell,
        after: &Cell,
        blocks: (Numbered<'_>, Numbered<'_>),
    ) -> Option<Advice> {
        let c = Comparison::of(blocks.0, blocks.1, self.quantile)?;
        let (was, is) = (c.a_in_words(), c.b_in_words());
        let what = format!(
            "the {} {} of {} {}",
            quantile_name(self.quantile),
            self.quantity,
            name(&before.factors),
            under(before.factors.level(factor::LOAD))
        );
        let subject = self.subject;
        // "From 4 us to 9 us to 1 us" would be no sentence.
        let (took, it_took) = match c.has_ranges() {
            true => {
                let both = format!("{what} was {was} before and {is} after");
                (format!("with {subject} {both}"), both)
            }
            false => {
                let both = format!("took {what} from {was} to {is}");
                (format!("{subject} {both}"), format!("it {both}"))
            }
        };
        let text = if c.is_notably_larger() {
            let gain = so_many_times(c.ratio, c.ratio_range, ("lower", "higher"));
            format!("{took} ({gain}, block by block)")
        } else if c.is_notably_smaller() {
            let turned = |r: BlockRange| BlockRange {
                low: 1.0 / r.high,
                high: 1.0 / r.low,
            };
            let range = c.ratio_range.map(turned);
            let loss = so_many_times(1.0 / c.ratio, range, ("higher", "lower"));
            format!("{subject} did not help: {it_took} ({loss}, block by block)")
        } else if c.interval.is_none() {
            format!("{took}, but one block cannot show an effect beyond noise")
        } else if c.interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0)
            && (1.0 / SMALLEST_RATIO..SMALLEST_RATIO).contains(&c.ratio)
        {
            format!("{subject} made hardly any difference to {what}: {was} before, {is} after")
        } else {
            format!("{subject} made no difference beyond noise to {what}: {was} before, {is} after")
        };
        Some(Advice {
            sentence: format!("{}.", sentence(&text)),
            how: self.how.to_owned(),
            price: self.price_with_cpu(before, after),
            quantile: self.quantile,
            before_ns: c.a_ns,
            after_ns: c.b_ns,
            before_range_ns: c.a_range.map(|r| [r.low, r.high]),
            after_range_ns: c.b_range.map(|r| [r.low, r.high]),
            gain: c.ratio,
            gain_low: c.interval.map(|i| i.low),
            gain_high: c.interval.map(|i| i.high),
            gain_range: c.ratio_range.map(|r| [r.low, r.high]),
            effective: c.is_notably_larger(),
        })
    }

    fn price_with_cpu(&self, before: &Cell, after: &Cell) -> String {
        match (before.cpu_per_operation_ns(), after.cpu_per_operation_ns()) {
            (Some(was), Some(is)) => format!(
                "{}; CPU time per sleep {} before, {} after",
                self.price,
                format_ns(was),
                format_ns(is)
            ),
            _ => self.price.to_owned(),
        }
    }
}

/// `13.0 times lower`; where blocks disagree from which of theirs to which: `19.1 to 956 times lower`,
/// `from 2.00 times higher to 956 times lower`.
fn so_many_times(ratio: f64, range: Option<BlockRange>, (way, other): (&str, &str)) -> String {
    match range {
        Some(BlockRange { low, high }) if low < 1.0 => format!(
            "from {} times {other} to {} times {way}",
            times(1.0 / low),
            times(high)
        ),
        Some(range) => format!("{} times {way}", times_to_times(range)),
        None => format!("{} times {way}", times(ratio)),
    }
}

#[cfg(test)]
mod tests;
