//! Traffic of others in a queue, without packets of its own: what waits when the next real packet
//! arrives is drawn, or reckoned, in a bounded number of steps.

use rand_distr::{Distribution, Poisson};

use crate::model::chance::Chance;
use crate::model::plan::{CrossPattern, CrossTraffic};

/// Bits times 10^9, as in the queue.
type Work = u128;

/// Most steps between two packets. Beyond so many busy and idle stretches what was in the queue
/// before is forgotten but for loads next to 1, and it is drawn anew as it is in the long run.
const MOST_STEPS: u128 = 512;
/// Logarithm of the chance, about one in a million, that a queue counts as settled and is not.
const SETTLED: f64 = 14.0;
/// Most draws for one work of the long run; beyond it a sum of so many is normal.
const MOST_DRAWS: f64 = 256.0;

/// Cross traffic of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Cross {
    /// What the queue does in a nanosecond.
    rate: Work,
    /// Bytes of one packet with the queue's overhead.
    packet_bytes: u64,
    /// How many arrive at once.
    per_batch: u128,
    /// Work of these.
    batch: Work,
    /// Batches a nanosecond.
    per_ns: f64,
    /// Share of the queue's rate that the traffic takes.
    load: f64,
    /// After how many nanoseconds an empty queue is as it is in the long run.
    settles_ns: f64,
    arrivals: Arrivals,
    chance: Chance,
    /// Batches that came so far.
    came: u128,
}

#[derive(Clone, Copy, Debug)]
enum Arrivals {
    /// At equal intervals.
    Constant(Grid),
    /// At random.
    Poisson,
}

impl Cross {
    pub(crate) fn new(plan: &CrossTraffic, rate_bps: u64, overhead: u32, chance: Chance) -> Self {
        let packet_bytes = u64::from(plan.packet_bytes) + u64::from(overhead);
        let per_batch = match plan.pattern {
            CrossPattern::Bursts(packets) => packets,
            CrossPattern::Constant | CrossPattern::Poisson => 1,
        };
        // The rate is without overhead, the work with it.
        let own_work = Work::from(plan.packet_bytes) * u128::from(per_batch) * 8_000_000_000;
        let batch = Work::from(packet_bytes) * u128::from(per_batch) * 8_000_000_000;
        let per_ns = plan.rate_bps as f64 / own_work as f64;
        let arrivals = match plan.pattern {
            CrossPattern::Constant => Arrivals::Constant(Grid {
                first_ns: 0,
                interval: (own_work, plan.rate_bps.into()),
            }),
            CrossPattern::Poisson | CrossPattern::Bursts(_) => Arrivals::Poisson,
        };
        let load = per_ns * batch as f64 / rate_bps as f64;
        // By how much the chance that the queue has not been empty yet falls in one service of a
        // batch, in the long run: the minimum of the logarithm of the moments of what comes less
        // what is served.
        let falls = load - 1.0 - load.ln();
        let service_ns = batch as f64 / rate_bps as f64;
        Self {
            rate: rate_bps.into(),
            packet_bytes,
            per_batch: per_batch.into(),
            batch,
            per_ns,
            load,
            settles_ns: SETTLED * service_ns / falls,
            arrivals,
            chance,
            came: 0,
        }
    }

    /// Bytes that came so far with the queue's overhead.
    pub(crate) fn came_bytes(&self) -> u128 {
        self.came * self.per_batch * u128::from(self.packet_bytes)
    }

    /// Bytes of one packet with the queue's overhead.
    pub(crate) fn packet_bytes(&self) -> u64 {
        self.packet_bytes
    }

    /// What waits when the first packet arrives: the traffic has gone on for long. At most `most`
    /// may.
    pub(crate) fn begin(&mut self, at_ns: i64, most: Work) -> Work {
        if let Arrivals::Constant(grid) = &mut self.arrivals {
            let interval_ns = grid.interval.0 as f64 / grid.interval.1 as f64;
            let since_ns = (self.chance.share() * interval_ns) as u64;
            grid.first_ns = at_ns.saturating_sub_unsigned(since_ns);
            if self.load < 1.0 {
                let since_ns = at_ns.abs_diff(grid.first_ns);
                return self.served(self.admitted(0, most), since_ns);
            }
        }
        self.in_the_long_run(most)
    }

