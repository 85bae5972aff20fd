//! Remedies that this very run tried, with what they gained and what they cost.

use tompion_record::{Cell, Factors, factor, format_ns, parse_duration_ns};
use tompion_stats::Distribution;

use crate::Advice;
use crate::basis::{Comparison, name, sentence, times, under};
use crate::clocks::{self, SYSCALL};

/// Sleeps of the kernel, the most used first.
const KERNEL_SLEEPS: [&str; 6] = [
    "usleep",
    "std-sleep",
    "nanosleep",
    "clock-nanosleep-abs",
    "timerfd",
    "ppoll",
];

/// What one remedy is called and how it is applied.
struct Remedy {
    /// Subject of the sentence, for example `a timer slack of 1 ns`.
    subject: &'static str,
    /// What it acts on, for example `wake-up latency`.
    quantity: &'static str,
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
    let pairs: Vec<(&Cell, &Cell)> = sleeps
        .into_iter()
        .filter_map(|before| Some((before, measured(cells, &slacked(before))?)))
        .collect();
    let &(before, after) = pairs.first()?;
    let helped = pairs
        .iter()
        .filter(|(b, a)| Comparison::of(&b.blocks, &a.blocks, 0.5).is_some_and(|c| c.is_larger()))
        .count();
    let remedy = Remedy {
        subject: "a timer slack of 1 ns",
        quantity: "wake-up latency",
        how: "prctl(PR_SET_TIMERSLACK, 1) in the sleeping thread; threads it starts later inherit it",
        price: "the kernel no longer merges nearby wake-ups, so that an idle machine wakes up more often",
    };
    let mut advice = remedy.tested(before, after, (&before.blocks, &after.blocks))?;
    if pairs.len() > 1 {
        advice.sentence.push_str(&format!(
            " It helped in {helped} of the {} sleeps tried.",
            pairs.len()
        ));
    }
    Some(advice)
}

fn hybrid_sleep(cells: &[Cell]) -> Option<Advice> {
    let hybrid = |c: &Cell| {
        let other = c.factors.clone().without(factor::SLACK);
        other.with(factor::METHOD, "tompion-hybrid")
    };
    let remedy = Remedy {
        subject: "Tompion's hybrid sleep in its place",
        quantity: "wake-up latency",
        how: "tompion_time::sleep::Sleeper::new(Policy::hybrid()), then sleep(duration) or sleep_until_ns(deadline)",
        price: "it spins over the last microseconds of each sleep",
    };
    kernel_sleeps(cells, |c| c.factors.level(factor::SLACK) == "default")
        .into_iter()
        .find_map(|before| {
            let after = measured(cells, &hybrid(before))?;
            remedy.tested(before, after, (&before.blocks, &after.blocks))
        })
}

fn absolute_sleep(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "sleeping to an absolute time in its place",
        quantity: "wake-up latency",
        how: "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) with next advanced by the period",
        price: "none; apart from the latency shown here it keeps a periodic task from drifting",
    };
    // The finest slack shows the difference best.
    let mut relative = kernel_sleeps(cells, |c| c.factors.level(factor::METHOD) == "nanosleep");
    relative.sort_by_key(|c| c.factors.level(factor::SLACK) != "1ns");
    relative.into_iter().find_map(|before| {
        let wanted = before
            .factors
            .clone()
            .with(factor::METHOD, "clock-nanosleep-abs");
        let after = measured(cells, &wanted)?;
        remedy.tested(before, after, (&before.blocks, &after.blocks))
    })
}

fn vdso_instead_of_syscall(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "reading the clock through the vDSO",
        quantity: "read cost",
        how: "clock_gettime(CLOCK_MONOTONIC, &t) of the C library instead of syscall(SYS_clock_gettime, ...)",
        price: "none",
    };
    remedy.for_clocks(reading(cells, SYSCALL)?, reading(cells, "clock-monotonic")?)
}

