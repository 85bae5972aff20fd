//! ptp4l and phc2sys of linuxptp.

use tompion_model::{TimeKeeper, TimeSource};

use super::{Here, Keeper};

/// Follows a clock in the network, in that of a card or by itself.
const PTP4L: &str = "ptp4l";
/// Brings the wall clock to the one of a card or of the host.
const PHC2SYS: &str = "phc2sys";

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PTP4L, PHC2SYS],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let (ptp4l, phc2sys) = (here.processes.has(PTP4L), here.processes.has(PHC2SYS));
    if !ptp4l && !phc2sys && !here.has(&["/usr/sbin/phc2sys", "/usr/bin/phc2sys"]) {
        return None;
    }
    // With time stamps by software there is no other clock than the wall clock.
    let keeps = phc2sys || (ptp4l && here.processes.has_option(PTP4L, 'S'));
    let note = match (phc2sys, ptp4l, keeps) {
        (true, _, _) => Some("phc2sys runs; it gives no bound"),
        (_, true, true) => Some("ptp4l runs; it gives no bound"),
        (_, true, false) => {
            Some("ptp4l runs, and no phc2sys that would bring its time to the wall clock")
        }
        _ => None,
    };
    Some(TimeKeeper {
        name: "linuxptp".to_owned(),
        running: ptp4l || phc2sys,
        keeps,
        tells_kernel: true,
        // Both mark the kernel's clock synchronised once they are locked.
        in_step: here.kernel.filter(|_| keeps).map(|k| k.synchronised),
        sources: followed(here),
        note: note.map(str::to_owned),
        ..TimeKeeper::default()
    })
}

/// What phc2sys follows: the argument of its option `-s`.
fn followed(here: &Here<'_>) -> Vec<TimeSource> {
    const LONGEST: usize = 64;
    let of = |arguments: &[String]| {
        let at = arguments.iter().position(|a| a == "-s")?;
        arguments.get(at + 1).cloned()
    };
    let names = here.processes.arguments(PHC2SYS).filter_map(of).take(4);
    names
        .map(|name| TimeSource {
            name: name.chars().take(LONGEST).collect(),
            kind: "reference clock".to_owned(),
            state: "configured".to_owned(),
        })
        .collect()
}