    /// What waits at `until`, where `work` waited at `from` and at most `most` may.
    pub(crate) fn advance(&mut self, work: Work, from: i64, until: i64, most: Work) -> Work {
        match self.arrivals {
            Arrivals::Constant(grid) => self.constant(work, from, until, grid, most),
            Arrivals::Poisson => self.poisson(work, until.abs_diff(from), most),
        }
    }

    /// What is left of some work after a time.
    fn served(&self, work: Work, ns: u64) -> Work {
        work.saturating_sub(self.rate * Work::from(ns))
    }

    /// What waits once a batch has come: of its packets those that fit get in.
    fn admitted(&self, work: Work, most: Work) -> Work {
        let packet = self.batch / self.per_batch;
        let fit = most.saturating_sub(work) / packet;
        work + fit.min(self.per_batch) * packet
    }

    /// Equal intervals. Where nothing is dropped, the work at the end is the largest of what it
    /// would be had the queue last been empty before the first arrival, before the last one, or
    /// never (Lindley 1952): from one arrival between these to the next it changes by the same
    /// amount.
    fn constant(&mut self, work: Work, from: i64, until: i64, grid: Grid, most: Work) -> Work {
        let (before, by_then) = (grid.come(from), grid.come(until));
        let arrivals = by_then - before;
        let lasts_ns = until.abs_diff(from);
        self.came += arrivals;
        if arrivals == 0 {
            return self.served(work, lasts_ns);
        }
        let all = arrivals.saturating_mul(self.batch);
        let at_most = work.saturating_add(all);
        if at_most > most && arrivals <= MOST_STEPS {
            let (mut work, mut now) = (work, from);
            for k in before..by_then {
                let comes = grid.comes_ns(k);
                work = self.admitted(self.served(work, comes.abs_diff(now)), most);
                now = comes;
            }
            return self.served(work, until.abs_diff(now));
        }
        let never_empty = self.served(at_most, lasts_ns);
        let since_first = self.served(all, until.abs_diff(grid.comes_ns(before)));
        let since_last = self.served(self.batch, until.abs_diff(grid.comes_ns(by_then - 1)));
        let later = never_empty.max(since_first).max(since_last);
        self.limited(later, most)
    }

    /// At random. While what waits is served, whatever comes waits behind it: a step is as long
    /// as that takes, and how much came meanwhile is one draw. From an empty queue a step leads
    /// to the next arrival. Where something may have been dropped, the arrivals of a step are
    /// gone through.
    fn poisson(&mut self, work: Work, lasts_ns: u64, most: Work) -> Work {
        if self.forgets(work, lasts_ns, most) {
            self.came += self.on_average(lasts_ns);
            return self.in_the_long_run(most);
        }
        let (mut work, mut left_ns) = (work, lasts_ns);
        let mut steps = MOST_STEPS;
        while steps > 0 {
            if work == 0 {
                let idle_ns = (-(1.0 - self.chance.share()).ln() / self.per_ns).round();
                if idle_ns > left_ns as f64 {
                    return 0;
                }
                left_ns -= (idle_ns as u64).min(left_ns);
                self.came += 1;
                work = self.admitted(0, most);
            }
            let busy_ns = u64::try_from(work.div_ceil(self.rate)).unwrap_or(u64::MAX);
            let step_ns = busy_ns.min(left_ns);
            let arrivals = self.drawn(step_ns);
            let all = arrivals.saturating_mul(self.batch);
            work = if work.saturating_add(all) <= most {
                steps -= 1;
                self.served(work, step_ns) + all
            } else if arrivals <= steps {
                steps -= arrivals;
                self.one_by_one(work, step_ns, arrivals, most)
            } else {
                steps -= 1;
                self.limited(self.served(work.saturating_add(all), step_ns), most)
            };
            left_ns -= step_ns;
            if left_ns == 0 {
                return work;
            }
        }
        if self.load < 1.0 {
            self.came += self.on_average(left_ns);
            return self.in_the_long_run(most);
        }
        let all = self.drawn(left_ns).saturating_mul(self.batch);
        self.limited(self.served(work.saturating_add(all), left_ns), most)
    }

