//! The ntpd of NTPsec.

use super::ntpd::{NTPSEC, described, is_ntpsec};
use super::{Here, Keeper};

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[super::ntpd::PROGRAM],
    found,
};

fn found(here: &Here<'_>) -> Option<tompion_model::TimeKeeper> {
    let tracking = here.ntpd();
    let is_this = match &tracking {
        Some(tracking) => tracking.version.contains(NTPSEC),
        None => is_ntpsec(here),
    };
    let installed = here.has(&["/usr/sbin/ntpd"]);
    is_this.then(|| described(here, "ntpsec", installed, tracking))?
}
