//! What one packet may cost: how many clock reads fit into the time of a packet, how
//! many packets one sleep takes, and which rate a program reaches that reads and
//! sleeps as often as Kirova 2019 and Korniichuk 2017 count.
//!
//! The arithmetic is that of equation 1 of Kirova 2019 (R = 8 * MTU / T, 1500 bytes)
//! and of the papers' counts: packets/s = 1 / (reads * read cost + wake-up latency).

use std::collections::{BTreeMap, HashMap};

use tompion_model::{Blocks, Cell, MethodRow, Way, factor, parse_duration_ns};
use tompion_probe::method;
use tompion_probe::{read_cost, wake_up};
use tompion_stats::{BlockRange, Interval};

use crate::data::ReportData;
use crate::grid::{load_title, sort_loads};
use crate::precision::LEVEL;
use crate::precision::rounded;

/// Clock reads for each packet of a bandwidth estimator: Kirova 2019 counts more than
/// 200 with about one sleep, Korniichuk 2017 counts 187.
pub(crate) const READS_PER_PACKET: f64 = 200.0;

/// Bits of a packet of 1500 bytes.
const PACKET_BITS: f64 = 8.0 * 1500.0;

/// The rates of the fitness profiles for pacing: name and packet time in nanoseconds.
pub(crate) const RATES: [(&str, f64); 4] = [
    ("300 Mbit/s", PACKET_BITS / 0.3),
    ("1 Gbit/s", PACKET_BITS),
    ("10 Gbit/s", PACKET_BITS / 10.0),
    ("100 Gbit/s", PACKET_BITS / 100.0),
];

/// The functions that programs use, and those that are precise.
const WAYS: [(&str, IsUsed); 2] = [
    ("standard functions", |m| {
        !m.is_coarse && matches!(m.way, Way::Vdso | Way::Sleeps)
    }),
    ("precise functions", |m| {
        matches!(m.way, Way::Counter | Way::OwnClock | Way::SleepsThenSpins)
    }),
];

/// Whether a method is one of those.
type IsUsed = fn(&MethodRow) -> bool;

/// The names of a probe's methods that are used so, the most usual first.
fn methods(probe: &str, is_used: IsUsed) -> Vec<&'static str> {
    let rows = method::rows().filter(|m| m.probe == probe && m.usual.is_some() && is_used(m));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|m| m.usual);
    rows.into_iter().map(|m| m.name).collect()
}

/// The budget of one way under one load.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Where it was measured; absent where the run names no platforms.
    pub platform: Option<String>,
    /// What ran beside it.
    pub load: String,
    /// `standard functions` or `precise functions`.
    pub way: &'static str,
    /// The clock that is read.
    pub clock: String,
    /// How it sleeps; absent where no such sleep was measured.
    pub sleep: Option<String>,
    /// Median cost of a read in nanoseconds.
    pub read_ns: Measured,
    /// Median wake-up latency in nanoseconds.
    pub late_ns: Option<Measured>,
}

/// A median with its interval over blocks.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The median of the mean of all blocks.
    pub value: f64,
    /// Or why none over blocks would hold its level, in words.
    pub interval: Result<Interval, String>,
    /// From which block's figure to which, where they disagree.
    pub range: Option<BlockRange>,
}

impl Measured {
    fn of(blocks: &Blocks) -> Option<Self> {
        let median = blocks.quantile(0.5, LEVEL)?;
        (median.value > 0.0).then(|| Self {
            value: median.value / 1e3,
            interval: match median.interval {
                Ok(interval) => Ok(interval.scaled(1e-3)),
                Err(why) => Err(why.to_string()),
            },
            range: median.range.map(|r| r.scaled(1e-3)),
        })
    }

    /// The same through a falling function: the ends change places.
    fn falling(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            value: f(self.value),
            interval: self.interval.clone().map(|i| Interval {
                low: f(i.high),
                high: f(i.low),
                level: i.level,
            }),
            range: self.range.map(|r| BlockRange {
                low: f(r.high),
                high: f(r.low),
            }),
        }
    }

    /// The same so many times.
    fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            interval: self.interval.clone().map(|i| i.scaled(factor)),
            range: self.range.map(|r| r.scaled(factor)),
        }
    }

    /// With no more digits than its interval supports; where blocks disagree, from which of
    /// theirs to which.
    pub(crate) fn in_words(&self) -> String {
        match self.range {
            Some(r) => format!(
                "{} to {} (blocks)",
                rounded(r.low, None),
                rounded(r.high, None)
            ),
            None => rounded(self.value, self.interval.as_ref().ok().copied()),
        }
    }
}