    /// Whether after such a time nothing is left of what waited before.
    fn forgets(&self, work: Work, lasts_ns: u64, most: Work) -> bool {
        let (rate, lasts_ns) = (self.rate as f64, lasts_ns as f64);
        if self.load < 1.0 {
            let empties_ns = work as f64 / (rate * (1.0 - self.load));
            lasts_ns > 2.0 * empties_ns + self.settles_ns
        } else {
            lasts_ns * rate * (self.load - 1.0) > 4.0 * most as f64
        }
    }

    /// So many arrivals at random within a time, in their order.
    fn one_by_one(&mut self, work: Work, lasts_ns: u64, arrivals: u128, most: Work) -> Work {
        let (mut work, mut left_ns) = (work, lasts_ns);
        for yet_to_come in (1..=arrivals).rev() {
            // The first of so many that are uniform over what is left.
            let first = 1.0 - self.chance.share().powf(1.0 / yet_to_come as f64);
            let gap_ns = ((left_ns as f64 * first).round() as u64).min(left_ns);
            work = self.admitted(self.served(work, gap_ns), most);
            left_ns -= gap_ns;
        }
        self.served(work, left_ns)
    }

    /// How many batches come in a time.
    fn drawn(&mut self, ns: u64) -> u128 {
        let mean = ns as f64 * self.per_ns;
        let came = match Poisson::new(mean) {
            Ok(poisson) => poisson.sample(self.chance.rng()) as u128,
            // None at a mean of 0, and as many as it says where it is beyond what can be drawn.
            Err(_) => mean as u128,
        };
        self.came += came;
        came
    }

    /// How many batches come in a time on average.
    fn on_average(&self, ns: u64) -> u128 {
        (ns as f64 * self.per_ns) as u128
    }

    /// Work that cannot be more than `most`: where it would be, the queue is full.
    fn limited(&mut self, work: Work, most: Work) -> Work {
        match work < most {
            true => work,
            false => self.full(most),
        }
    }

    /// What waits in a queue that is kept full. A packet gets in as soon as one comes after there
    /// is room for it: for 1 / load of the time there is, and one of ours that is as large finds
    /// it with that probability.
    fn full(&mut self, most: Work) -> Work {
        let packet = self.batch / self.per_batch;
        let free = if self.chance.share() * self.load.max(1.0) < 1.0 {
            let waits_ns = -(1.0 - self.chance.share()).ln() / self.per_ns;
            packet.saturating_add((waits_ns as u128).saturating_mul(self.rate))
        } else {
            (self.chance.share() * packet as f64) as Work
        };
        most.saturating_sub(free)
    }

    /// What waits in the long run, without regard to what waited before: by Pollaczek and
    /// Khinchine a number of parts that is geometrically distributed, each of them a batch that
    /// is partly served, uniformly.
    fn in_the_long_run(&mut self, most: Work) -> Work {
        if self.load >= 1.0 {
            return self.full(most);
        }
        let parts = ((1.0 - self.chance.share()).ln() / self.load.ln()).floor();
        let batches = if parts <= MOST_DRAWS {
            let draws = 0..parts as u32;
            draws.map(|_| self.chance.share()).sum()
        } else {
            let twelve: f64 = (0..12).map(|_| self.chance.share()).sum();
            parts / 2.0 + (twelve - 6.0) * (parts / 12.0).sqrt()
        };
        let work = (batches.max(0.0) * self.batch as f64) as Work;
        self.limited(work, most)
    }
}

/// Arrivals at equal intervals: the k-th at `first_ns + ⌈k · interval⌉`.
#[derive(Clone, Copy, Debug)]
struct Grid {
    first_ns: i64,
    /// Nanoseconds, as a ratio.
    interval: (u128, u128),
}

impl Grid {
    /// How many have come up to a time that is not before the first.
    fn come(self, at_ns: i64) -> u128 {
        let since = u128::from(at_ns.abs_diff(self.first_ns));
        since * self.interval.1 / self.interval.0 + 1
    }

    /// When one comes, counted from 0.
    fn comes_ns(self, k: u128) -> i64 {
        let after = (k * self.interval.0).div_ceil(self.interval.1);
        self.first_ns
            .saturating_add_unsigned(u64::try_from(after).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
