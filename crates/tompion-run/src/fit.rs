//! Whether a plan fits its time and its disk.

use std::time::Duration;

use tompion_model::{Factors, format_duration};
use tompion_store::Planned;

use crate::budget::Budget;
use crate::probes::Room;
use crate::{Error, Plan, PlannedCell};

impl Plan {
    /// Refuses a plan whose time does not hold a single pass over its cells: the
    /// run would end without anything to compare.
    pub(crate) fn require_one_pass(&self) -> Result<(), Error> {
        let pass = Budget::new(self, Duration::ZERO).pass();
        if pass <= self.duration {
            return Ok(());
        }
        Err(Error::Plan(format!(
            "one pass over {} takes about {}{}, and {name} is {}; name at least {name} {}, or fewer \
             or shorter measurements",
            self.cells_and_loads(),
            in_words(pass),
            self.long_sleeps(pass),
            format_duration(nanoseconds(self.duration.saturating_sub(self.time.added))),
            as_option(pass),
            name = self.time.name,
        )))
    }

    /// Refuses a plan of more than a run holds: it would end in its midst. What is measured only
    /// where somebody asks for it counts as if it always were, blocks beyond the plan's time not at all.
    pub(crate) fn require_room(&self) -> Result<(), Error> {
        let keys: Vec<Factors> = self.cells.iter().flat_map(PlannedCell::keys).collect();
        let trials = self.cells.iter().map(PlannedCell::trials).sum::<usize>() as u64;
        let pass = Budget::new(self, Duration::ZERO).pass().as_nanos().max(1);
        let passes = self.duration.as_nanos() / pass + 1;
        let blocks = u128::from(self.blocks).min(passes) as u64;
        let planned = Planned {
            trials: trials.saturating_mul(blocks),
            platforms: 0,
            cells: keys.len() as u64,
            key_bytes: keys
                .iter()
                .map(Planned::bytes_of)
                .fold(0, u64::saturating_add),
        };
        planned.check().map_err(|why| {
            Error::Plan(format!(
                "{why}; name fewer blocks, methods, targets or loads"
            ))
        })
    }

    /// What the user should know before measuring begins: that the time does not
    /// hold all blocks.
    pub fn warning(&self) -> Option<String> {
        /// Estimates are no better than this.
        const TOLERANCE: f64 = 1.1;
        let pass = Budget::new(self, Duration::ZERO).pass().as_secs_f64();
        let blocks = f64::from(self.blocks);
        let have = self.duration.as_secs_f64();
        (self.blocks > 1 && pass * blocks > have * TOLERANCE).then(|| {
            let whole = Duration::try_from_secs_f64(pass * blocks).unwrap_or(Duration::MAX);
            let hold = (have / pass).floor();
            format!(
                "{} blocks of {} take about {}; {name} {} will end the run after about {} of them, \
                 {name} {} holds all",
                self.blocks,
                self.cells_and_loads(),
                in_words(whole),
                format_duration(nanoseconds(self.duration)),
                hold.max(1.0),
                as_option(whole),
                name = self.time.name,
            )
        })
    }

    /// Whether nothing is ever switched, no load and nothing outside.
    pub(crate) fn is_at_rest_throughout(&self) -> bool {
        self.levels().is_empty() && self.loads.iter().all(tompion_load::LoadSpec::is_idle)
    }

    /// What the run's own files may take, in bytes, generously.
    pub fn bytes(&self) -> u64 {
        // Compressed rows of a default run take 0.4 bytes (read cost) and 14
        // (wake-up latency), a sample file 3 kB besides, its entry in run.json
        // 2.5 kB (twice while it is rewritten), in the page 2 kB. Bringing the trials
        // together takes as much again for a moment; without it they stay apart.
        const TRIAL: u64 = 12_000;
        const PAGE: u64 = 500_000;
        // As many blocks as the time can hold where trials cost a tenth of what
        // is foreseen.
        let pass = Budget::new(self, Duration::ZERO).pass();
        let held = 10.0 * self.duration.as_secs_f64() / pass.as_secs_f64();
        let blocks = u64::from(self.blocks).min(held.ceil() as u64);
        let cells = self.cells.iter().map(|cell| {
            let rows = cell.probe.bytes(&Room {
                samples: cell.samples,
                blocks,
                duration: self.duration,
            });
            rows.saturating_add(TRIAL.saturating_mul(blocks))
        });
        cells.fold(PAGE, u64::saturating_add)
    }

    /// For example `these 102 cells beside 3 loads`.
    fn cells_and_loads(&self) -> String {
        let cells = match self.cells.len() {
            1 => "this cell".to_owned(),
            n => format!("these {n} cells"),
        };
        match self.loads.len() {
            1 => cells,
            n => format!("{cells} beside {n} loads"),
        }
    }