impl Budget {
    /// Platform and load in words.
    pub(crate) fn place(&self) -> String {
        let load = load_title(&self.load);
        let platform = self.platform.iter();
        platform.fold(load.to_owned(), |load, platform| {
            format!("{platform}, {load}")
        })
    }

    /// Clock reads that fit into the time of one packet.
    pub(crate) fn reads_that_fit(&self, packet_ns: f64) -> Measured {
        self.read_ns.falling(|cost| packet_ns / cost)
    }

    /// Packets that are due within one wake-up latency: below 1 a sleep for every
    /// packet keeps the rate.
    pub(crate) fn packets_per_sleep(&self, packet_ns: f64) -> Option<Measured> {
        Some(self.late_ns.as_ref()?.scaled(1.0 / packet_ns))
    }

    /// Packets a second with [`READS_PER_PACKET`] reads and one sleep each. Both
    /// intervals' ends go in together, which makes the interval a wide one.
    pub(crate) fn packets_per_second(&self) -> Option<Measured> {
        let (reads, late) = (&self.read_ns, self.late_ns.as_ref()?);
        let rate = |read: f64, late: f64| 1e9 / (READS_PER_PACKET * read + late);
        Some(Measured {
            value: rate(reads.value, late.value),
            interval: match (&reads.interval, &late.interval) {
                (Ok(r), Ok(l)) => Ok(Interval {
                    low: rate(r.high, l.high),
                    high: rate(r.low, l.low),
                    level: r.level,
                }),
                (Err(why), _) => Err(format!("{why} (of reads)")),
                (_, Err(why)) => Err(format!("{why} (of sleeps)")),
            },
            range: {
                let ends = |m: &Measured| m.range.map_or((m.value, m.value), |r| (r.low, r.high));
                let ((least, most), (soonest, latest)) = (ends(reads), ends(late));
                let (low, high) = (rate(most, latest), rate(least, soonest));
                // Sleeps that differ hardly matter where reads take nearly all of the time.
                (high > 1.1 * low).then_some(BlockRange { low, high })
            },
        })
    }
}

