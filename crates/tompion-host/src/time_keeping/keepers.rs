//! What may set or correct the wall clock, one file each.

use super::{Here, Keeper};

tompion_model::entries! {
    /// All of them: first what corrects it all the time, then what sets it now and then.
    pub(super) static ALL: [Keeper] =
        chrony,
        ntpsec,
        ntpd,
        timesyncd,
        linuxptp,
        hyper_v,
        virtualbox,
        vmware,
        xen,
}

/// As many sources of a daemon are asked for.
const MOST_SOURCES: u32 = 16;

/// A bound by the root distance of RFC 5905, in nanoseconds: what is still to be corrected, how
/// far the source may be off, and half of the way there and back.
fn bound_ns(ahead_s: f64, root_dispersion_s: f64, root_delay_s: f64) -> u64 {
    let distance_s = ahead_s.abs() + root_dispersion_s.max(0.0) + root_delay_s.abs() / 2.0;
    ((distance_s * 1e9).ceil() as u64).min(MOST_NS)
}

fn nanoseconds(seconds: f64) -> i64 {
    let most = MOST_NS as i64;
    ((seconds * 1e9).round() as i64).clamp(-most, most)
}

/// A daemon may say anything, and a run holds no larger number: 146 years.
const MOST_NS: u64 = 1 << 62;
