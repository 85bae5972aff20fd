//! When this machine stood still while it measured.

use tompion_cause::Cause;
use tompion_net::monotonic_ns;
use tompion_observe::heartbeat::{Beats, Heartbeat};
use tompion_path::trust::Standstill;

use crate::observed::{SET_NS, ahead_ns};

/// Looks for that, beside a measurement.
pub(crate) struct Beating {
    heartbeat: Heartbeat,
    began_ns: u64,
    ahead_ns: i64,
}

impl Beating {
    /// On these CPUs; nothing without any, and where no thread is to be had.
    pub fn begin(cpus: &[u32]) -> Option<Self> {
        let heartbeat = (!cpus.is_empty()).then(|| Heartbeat::start(cpus));
        Some(Self {
            heartbeat: heartbeat?.ok()?,
            began_ns: monotonic_ns(),
            ahead_ns: ahead_ns(),
        })
    }

    /// The numbers of its threads.
    pub fn tids(&self) -> Vec<i32> {
        self.heartbeat.tids().to_vec()
    }

    /// The measurement is over.
    pub fn finish(self) -> Standstills {
        let ahead = ahead_ns();
        let is_steady = ahead.abs_diff(self.ahead_ns) <= SET_NS;
        let took_ns = monotonic_ns().saturating_sub(self.began_ns);
        let beats = self.heartbeat.finish();
        Standstills::of(&beats, is_steady.then_some(ahead), took_ns)
    }
}

/// When CPUs stood still, by the clock of stamps.
#[derive(Clone, Debug, Default)]
pub struct Standstills {
    /// In the order of their beginnings.
    pub all: Vec<(Standstill, Cause)>,
    /// Whether any CPU was looked at, and the clock of stamps was not set meanwhile.
    pub is_known: bool,
    /// Further ones that there was no room for.
    pub lost: u64,
    /// The share of one CPU that looking took, all CPUs added.
    pub own_cpu_share: f64,
}

impl Standstills {
    fn of(beats: &Beats, ahead_ns: Option<i64>, took_ns: u64) -> Self {
        let at = |ns: u64, ahead_ns: i64| ns.cast_signed().saturating_add(ahead_ns);
        let all = beats.pauses.iter().filter_map(|pause| {
            let ahead_ns = ahead_ns?;
            let standstill = Standstill {
                from_ns: at(pause.from_ns, ahead_ns),
                until_ns: at(pause.until_ns, ahead_ns),
            };
            Some((standstill, pause.cause))
        });
        Self {
            all: all.collect(),
            is_known: ahead_ns.is_some() && !beats.cpus.is_empty(),
            lost: beats.lost,
            own_cpu_share: beats.cpu_time_ns as f64 / took_ns.max(1) as f64,
        }
    }

    /// What most of a time is laid to.
    pub(crate) fn cause(&self, from_ns: i64, until_ns: i64) -> Cause {
        let (mut stolen_ns, mut unseen_ns) = (0_i64, 0_i64);
        for (still, cause) in &self.all {
            let shared = still
                .until_ns
                .min(until_ns)
                .saturating_sub(still.from_ns.max(from_ns))
                .max(0);
            match cause {
                Cause::Stolen => stolen_ns += shared,
                _ => unseen_ns += shared,
            }
        }
        match stolen_ns > unseen_ns {
            true => Cause::Stolen,
            false => Cause::Unseen,
        }
    }
}

#[cfg(test)]
mod tests {
    use tompion_observe::heartbeat::Pause;

    use super::*;

    fn beats() -> Beats {
        let pause = |cpu, from_ns, until_ns, cause| Pause {
            cpu,
            from_ns,
            until_ns,
            cause,
        };
        Beats {
            pauses: vec![
                pause(0, 100, 200, Cause::Unseen),
                pause(1, 300, 350, Cause::Stolen),
                pause(0, 300, 310, Cause::Unseen),
            ],
            cpus: vec![0, 1],
            cpu_time_ns: 10,
            lost: 0,
        }
    }

    #[test]
    fn they_are_told_by_the_clock_of_stamps() {
        let found = Standstills::of(&beats(), Some(1_000), 1_000);
        let [(first, Cause::Unseen), (second, Cause::Stolen), _] = found.all[..] else {
            panic!("{found:?}");
        };
        assert_eq!((first.from_ns, first.until_ns), (1_100, 1_200));
        assert_eq!((second.from_ns, second.until_ns), (1_300, 1_350));
        assert!(found.is_known && found.own_cpu_share == 0.01);
        assert_eq!(found.cause(1_000, 1_250), Cause::Unseen);
        assert_eq!(found.cause(1_290, 1_400), Cause::Stolen);
    }

    #[test]
    fn of_a_clock_that_was_set_nothing_is_known() {
        let found = Standstills::of(&beats(), None, 1_000);
        assert!(found.all.is_empty() && !found.is_known);
        assert!(!Standstills::of(&Beats::default(), Some(0), 1).is_known);
        assert!(Beating::begin(&[]).is_none());
    }
}
