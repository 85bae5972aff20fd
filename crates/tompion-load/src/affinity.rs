//! CPUs that the threads of a load may use.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tompion_host::{cpu_list, usable_cpus};
use tompion_model::Unavailable;

use crate::spec::Cpus;

/// The CPUs of a load; empty for any.
#[derive(Debug, PartialEq)]
pub struct Placement(Vec<u32>);

/// Confines this process to the CPUs asked for.
///
/// # Errors
/// If one of them is not there or not allowed, or the measured one is unknown.
pub fn settle(cpus: Option<&Cpus>, measured: Option<u32>) -> Result<Placement, Unavailable> {
    let wanted = match cpus {
        None => return Ok(Placement(Vec::new())),
        Some(Cpus::List(list)) => list.clone(),
        Some(cpus) => {
            let measured = measured_cpu(measured, &format!("cpus={cpus}"))?;
            match cpus {
                Cpus::Measured => vec![measured],
                _ => others(measured)?,
            }
        }
    };
    tompion_host::require_cpus(&wanted)?;
    let usable = cpu_list(&usable_cpus());
    // One by one: of several the kernel passes over those that it cannot give.
    for cpu in &wanted {
        set(std::slice::from_ref(cpu))
            .map_err(|e| format!("CPU {cpu} cannot be used ({e}); usable are {usable}"))?;
    }
    set(&wanted).map_err(Unavailable::refused("could not be confined to its CPUs"))?;
    Ok(Placement(wanted))
}

/// The measured CPU, or how to have one.
pub fn measured_cpu(measured: Option<u32>, option: &str) -> Result<u32, Unavailable> {
    measured.ok_or_else(|| {
        let text = format!(
            "{option} needs a measurement that is pinned to a CPU: pin it to one, or name a number \
             here"
        );
        text.into()
    })
}

fn others(measured: u32) -> Result<Vec<u32>, Unavailable> {
    let mut list = usable_cpus();
    list.retain(|cpu| *cpu != measured);
    match list.is_empty() {
        true => Err(format!("there is no other CPU than the measured one, {measured}").into()),
        false => Ok(list),
    }
}

fn set(cpus: &[u32]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}

impl Placement {
    /// Pins the calling thread, one of `threads` by its number. Threads are dealt
    /// out over the CPUs; fewer of them than CPUs may each use all.
    pub fn pin(&self, number: usize, threads: usize) -> nix::Result<()> {
        match self.of_thread(number, threads) {
            Some(cpu) => set(&[cpu]),
            None => Ok(()),
        }
    }

    fn of_thread(&self, number: usize, threads: usize) -> Option<u32> {
        let Self(cpus) = self;
        (!cpus.is_empty() && threads >= cpus.len()).then(|| cpus[number % cpus.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_dealt_out() {
        let placement = Placement(vec![0, 2, 3]);
        let of = |number| placement.of_thread(number, 4);
        assert_eq!([0, 1, 2, 3].map(of), [0, 2, 3, 0].map(Some));
        assert_eq!(placement.of_thread(0, 2), None, "all three");
        assert_eq!(Placement(Vec::new()).of_thread(0, 1), None);
    }

    #[test]
    fn an_absent_cpu_is_told_with_those_that_exist() {
        let message = settle(Some(&Cpus::List(vec![0, 8191])), None)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("CPU 8191 does not exist; this machine has"),
            "{message}"
        );
    }

    #[test]
    fn the_measured_cpu_must_be_known() {
        for cpus in [Cpus::Measured, Cpus::Others] {
            let message = settle(Some(&cpus), None).unwrap_err().to_string();
            assert!(message.contains("pin it to one"), "{message}");
        }
        assert_eq!(settle(None, None), Ok(Placement(Vec::new())));
    }

    #[test]
    fn others_are_all_but_the_measured_one() {
        let all = usable_cpus();
        let rest = others(all[0]);
        match all.len() {
            1 => assert!(rest.is_err()),
            _ => assert_eq!(rest.unwrap(), all[1..]),
        }
    }
}
