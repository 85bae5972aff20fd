//! chronyd.

use tompion_model::{TimeKeeper, TimeSource};

use super::super::cmdmon;
use super::{Here, Keeper, MOST_SOURCES, bound_ns, nanoseconds};

const PROGRAM: &str = "chronyd";

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PROGRAM],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let running = here.processes.has(PROGRAM);
    // One that cannot be seen, outside of a container, may answer all the same.
    let tracking = cmdmon::tracking(here.daemons);
    let is_here = running || tracking.is_some();
    if !is_here && !here.has(&["/usr/sbin/chronyd", "/usr/bin/chronyd"]) {
        return None;
    }
    let sources = match tracking {
        Some(_) => cmdmon::sources(here.daemons, MOST_SOURCES),
        None => Vec::new(),
    };
    let keeps = !here.processes.has_option(PROGRAM, 'x');
    let note = match (is_here, keeps, &tracking) {
        (true, false, _) => Some("started with -x: it does not correct the clock"),
        (true, true, None) => Some("it does not answer on its command port"),
        _ => None,
    };
    Some(TimeKeeper {
        name: "chrony".to_owned(),
        running: is_here,
        keeps: is_here && keeps,
        // It sets the kernel's error bound even where it leaves UNSYNC, for want of rtcsync.
        tells_kernel: true,
        in_step: tracking.map(|t| t.in_step),
        error_at_most_ns: tracking
            .filter(|t| t.in_step)
            .map(|t| bound_ns(t.ahead_s, t.root_dispersion_s, t.root_delay_s)),
        offset_ns: tracking
            .filter(|t| t.in_step)
            .map(|t| nanoseconds(t.ahead_s)),
        stratum: tracking.filter(|t| t.in_step).map(|t| t.stratum.into()),
        sources: sources.into_iter().map(TimeSource::from).collect(),
        note: note.map(str::to_owned),
    })
}
