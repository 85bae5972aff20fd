//! How much memory and disk a load may take: a fifth stays free for others.

use std::fs;
use std::path::Path;
use tompion_model::Unavailable;

use tompion_cgroup::Groups;

use crate::spec::Size;

/// Memory that a load may take, in bytes: what is available less a fifth of it.
///
/// Available is the kernel's `MemAvailable`, or what the memory limits of the
/// control groups leave where that is less: in a container the former is the
/// host's.
pub fn memory_allowance_bytes() -> Result<u64, Unavailable> {
    let meminfo = fs::read_to_string("/proc/meminfo")
        .map_err(Unavailable::refused("could not read /proc/meminfo"))?;
    let available = mem_available_bytes(&meminfo)
        .ok_or("/proc/meminfo has no MemAvailable: the free memory is unknown")?;
    let read = |path: &Path| fs::read_to_string(path).ok();
    let text = |path: &str| read(Path::new(path)).unwrap_or_default();
    let (mounts, member) = (text("/proc/self/mountinfo"), text("/proc/self/cgroup"));
    let left = Groups::of("memory", &mounts, &member).map(|groups| {
        let limits = groups.directories.iter();
        let limits = limits.filter_map(|group| groups.memory(group, read));
        limits
            .map(|memory| memory.limit.saturating_sub(memory.used))
            .fold(available, u64::min)
    });
    Ok(less_a_fifth(left.unwrap_or(available)))
}

fn mem_available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

fn less_a_fifth(bytes: u64) -> u64 {
    bytes - bytes.div_ceil(5)
}

/// Checks that writing `bytes` leaves a fifth of the file system of `directory`
/// free, as an unprivileged user sees it.
pub fn check_disk(directory: &Path, bytes: u64) -> Result<(), Unavailable> {
    let stat = nix::sys::statvfs::statvfs(directory).map_err(Unavailable::refused(
        "could not ask how full its file system is",
    ))?;
    let unit = stat.fragment_size() as u64;
    // What root keeps for itself counts neither as used nor as free, as in df.
    let used = stat.blocks().saturating_sub(stat.blocks_free()) as u64;
    let available = stat.blocks_available() as u64;
    check_free((used + available) * unit, available * unit, bytes)
}

fn check_free(total: u64, available: u64, wanted: u64) -> Result<(), Unavailable> {
    // 128 bits: total * 20 overflows beyond an exabyte.
    let left = u128::from(available.saturating_sub(wanted));
    if left * 5 >= u128::from(total) {
        return Ok(());
    }
    let percent = available as f64 / total as f64 * 100.0;
    Err(format!(
        "its file system has {percent:.1} % free and 20 % must stay free after writing {}; name a \
         directory on another one",
        Size(wanted)
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_kibibytes() {
        let meminfo = "MemTotal:       24683528 kB\nMemAvailable:       1000 kB\n";
        assert_eq!(mem_available_bytes(meminfo), Some(1_024_000));
        assert_eq!(mem_available_bytes("MemTotal: 1 kB\n"), None);
        assert_eq!(less_a_fifth(1000), 800);
        assert_eq!(less_a_fifth(1), 0);
    }

    #[test]
    fn this_machine_allows_some_but_not_all_memory() {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
        let available = mem_available_bytes(&meminfo).unwrap();
        let allowed = memory_allowance_bytes().unwrap();
        // Other programs come and go between the two readings.
        assert!(
            allowed > 0 && allowed < available / 10 * 9,
            "{allowed} of {available}"
        );
    }

    #[test]
    fn a_fifth_of_the_disk_stays_free() {
        assert!(check_free(1000, 300, 100).is_ok());
        let message = check_free(1000, 300, 101).unwrap_err().to_string();
        assert!(message.contains("30.0 % free"), "{message}");
        assert!(check_free(1000, 100, 0).is_err());
        assert!(check_free(u64::MAX, u64::MAX, 1 << 20).is_ok());
        assert!(check_disk(Path::new("/nonexistent"), 0).is_err());
    }
}
