//! The far end asked who it is, before any train goes.

use std::time::Duration;

use tompion_net::{Schedule, Stop};
use tompion_packets::{Family, Measured, PacketError, Protocol, Settings as Probes, measure};
use tompion_path::stamps::Stamp;

use crate::error::BandwidthError;
use crate::far_end::{Arrivals, FarEnd};
use crate::settings::Settings;

/// Probes by which it is asked, and how far they are apart.
const PROBES: u64 = 4;
const INTERVAL: Duration = Duration::from_millis(10);
/// The longest packets that any IPv4 host takes, and any link of IPv6.
const LEAST_MTU: (u32, u32) = (576, 1_280);

/// Asks the far end who it is, by packets of the length that trains will have.
///
/// # Errors
/// No reply, packets that are too long on the way, a far end without receive stamps.
pub(super) fn ask(settings: &Settings, stop: &Stop) -> Result<FarEnd, BandwidthError> {
    let to = settings.to;
    let probes = |bytes: u32| Probes {
        schedule: Schedule::Periodic { interval: INTERVAL },
        count: PROBES,
        bytes: Some(bytes as usize),
        key: settings.key.clone(),
        clock: (false, 500_000_000),
        ..Probes::new(to, Protocol::Stamp)
    };
    let bytes = settings.asked.bytes;
    let long = probes(bytes);
    let (measured, _) = measure(&long, stop, &mut |_| {})?;
    let why_not = measured.require(&long);
    if let Err(why @ (PacketError::NoReply { .. } | PacketError::NothingSent { .. })) = why_not {
        return Err(too_long(settings, stop, &measured, &probes, why));
    }
    let packets = &measured.packets;
    let rows = 0..packets.len();
    let received: Vec<i64> = rows
        .clone()
        .filter_map(|row| packets.get(row, Stamp::FarReceived))
        .collect();
    if received.is_empty() {
        return Err(BandwidthError::NoStamps { to });
    }
    let trip = |row| {
        let sent = packets
            .get(row, Stamp::Sent)
            .or(packets.get(row, Stamp::UserSent))?;
        let came = packets
            .get(row, Stamp::Received)
            .or(packets.get(row, Stamp::UserReceived))?;
        Some(came.saturating_sub(sent))
    };
    let tompion = measured.far.tompion;
    Ok(FarEnd {
        tompion,
        // As far as that is known without having been asked.
        arrivals: match tompion {
            Some(_) => Arrivals::Asked,
            None => Arrivals::Replies,
        },
        receives_by: measured.far.receives_by,
        step_ns: step_ns(&received),
        round_trip_ns: rows.filter_map(trip).min().unwrap_or_default().max(0),
    })
}

/// Whether shorter packets get there.
fn too_long(
    settings: &Settings,
    stop: &Stop,
    measured: &Measured,
    probes: &dyn Fn(u32) -> Probes,
    why: PacketError,
) -> BandwidthError {
    let to = settings.to;
    let (v4, v6) = LEAST_MTU;
    let least = match Family::of(&to.ip()) {
        Family::V4 => v4,
        Family::V6 => v6,
    };
    let fits = measured.errors.mtu.unwrap_or(least);
    if fits >= settings.asked.bytes || stop.is_set() {
        return why.into();
    }
    let shorter = probes(fits);
    let passes = measure(&shorter, stop, &mut |_| {})
        .is_ok_and(|(measured, _)| measured.require(&shorter).is_ok());
    if !passes {
        return why.into();
    }
    BandwidthError::TooLong {
        to,
        bytes: settings.asked.bytes,
        why: match measured.errors.mtu {
            Some(mtu) => format!("a link of the path takes {mtu} at most"),
            None => "they are lost on the way, and nobody says why".to_owned(),
        },
        fits,
    }
}

/// The largest step of a clock by which these could be read, of the usual ones. A fraction of NTP's may be a nanosecond off.
fn step_ns(received: &[i64]) -> Option<i64> {
    let fits = |step: &i64| {
        let mut off = received.iter().map(|ns| (ns + 1).rem_euclid(*step));
        off.all(|off| off <= 2 || *step == 1)
    };
    [1_000_000, 1_000, 1].into_iter().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_stamps_is_that_of_all() {
        assert_eq!(step_ns(&[1_000_000, 5_000_000]), Some(1_000_000));
        assert_eq!(step_ns(&[1_000_000, 5_001_000]), Some(1_000));
        assert_eq!(step_ns(&[999_999, 5_000_999]), Some(1_000));
        assert_eq!(step_ns(&[1_000_000, 5_001_003]), Some(1));
    }
}