    /// Names the longest target where its sleeps are most of a pass.
    fn long_sleeps(&self, pass: Duration) -> String {
        let longest = self
            .cells
            .iter()
            .map(|c| (c.wait_ns(), c.least_time()))
            .max();
        let Some((target_ns, least)) = longest else {
            return String::new();
        };
        let of_target = |c: &&crate::PlannedCell| c.least_time() == least;
        let cells = self.cells.iter().filter(of_target).count() as u32;
        if least.saturating_mul(cells) < pass / 2 || target_ns < 1_000_000 {
            return String::new();
        }
        format!(
            " (with target {}, {} for every trial: its warm-up and a few samples)",
            format_duration(target_ns),
            in_words(least)
        )
    }
}

fn nanoseconds(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// About how long, for a sentence: `3.4 s`, `12 min`, `5 h`, `9 d`.
pub(crate) fn in_words(d: Duration) -> String {
    match d.as_secs_f64() {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3_600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

/// A little more than `d`, as `--duration` takes it: `4s`, `12m`, `5h`, `9d`.
pub(crate) fn as_option(d: Duration) -> String {
    let s = d.as_secs_f64() * 1.05;
    match s {
        s if s <= 120.0 => format!("{:.0}s", s.ceil()),
        s if s <= 7_200.0 => format!("{:.0}m", (s / 60.0).ceil()),
        s if s <= 172_800.0 => format!("{:.0}h", (s / 3_600.0).ceil()),
        s => format!("{:.0}d", (s / 86_400.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use tompion_model::parse_duration_ns;

    use super::*;
    use crate::PlanOptions;
    use crate::plan::tests::{options, selection, wake_up};

    fn sleeping(target_ns: u64, duration: Duration, blocks: u32) -> PlanOptions {
        PlanOptions {
            probes: vec![wake_up("usleep", &format!("{target_ns}ns"))],
            loads: vec!["idle".parse().unwrap()],
            duration,
            blocks,
            ..options()
        }
    }

    #[test]
    fn a_target_longer_than_the_time_is_refused_with_the_time_it_takes() {
        let o = sleeping(3_600_000_000_000, Duration::from_secs(2), 8);
        let text = Plan::new(&o).unwrap_err().to_string();
        assert!(!text.contains('\n'), "{text}");
        // Two slacks, eight sleeps each: 16 hours a pass.
        assert_eq!(
            text,
            "one pass over these 2 cells takes about 16 h (with target 3600s, 8 h for every trial: \
             its warm-up and a few samples), and --duration is 2s; name at least --duration 17h, or \
             fewer or shorter measurements"
        );
        let enough = sleeping(3_600_000_000_000, Duration::from_secs(17 * 3600), 1);
        assert!(Plan::new(&enough).is_ok());
    }

    #[test]
    fn no_time_at_all_is_refused() {
        let o = PlanOptions {
            duration: Duration::from_nanos(1),
            ..options()
        };
        let text = Plan::new(&o).unwrap_err().to_string();
        assert!(
            text.contains("14 cells beside 2 loads") && text.contains("1ns"),
            "{text}"
        );
    }

    #[test]
    fn more_blocks_than_the_time_holds_are_told_before_the_run() {
        let plan = Plan::new(&sleeping(10_000_000, Duration::from_secs(2), 1_000_000)).unwrap();
        let text = plan.warning().unwrap();
        assert!(
            text.starts_with("1000000 blocks of these 2 cells take about"),
            "{text}"
        );
        assert!(text.contains("--duration 2s will end the run"), "{text}");
        assert_eq!(
            Plan::new(&sleeping(100_000, Duration::from_secs(2), 8))
                .unwrap()
                .warning(),
            None
        );
    }

    #[test]
    fn the_time_named_is_enough() {
        for duration in [Duration::from_millis(100), Duration::from_secs(2)] {
            let mut o = sleeping(50_000_000, duration, 6);
            for _ in 0..2 {
                let text = match Plan::new(&o) {
                    Ok(plan) => plan.warning().unwrap_or_default(),
                    Err(e) => e.to_string(),
                };
                let Some((_, named)) = text.rsplit_once("--duration ") else {
                    break;
                };
                let named = named.split([' ', ',']).next().unwrap();
                o.duration = Duration::from_nanos(parse_duration_ns(named).unwrap());
            }
            let plan = Plan::new(&o).unwrap();
            assert_eq!(plan.warning(), None, "{:?}", plan.duration);
        }
    }

    #[test]
    fn space_grows_with_samples() {
        let bytes = |samples| {
            let mut o = options();
            o.probes[0] = selection("read-cost", &[("samples", samples)]);
            Plan::new(&o).unwrap().bytes()
        };
        assert!(bytes("1000000") > bytes("1000") + 1_000_000);
        assert!(bytes("1000") < 10_000_000);
    }
}
