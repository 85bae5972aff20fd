//! Who used the CPUs while something was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time that others than Tompion took between two looks at the machine's programs, all
/// CPUs added. Tompion's own, its loads and the workers of a lab are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuUse {
    /// From one look to the other, in nanoseconds.
    pub watched_ns: u64,
    /// CPUs that were online.
    pub cpus: u32,
    /// CPU time of other programs, as far as they are seen, in nanoseconds.
    pub programs_ns: u64,
    /// CPU time of the kernel's own threads, in nanoseconds; absent where they are not seen,
    /// as in most containers: then neither are all programs.
    pub kernel_threads_ns: Option<u64>,
    /// What the hypervisor took by the kernel's count, in nanoseconds, in steps of a tick; absent
    /// where that is not told.
    pub stolen_ns: Option<u64>,
    /// The programs that took most, by name, the greatest first.
    pub most: Vec<ProgramUse>,
}

/// CPU time of all programs of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgramUse {
    /// Their name; of what began and ended between the looks, that of whoever started it.
    #[schemars(extend("privacy" = "process"))]
    pub name: String,
    /// Their CPU time, in nanoseconds.
    pub cpu_time_ns: u64,
}

impl ProgramUse {
    /// Those of these names, each with its CPU time in nanoseconds.
    pub fn each(named: &[(&str, u64)]) -> Vec<Self> {
        let one = |&(name, cpu_time_ns): &(&str, u64)| Self {
            name: name.to_owned(),
            cpu_time_ns,
        };
        named.iter().map(one).collect()
    }
}

impl CpuUse {
    /// Names that are kept.
    pub const MOST: usize = 3;

    /// Names that are kept of many times: a run may come from a stranger.
    const ADDED: usize = 64;

    /// CPU time that there was, in nanoseconds.
    pub fn available_ns(&self) -> u64 {
        self.watched_ns.saturating_mul(self.cpus.into())
    }

    /// `ns` as a share of it, 0 to 1: counters go in ticks, and may count more than there was.
    pub fn share(&self, ns: u64) -> f64 {
        (ns as f64 / self.available_ns().max(1) as f64).min(1.0)
    }

    /// Whether the programs of the whole machine were seen.
    pub fn sees_all(&self) -> bool {
        self.kernel_threads_ns.is_some()
    }

    /// Adds what another time brought, with its names.
    pub fn add(&mut self, other: &Self) {
        let is_first = self.watched_ns == 0;
        self.cpus = self.cpus.max(other.cpus);
        self.watched_ns = self.watched_ns.saturating_add(other.watched_ns);
        self.programs_ns = self.programs_ns.saturating_add(other.programs_ns);
        let sum = |a: Option<u64>, b: Option<u64>| match is_first {
            true => b,
            false => a.zip(b).map(|(a, b)| a.saturating_add(b)),
        };
        self.kernel_threads_ns = sum(self.kernel_threads_ns, other.kernel_threads_ns);
        self.stolen_ns = sum(self.stolen_ns, other.stolen_ns);
        for one in other.most.iter().take(Self::MOST) {
            match self.most.iter_mut().find(|known| known.name == one.name) {
                Some(known) => {
                    known.cpu_time_ns = known.cpu_time_ns.saturating_add(one.cpu_time_ns)
                }
                None => self.most.push(one.clone()),
            }
        }
        self.most
            .sort_by(|a, b| (b.cpu_time_ns, &a.name).cmp(&(a.cpu_time_ns, &b.name)));
        self.most.truncate(Self::ADDED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(watched_ns: u64, programs_ns: u64, most: &[(&str, u64)]) -> CpuUse {
        CpuUse {
            watched_ns,
            cpus: 2,
            programs_ns,
            kernel_threads_ns: Some(10),
            stolen_ns: None,
            most: ProgramUse::each(most),
        }
    }

    #[test]
    fn times_and_names_add_up() {
        let mut all = CpuUse::default();
        all.add(&of(1_000, 500, &[("cc1", 400), ("make", 100)]));
        all.add(&of(3_000, 700, &[("make", 600), ("ld", 100)]));
        let want = CpuUse {
            kernel_threads_ns: Some(20),
            ..of(4_000, 1_200, &[("make", 700), ("cc1", 400), ("ld", 100)])
        };
        assert_eq!(all, want);
        assert_eq!(all.share(all.programs_ns), 0.15);
        let blind = CpuUse {
            kernel_threads_ns: None,
            ..of(1_000, 0, &[])
        };
        all.add(&blind);
        assert!(!all.sees_all(), "once not seen is not seen");
    }

    #[test]
    fn names_without_end_are_not_kept() {
        let mut all = CpuUse::default();
        for i in 0..1_000 {
            let name = format!("p{i}");
            all.add(&of(
                10,
                7,
                &[("hog", 5), (&name, 2), ("a", 0), ("fourth", 0)],
            ));
        }
        assert_eq!((all.most.len(), all.programs_ns), (CpuUse::ADDED, 7_000));
        assert_eq!(
            (all.most[0].name.as_str(), all.most[0].cpu_time_ns),
            ("hog", 5_000)
        );
    }

    #[test]
    fn a_share_is_one_at_most_and_of_no_time_none() {
        assert_eq!(of(1_000, 0, &[]).share(2_100), 1.0);
        assert_eq!(CpuUse::default().share(0), 0.0);
    }
}
