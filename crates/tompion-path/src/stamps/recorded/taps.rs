//! Columns of taps: named by the tap and the way.

use tompion_model::SideTable;

use super::RecordError;
use crate::Way;
use crate::stamps::packets::Packets;
use crate::stamps::place::{Clock, Stamp};
use crate::stamps::vantage::Vantage;

/// The longest name of a tap in a run, in bytes.
pub const LONGEST_TAP_NAME: usize = 32;

/// Whether a tap may be called so in a run: by letters, digits, dots and hyphens, and not like a
/// vantage point of the sender's own.
pub fn is_tap_name(name: &str) -> bool {
    let own = [
        Vantage::User,
        Vantage::Qdisc,
        Vantage::Kernel,
        Vantage::Hardware,
    ];
    let own = own.map(|vantage| vantage.to_string());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    !name.is_empty()
        && name.len() <= LONGEST_TAP_NAME
        && name.chars().all(is_plain)
        && name != super::PATH
        && own.iter().all(|vantage| vantage != name)
}

/// All places that stamp with what their columns begin with: those that every table has, then
/// each tap's.
pub(super) fn places(packets: &Packets) -> Vec<(Stamp, String)> {
    let fixed = Stamp::FIXED.into_iter();
    let fixed = fixed.map(|stamp| (stamp, stamp.name().replace('-', "_")));
    let of_tap = |(tap, name): (_, &str)| {
        Way::BOTH.map(|way| (Stamp::Tap(tap, way), format!("tap_{name}_{way}")))
    };
    fixed.chain(packets.taps().flat_map(of_tap)).collect()
}

/// Gives a table the taps that the columns name, in their order, each with a clock of its own.
pub(super) fn add(packets: &mut Packets, table: &SideTable) -> Result<(), RecordError> {
    let names = table.columns().iter().filter_map(|column| {
        let name = column.name.strip_prefix("tap_")?;
        name.strip_suffix("_outward_ns")
    });
    for (number, name) in names.enumerate() {
        if !is_tap_name(name) {
            return Err(RecordError::Tap {
                name: name.to_owned(),
            });
        }
        // More than a clock's number counts are more than a table holds.
        packets.add_tap(name, Clock::other(number as u8))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tap_is_called_like_a_vantage_point_of_the_senders_own() {
        for own in ["user", "qdisc", "kernel", "hardware", "path", "", "a b"] {
            assert!(!is_tap_name(own), "{own}");
        }
        assert!(is_tap_name("host") && is_tap_name("vif1.0"));
    }

    #[test]
    fn taps_are_renamed_all_at_once() {
        let mut packets = Packets::new();
        for (number, name) in ["db1.corp", "vantage-1", "x"].into_iter().enumerate() {
            packets.add_tap(name, Clock::other(number as u8)).unwrap();
        }
        let mut given = 0;
        packets.rename_taps(|_| {
            given += 1;
            format!("vantage-{}", given.min(2))
        });
        let names: Vec<&str> = packets.taps().map(|(_, name)| name).collect();
        assert_eq!(names, ["vantage-1", "vantage-2", "tap-3"]);
    }
}
