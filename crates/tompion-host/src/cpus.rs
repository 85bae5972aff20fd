//! CPUs by number: which there are, and which this process may use.

use crate::root::Root;
use tompion_model::Unavailable;

/// The CPUs that this process may use, by number; empty where the system does not
/// tell.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .map(|cpu| cpu as u32)
        .collect()
}

/// Refuses CPUs that this machine does not have, or that are switched off. Whether
/// this process may use the others is for the kernel to say when it is asked.
///
/// # Errors
/// Which do not exist, which do, and which of these this process may use, in one line.
pub fn require_cpus(named: &[u32]) -> Result<(), Unavailable> {
    require(named, online(&Root::real()), &usable_cpus())
}

/// CPUs as a list with ranges, such as `0-3,8`; they need not be in order.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let runs: Vec<String> = runs
        .map(|run| match run {
            [cpu] => cpu.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect();
    runs.join(",")
}

/// The CPUs that are switched on; absent where the system does not tell.
fn online(root: &Root) -> Option<Vec<u32>> {
    let text = root.text("/sys/devices/system/cpu/online")?;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

fn require(named: &[u32], online: Option<Vec<u32>>, usable: &[u32]) -> Result<(), Unavailable> {
    // Where nobody tells, the kernel will refuse what is not there.
    let Some(mut there) = online else {
        return Ok(());
    };
    // In containers the list of the machine is at times replaced by a made-up one.
    there.extend(usable);
    let absent: Vec<u32> = named
        .iter()
        .copied()
        .filter(|cpu| !there.contains(cpu))
        .collect();
    if absent.is_empty() {
        return Ok(());
    }
    let does = match absent.len() {
        1 => format!("CPU {} does", absent[0]),
        _ => format!("CPUs {} do", cpu_list(&absent)),
    };
    let (there, usable) = (cpu_list(&there), cpu_list(usable));
    let which = if there == usable {
        "all of which this process may use".to_owned()
    } else {
        format!("of which this process may use {usable}")
    };
    Err(format!("{does} not exist; this machine has {there}, {which}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_cpus_are_named_beside_those_that_exist() {
        let refuse = |named: &[u32], usable: &[u32]| {
            require(named, Some(vec![0, 1, 2, 3, 8]), usable).unwrap_err()
        };
        assert_eq!(
            refuse(&[0, 99], &[1, 3]),
            "CPU 99 does not exist; this machine has 0-3,8, of which this process may use 1,3"
                .into()
        );
        assert_eq!(
            refuse(&[4, 8, 6, 5], &[0, 1, 2, 3, 8]),
            "CPUs 4-6 do not exist; this machine has 0-3,8, all of which this process may use"
                .into()
        );
        assert_eq!(require(&[8], Some(vec![0, 8]), &[0]), Ok(()));
        // A made-up list beside a true one.
        assert_eq!(require(&[5], Some(vec![0, 1]), &[4, 5]), Ok(()));
        assert_eq!(require(&[99], None, &[0]), Ok(()), "nobody tells");
    }

    #[test]
    fn the_kernels_list_is_understood() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert_eq!(online(&root), None);
        let directory = tree.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&directory).unwrap();
        for (text, cpus) in [("0\n", vec![0]), ("0-2,5,7-8\n", vec![0, 1, 2, 5, 7, 8])] {
            std::fs::write(directory.join("online"), text).unwrap();
            assert_eq!(online(&root), Some(cpus));
        }
    }

    #[test]
    fn the_cpus_of_this_process_exist() {
        let usable = usable_cpus();
        assert!(!usable.is_empty());
        assert_eq!(require_cpus(&usable), Ok(()));
        assert!(
            require_cpus(&[8191])
                .unwrap_err()
                .to_string()
                .contains("CPU 8191 does not exist")
        );
    }
}
