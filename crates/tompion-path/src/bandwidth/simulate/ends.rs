//! The two hosts at the ends of a path, as far as they take time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tompion_stats::Distribution;

use super::super::train::TrainPlan;

/// What a host takes for each packet that it sends, by distributions in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The cost of one clock read.
    pub read_ns: Distribution,
    /// Reads for each packet.
    pub reads: u32,
    /// How late a sleep ends; a host without sleeps waits by reading its clock.
    pub sleep_late_ns: Distribution,
    /// The least time that it sleeps rather than waits by reading.
    pub least_sleep_ns: u64,
    /// Packets that it sends after each sleep.
    pub packets_per_sleep: u32,
    /// What sending a packet takes beside.
    pub send_ns: Distribution,
    /// Pauses of the host, and how many there are in a second.
    pub stall_ns: Distribution,
    /// Of these so many a second.
    pub stalls_a_second: f64,
}

/// Both hosts.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The sender's device, in bits a second.
    device_bps: f64,
    pace: Option<Pace>,
    chance: ChaCha8Rng,
}

impl Ends {
    /// Hosts that take no time, with a device of 400 Gbit/s.
    pub fn perfect() -> Self {
        Self {
            device_bps: 400e9,
            pace: None,
            chance: ChaCha8Rng::seed_from_u64(0),
        }
    }

    /// The same with a device of another rate.
    pub fn with_device(self, device_bps: f64) -> Self {
        Self { device_bps, ..self }
    }

    /// A sender that takes its time.
    pub fn paced(self, pace: Pace, seed: u64) -> Self {
        Self {
            pace: Some(pace),
            chance: ChaCha8Rng::seed_from_u64(seed),
            ..self
        }
    }

    /// When the packets of a train depart, if it begins then.
    pub fn departures(&mut self, begin_ns: i64, plan: &TrainPlan) -> Vec<i64> {
        let takes_ns = f64::from(plan.bytes) * 8e9 / self.device_bps;
        let mut free_ns = 0.0_f64;
        let mut now_ns = 0.0_f64;
        let mut left = 0;
        let mut sent = Vec::with_capacity(plan.packets());
        for due in &plan.due_ns {
            let due = *due as f64;
            if let Some(pace) = &self.pace {
                now_ns = pace.ready(now_ns, due, &mut left, &mut self.chance);
            } else {
                now_ns = now_ns.max(due);
            }
            free_ns = free_ns.max(now_ns) + takes_ns;
            sent.push(begin_ns.saturating_add((free_ns - takes_ns).round() as i64));
        }
        sent
    }

    /// When arrivals are stamped.
    pub fn stamps(&mut self, arrived: &[Option<i64>]) -> Vec<Option<i64>> {
        arrived.to_vec()
    }
}

impl Pace {
    /// When it hands over a packet that is due, where it is that late already.
    fn ready(&self, now_ns: f64, due_ns: f64, left: &mut u32, chance: &mut ChaCha8Rng) -> f64 {
        let mut now = now_ns;
        if *left == 0
            && due_ns - now >= self.least_sleep_ns as f64
            && !self.sleep_late_ns.is_empty()
        {
            now = due_ns + draw(&self.sleep_late_ns, chance);
            *left = self.packets_per_sleep.saturating_sub(1);
        } else {
            *left = left.saturating_sub(1);
        }
        now = now.max(due_ns);
        for _ in 0..self.reads {
            now += draw(&self.read_ns, chance);
        }
        now += draw(&self.send_ns, chance);
        let took = now - now_ns;
        if chance.random::<f64>() < self.stalls_a_second * took / 1e9 {
            now += draw(&self.stall_ns, chance);
        }
        now
    }
}

/// One of the values; 0 of none.
fn draw(of: &Distribution, chance: &mut ChaCha8Rng) -> f64 {
    of.quantile(chance.random()).unwrap_or(0.0)
}
