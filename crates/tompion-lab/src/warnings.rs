//! What speaks against carrying a plan out as it is, though it can be.

use std::collections::BTreeMap;

use crate::{Estimate, LabCell, LabPlan};
use tompion_platforms::PlatformPlan;

/// Labs longer than this are warned of, in seconds.
const LONG_S: f64 = 24.0 * 3600.0;

/// What a machine has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// CPUs that the lab may use.
    pub cpus: usize,
    /// Memory, in MiB; absent where it is not known.
    pub memory_mib: Option<u64>,
}

impl Room {
    /// That of this machine.
    pub fn here() -> Self {
        use procfs::Current;
        let memory = procfs::Meminfo::current().ok();
        Self {
            cpus: tompion_host::usable_cpus().len(),
            memory_mib: memory.map(|memory| memory.mem_total >> 20),
        }
    }
}

/// One sentence for each thing that these cells of a replicate ask more of than there is,
/// and one where they cannot show a difference.
pub fn warnings(
    plan: &LabPlan,
    cells: &[LabCell],
    prospect: &Estimate,
    room: &Room,
) -> Vec<String> {
    let mut most: BTreeMap<usize, u64> = BTreeMap::new();
    for cell in cells {
        let guests = 1 + plan.placements[cell.placement].neighbours() as u64;
        let known = most.entry(cell.platform).or_default();
        *known = guests.max(*known);
    }
    let crowded = |(platform, guests)| crowded(&plan.platforms[platform], guests, room);
    let mut warnings: Vec<String> = most.into_iter().flat_map(crowded).collect();
    if prospect.expected_s > LONG_S {
        warnings.push(format!(
            "it takes {:.1} days; shorter times, fewer replicates or cells shorten it",
            prospect.expected_s / (24.0 * 3600.0)
        ));
    }
    if prospect.decides_nothing() {
        let need = prospect.replicates_needed;
        let need = need.map_or_else(|| "more".to_owned(), |n| n.to_string());
        warnings.push(format!(
            "{} replicates cannot show a difference between {} at the level 0.05; \
             replicates = {need} can",
            plan.replicates, prospect.between
        ));
    }
    warnings
}

/// Virtual machines that the machine is too small for.
fn crowded(platform: &PlatformPlan, guests: u64, room: &Room) -> Vec<String> {
    let Some((cpus, memory_mib)) = platform.setup.size() else {
        return Vec::new();
    };
    let name = &platform.name;
    let of_guests = match guests {
        1 => String::new(),
        n => format!(" in {n} guests"),
    };
    let memory = guests * u64::from(memory_mib);
    let short = room.memory_mib.filter(|&has| memory > has);
    let short = short.map(|has| {
        format!("{name}: {memory} MiB of memory{of_guests}, and this machine has {has}")
    });
    let waiting = (cpus as usize > room.cpus).then(|| {
        let has = room.cpus;
        format!("{name}: {cpus} virtual CPUs on {has}: they wait for one another")
    });
    short.into_iter().chain(waiting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate;

    const ROOM: Room = Room {
        cpus: 2,
        memory_mib: Some(4096),
    };

    fn of(platform: &str, rest: &str) -> Vec<String> {
        lasting("10s", platform, rest)
    }

    fn lasting(time: &str, platform: &str, rest: &str) -> Vec<String> {
        let text = format!(
            "{rest}\n[[platforms]]\nkind = \"host\"\n[[platforms]]\nkind = \"qemu\"\n\
             {platform}\n[[probes]]\nkind = \"stalls\"\ntime = \"{time}\"\n"
        );
        let plan = LabPlan::parse(&text).unwrap();
        on(&plan, &plan.cells())
    }

    fn on(plan: &LabPlan, cells: &[LabCell]) -> Vec<String> {
        warnings(plan, cells, &estimate(plan, cells), &ROOM)
    }

    #[test]
    fn what_is_more_than_the_machine_has_is_told() {
        assert!(of("cpus = 2\nmemory_mib = 2048", "").is_empty());
        assert_eq!(
            of("cpus = 8\nmemory_mib = 8192", ""),
            [
                "qemu: 8192 MiB of memory, and this machine has 4096",
                "qemu: 8 virtual CPUs on 2: they wait for one another",
            ]
        );
        let two = "\n[[placements]]\nscenario = \"two-to-all-memory\"";
        assert_eq!(
            of(&format!("memory_mib = 3000{two}"), ""),
            ["qemu: 6000 MiB of memory in 2 guests, and this machine has 4096"]
        );
        // What is not to be measured takes no room.
        let text = "[[platforms]]\nkind = \"qemu\"\ncpus = 8\n[[probes]]\nkind = \"stalls\"\n";
        let plan = LabPlan::parse(text).unwrap();
        assert_eq!(on(&plan, &plan.cells()).len(), 1);
        assert!(on(&plan, &[]).is_empty());
    }

    #[test]
    fn what_takes_days_or_shows_nothing_is_told() {
        let [long] = <[String; 1]>::try_from(lasting("90s", "", "replicates = 1500")).unwrap();
        assert!(long.starts_with("it takes 3.3 days"), "{long}");
        assert_eq!(
            of("", "replicates = 3"),
            [
                "3 replicates cannot show a difference between platforms at the level 0.05; \
              replicates = 6 can"
            ]
        );
    }
}