/// What that many packets a second carry, for example `2.4 Gbit/s`.
pub(crate) fn bit_rate(packets_per_second: &Measured) -> String {
    let bits = packets_per_second.value * PACKET_BITS;
    let (unit, name) = match bits {
        b if b >= 1e9 => (1e9, "Gbit/s"),
        b if b >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    let number = packets_per_second.scaled(PACKET_BITS / unit).in_words();
    match number.strip_suffix(" (blocks)") {
        Some(range) => format!("{range} {name} (blocks)"),
        None => format!("{number} {name}"),
    }
}

/// The budgets of a run, platform by platform and load by load; empty where no clock was read.
pub(crate) fn budgets(data: &ReportData) -> Vec<Budget> {
    let mut by_platform: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    let all = data.cells().iter().map(|cell| &cell.factors);
    for f in all.filter(|f| f.level(factor::PROBE) == read_cost::NAME) {
        let loads = by_platform.entry(f.get(factor::PLATFORM)).or_default();
        loads.push(f.level(factor::LOAD));
    }
    let usual = usual_cells(data);
    let mut all = Vec::new();
    for (platform, loads) in by_platform {
        all.extend(of_platform(&usual, platform, loads));
    }
    all
}

/// Cells with default settings by probe, method, platform and load: of several that at the shortest
/// target.
type Usual<'k, 'c> = HashMap<(&'k str, &'k str, Option<&'k str>, &'k str), &'c Cell>;

fn usual_cells(data: &ReportData) -> Usual<'_, '_> {
    let target = |cell: &Cell| parse_duration_ns(cell.factors.get(factor::TARGET)?).ok();
    let mut found: Usual<'_, '_> = HashMap::new();
    for shown in data.shown() {
        let f = &shown.cell.factors;
        let is_usual = |name, level| f.get(name).is_none_or(|found| found == level);
        if !is_usual(factor::SLACK, "default") || !is_usual(factor::POLICY, "other") {
            continue;
        }
        let [probe, method, load] =
            [factor::PROBE, factor::METHOD, factor::LOAD].map(|name| f.level(name));
        let first = found
            .entry((probe, method, f.get(factor::PLATFORM), load))
            .or_insert(shown.cell);
        if target(shown.cell) < target(first) {
            *first = shown.cell;
        }
    }
    found
}

fn of_platform(usual: &Usual<'_, '_>, platform: Option<&str>, mut loads: Vec<&str>) -> Vec<Budget> {
    sort_loads(&mut loads);
    loads.dedup();
    let mut all = Vec::new();
    for load in loads {
        for (way, is_used) in WAYS {
            let (clocks, sleeps) = (
                methods(read_cost::NAME, is_used),
                methods(wake_up::NAME, is_used),
            );
            let read = first(usual, read_cost::NAME, &clocks, (platform, load)).and_then(
                |(clock, cell)| {
                    let blocks = match cell.batched_blocks.is_empty() {
                        true => &cell.blocks,
                        false => &cell.batched_blocks,
                    };
                    Some((clock, Measured::of(blocks)?))
                },
            );
            let Some((clock, read_ns)) = read else {
                continue;
            };
            let sleep = first(usual, wake_up::NAME, &sleeps, (platform, load))
                .and_then(|(name, cell)| Some((name, Measured::of(&cell.blocks)?)));
            all.push(Budget {
                platform: platform.map(str::to_owned),
                load: load.to_owned(),
                way,
                clock: clock.to_owned(),
                sleep: sleep.as_ref().map(|s| s.0.to_owned()),
                read_ns,
                late_ns: sleep.map(|s| s.1),
            });
        }
    }
    all
}

/// The cell of the first of `methods` that was measured under `load` with default
/// settings, at the shortest target.
fn first<'a>(
    usual: &Usual<'_, 'a>,
    probe: &str,
    methods: &[&'static str],
    (platform, load): (Option<&str>, &str),
) -> Option<(&'static str, &'a Cell)> {
    methods.iter().find_map(|method| {
        let cell = usual.get(&(probe, *method, platform, load))?;
        Some((*method, *cell))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(value: f64) -> Measured {
        Measured {
            value,
            interval: Ok(Interval {
                low: value * 0.5,
                high: value * 2.0,
                level: 0.95,
            }),
            range: None,
        }
    }

    fn budget(read: f64, late: f64) -> Budget {
        Budget {
            platform: None,
            load: "idle".into(),
            way: "standard functions",
            clock: "clock-monotonic".into(),
            sleep: Some("usleep".into()),
            read_ns: measured(read),
            late_ns: Some(measured(late)),
        }
    }

    #[test]
    fn the_arithmetic_is_that_of_the_papers() {
        let b = budget(25.0, 55_000.0);
        // 200 reads of 25 ns and one sleep 55 us late: 60 us a packet.
        let rate = b.packets_per_second().unwrap();
        assert!((rate.value - 1e9 / 60_000.0).abs() < 1e-6);
        let i = rate.interval.clone().unwrap();
        assert!((i.low - 1e9 / 120_000.0).abs() < 1e-6 && (i.high - 1e9 / 30_000.0).abs() < 1e-6);
        // Equation 1: 12 us a packet at 1 Gbit/s.
        assert_eq!(RATES[1], ("1 Gbit/s", 12_000.0));
        let reads = b.reads_that_fit(12_000.0);
        assert_eq!(reads.value, 480.0);
        assert_eq!(reads.interval.map(|i| (i.low, i.high)), Ok((240.0, 960.0)));
        assert!((b.packets_per_sleep(12_000.0).unwrap().value - 55.0 / 12.0).abs() < 1e-12);
        assert_eq!(bit_rate(&rate), "200 Mbit/s");
    }

    #[test]
    fn blocks_that_disagree_give_a_range() {
        let mut b = budget(25.0, 3_800_000.0);
        let late_ns = b.late_ns.as_mut().unwrap();
        late_ns.range = Some(BlockRange {
            low: 67_000.0,
            high: 3_900_000.0,
        });
        let rate = b.packets_per_second().unwrap();
        assert_eq!(rate.in_words(), "256 to 13\u{202f}900 (blocks)");
        assert_eq!(bit_rate(&rate), "3.07 to 167 Mbit/s (blocks)");
        let sleeps = b.packets_per_sleep(12_000.0).unwrap();
        assert_eq!(sleeps.in_words(), "5.58 to 325 (blocks)");
        assert_eq!(b.reads_that_fit(12_000.0).range, None);
    }
}