fn tompion_clock(cells: &[Cell]) -> Option<Advice> {
    let remedy = Remedy {
        subject: "Tompion's clock in its place",
        quantity: "read cost",
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
    loads().find(|l| *l == "idle").or_else(|| loads().min())
}

fn measured<'a>(cells: &'a [Cell], factors: &Factors) -> Option<&'a Cell> {
    cells.iter().find(|c| c.factors == *factors)
}

/// Kernel sleeps at the reference load, the most used method first, then the
/// shortest target.
fn kernel_sleeps(cells: &[Cell], wanted: impl Fn(&Cell) -> bool) -> Vec<&Cell> {
    let Some(load) = reference_load(cells) else {
        return Vec::new();
    };
    let rank = |c: &Cell| {
        let method = c.factors.level(factor::METHOD);
        KERNEL_SLEEPS.iter().position(|m| *m == method)
    };
    let mut sleeps: Vec<&Cell> = cells
        .iter()
        .filter(|c| c.factors.level(factor::PROBE) == "wake-up")
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

    /// What the run says of the remedy; `None` where a side has no samples.
    fn tested(
        &self,
        before: &Cell,
        after: &Cell,
        blocks: (&[Distribution], &[Distribution]),
    ) -> Option<Advice> {
        let c = Comparison::of(blocks.0, blocks.1, 0.5)?;
        let (was, is) = (format_ns(c.a_ns), format_ns(c.b_ns));
        let what = format!(
            "the median {} of {} {}",
            self.quantity,
            name(&before.factors),
            under(before.factors.level(factor::LOAD))
        );
        let subject = self.subject;
        let text = if c.is_larger() {
            let gain = times(c.ratio);
            format!("{subject} took {what} from {was} to {is} ({gain} times lower, block by block)")
        } else if c.is_smaller() {
            let loss = times(1.0 / c.ratio);
            format!(
                "{subject} did not help: it took {what} from {was} to {is} ({loss} times higher)"
            )
        } else if c.interval.is_none() {
            format!(
                "{subject} took {what} from {was} to {is}, but one block does not tell an effect from noise"
            )
        } else {
            format!("{subject} made no difference beyond noise to {what}: {was} before, {is} after")
        };
        Some(Advice {
            sentence: format!("{}.", sentence(&text)),
            how: self.how.to_owned(),
            price: self.price_with_cpu(before, after),
            before_ns: c.a_ns,
            after_ns: c.b_ns,
            gain: c.ratio,
            gain_low: c.interval.map(|i| i.low),
            gain_high: c.interval.map(|i| i.high),
            effective: c.is_larger(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, drifting_ns};

    fn sleep(method: &str, slack: &str, ns: i64) -> Cell {
        Planted::wake_up(method, "100us", "idle")
            .slack(slack)
            .cpu(2_000.0)
            .each_block(drifting_ns(ns, 8, 100))
    }

    fn hybrid(ns: i64) -> Cell {
        Planted::wake_up("tompion-hybrid", "100us", "idle")
            .cpu(9_000.0)
            .each_block(drifting_ns(ns, 8, 100))
    }

    fn read(method: &str, ns: i64) -> Cell {
        Planted::read_cost(method, "idle").each_block(drifting_ns(ns, 8, 100))
    }

    #[test]
    fn a_planted_slack_effect_becomes_advice() {
        let cells = [
            sleep("usleep", "default", 52_000),
            sleep("usleep", "1ns", 4_000),
        ];
        let found = advice(&cells);
        assert_eq!(found.len(), 1);
        let a = &found[0];
        assert!(a.effective && (a.gain - 13.0).abs() < 1e-9);
        assert!((a.before_ns / a.after_ns - 13.0).abs() < 0.01);
        assert!(a.gain_low.unwrap() <= 13.0 + 1e-9 && a.gain_high.unwrap() >= 13.0 - 1e-9);
        insta::assert_snapshot!(a.sentence, @"A timer slack of 1 ns took the median wake-up latency of usleep (100us) at rest from 53.0 µs to 4.08 µs (13.0 times lower, block by block).");
        insta::assert_snapshot!(a.price, @"the kernel no longer merges nearby wake-ups, so that an idle machine wakes up more often; CPU time per sleep 2.00 µs before, 2.00 µs after");
        assert!(a.how.contains("PR_SET_TIMERSLACK, 1"));
    }

    #[test]
    fn the_largest_gain_comes_first_and_what_failed_last() {
        let cells = [
            sleep("usleep", "default", 52_000),
            sleep("usleep", "1ns", 4_000),
            sleep("nanosleep", "default", 52_000),
            sleep("nanosleep", "1ns", 4_000),
            sleep("clock-nanosleep-abs", "1ns", 4_400),
            hybrid(200),
            read(SYSCALL, 150),
            read("clock-monotonic", 25),
            read("tompion", 25),
        ];
        let found = advice(&cells);
        let told: Vec<(i64, bool)> = found
            .iter()
            .map(|a| (a.gain.round() as i64, a.effective))
            .collect();
        assert_eq!(
            told,
            [(260, true), (13, true), (6, true), (1, false), (1, false)]
        );
        assert!(found[0].price.contains("2.00 µs before, 9.00 µs after"));
        assert!(
            found[1]
                .sentence
                .ends_with("It helped in 2 of the 2 sleeps tried.")
        );
        let harmful = found
            .iter()
            .find(|a| a.sentence.contains("did not help"))
            .unwrap();
        assert!(harmful.how.contains("TIMER_ABSTIME") && harmful.gain < 1.0);
    }

    #[test]
    fn no_effect_is_said_to_be_none() {
        let noise = [
            52_000, 40_000, 61_000, 47_000, 58_000, 44_000, 66_000, 50_000,
        ];
        let mut turned = noise;
        turned.reverse();
        let cell = |slack: &str, v: [i64; 8]| {
            Planted::wake_up("usleep", "100us", "idle")
                .slack(slack)
                .each_block(v.map(|v| [v; 50]))
        };
        let found = advice(&[cell("default", noise), cell("1ns", turned)]);
        assert!(!found[0].effective);
        assert!(
            found[0].sentence.contains("no difference beyond noise"),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn one_block_proves_nothing() {
        let cell = |slack: &str, ns: i64| {
            Planted::wake_up("usleep", "100us", "idle")
                .slack(slack)
                .blocks(1, &[ns; 500])
        };
        let found = advice(&[cell("default", 52_000), cell("1ns", 4_000)]);
        assert!(!found[0].effective && found[0].gain_low.is_none());
        assert!(found[0].sentence.contains("one block does not tell"));
    }

    #[test]
    fn only_what_was_tried_is_advised() {
        assert!(advice(&[]).is_empty());
        assert!(advice(&[sleep("usleep", "default", 52_000)]).is_empty());
        let other_target = Planted::wake_up("usleep", "1ms", "idle")
            .slack("1ns")
            .blocks(8, &[4_000; 50]);
        assert!(advice(&[sleep("usleep", "default", 52_000), other_target]).is_empty());
        let empty = Planted::wake_up("usleep", "100us", "idle")
            .slack("1ns")
            .blocks(8, &[]);
        assert!(advice(&[sleep("usleep", "default", 52_000), empty]).is_empty());
    }

    #[test]
    fn without_rest_the_remedies_are_compared_under_load() {
        let cell = |slack: &str, ns: i64| {
            Planted::wake_up("usleep", "100us", "cpu")
                .slack(slack)
                .each_block(drifting_ns(ns, 8, 50))
        };
        let found = advice(&[cell("default", 52_000), cell("1ns", 4_000)]);
        assert!(found[0].sentence.contains("under cpu load"));
    }
}
