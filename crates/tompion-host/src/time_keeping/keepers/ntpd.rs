//! The ntpd of the NTP project, and of busybox, which goes by the same name.

use tompion_model::{TimeKeeper, TimeSource};

use super::super::mode6;
use super::{Here, Keeper, MOST_SOURCES, bound_ns, nanoseconds};

pub(super) const PROGRAM: &str = "ntpd";
/// How the other one says who it is.
pub(super) const NTPSEC: &str = "ntpsec";

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PROGRAM],
    found: |here| {
        let tracking = here.ntpd();
        let is_other = match &tracking {
            Some(tracking) => tracking.version.contains(NTPSEC),
            None => is_ntpsec(here),
        };
        let installed = here.has(&["/usr/sbin/ntpd"]);
        (!is_other).then(|| described(here, "ntpd", installed, tracking))?
    },
};

/// Whether the ntpd here is ntpsec's, by what its packages install or by its configuration.
pub(super) fn is_ntpsec(here: &Here<'_>) -> bool {
    let started_so = |arguments: &[String]| arguments.iter().any(|a| a.contains(NTPSEC));
    here.has(&["/etc/ntpsec", "/usr/lib/systemd/system/ntpsec.service"])
        || here.processes.arguments(PROGRAM).any(started_so)
}

/// What both have in common.
pub(super) fn described(
    here: &Here<'_>,
    name: &str,
    installed: bool,
    tracking: Option<mode6::Tracking>,
) -> Option<TimeKeeper> {
    let is_here = here.processes.has(PROGRAM) || tracking.is_some();
    if !is_here && !installed {
        return None;
    }
    let sources = match tracking {
        Some(_) => mode6::sources(here.daemons, MOST_SOURCES as usize),
        None => Vec::new(),
    };
    let silent = is_here && tracking.is_none();
    let in_step = tracking.as_ref().map(|t| t.in_step);
    let followed = tracking.filter(|t| t.in_step);
    Some(TimeKeeper {
        name: name.to_owned(),
        running: is_here,
        keeps: is_here,
        // With -x it slews the clock without the kernel's help.
        tells_kernel: !here.processes.has_option(PROGRAM, 'x'),
        in_step,
        error_at_most_ns: followed
            .as_ref()
            .map(|t| bound_ns(t.ahead_s, t.root_dispersion_s, t.root_delay_s)),
        offset_ns: followed.as_ref().map(|t| nanoseconds(t.ahead_s)),
        stratum: followed.as_ref().map(|t| t.stratum),
        sources: sources.into_iter().map(TimeSource::from).collect(),
        note: silent.then(|| "it does not answer on its port".to_owned()),
    })
}
