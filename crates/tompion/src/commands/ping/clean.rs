//! Going on until enough probes are clean.

use anyhow::bail;
use tompion_path::stamps::Packets;
use tompion_path::trust::{Side, Trust};

/// How many times as many probes are sent at most, where nobody says how many.
pub const TIMES: u64 = 10;

/// How many clean probes are wanted, and when to look next.
pub struct Clean {
    wanted: usize,
    look_at: usize,
}

impl Clean {
    /// So many.
    pub fn wanted(wanted: u64) -> Self {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        Self {
            wanted,
            look_at: wanted,
        }
    }

    /// Whether so many are there. It is looked at no sooner than it can be.
    pub fn is_enough(&mut self, packets: &Packets) -> bool {
        if packets.len() < self.look_at {
            return false;
        }
        let clean = Trust::of(packets).map_or(0, |trust| trust.clean);
        self.look_at = packets.len() + self.wanted.saturating_sub(clean);
        clean >= self.wanted
    }

    /// Says in the end why there are fewer.
    pub fn require(&self, trust: Option<Trust>) -> anyhow::Result<()> {
        let wanted = self.wanted;
        let Some(trust) = trust else {
            bail!(
                "no probe is known to be clean, {wanted} were wanted: the kernel gives no stamps here"
            );
        };
        let Trust { judged, clean, .. } = trust;
        if clean >= wanted {
            return Ok(());
        }
        let at = |side| trust.held_up_at(side);
        let here = [Side::Sending, Side::Queued, Side::Receiving, Side::UnderWay];
        let [sending, queued, receiving, under_way] = here.map(|side| at(side).unwrap_or(0));
        let under_way = match under_way {
            0 => String::new(),
            count => format!(", under way {count}"),
        };
        let far_end =
            at(Side::FarEnd).map_or(String::new(), |count| format!(", at the far end {count}"));
        bail!(
            "{clean} of {judged} probes are clean, {wanted} were wanted: held up here while sending {sending}, in the own \
             queue {queued}, receiving {receiving}{under_way}{far_end}; --count allows more of them"
        )
    }
}

#[cfg(test)]
mod tests {
    use tompion_path::stamps::Stamp;

    use super::*;

    /// Probes of which the program had the reply so much later, in microseconds.
    fn packets(receiving_us: &[i64]) -> Packets {
        let mut packets = Packets::new();
        for (row, us) in receiving_us.iter().enumerate() {
            packets.push(100).unwrap();
            let stamps = [
                (Stamp::UserSent, 0),
                (Stamp::Scheduled, 5),
                (Stamp::Sent, 8),
                (Stamp::Received, 400),
                (Stamp::UserReceived, 400 + us),
            ];
            for (stamp, us) in stamps {
                packets.set(row, stamp, 1_000 * us).unwrap();
            }
            packets.arrived(row).unwrap();
        }
        packets
    }

    #[test]
    fn it_goes_on_until_so_many_are_clean_and_looks_when_they_may_be() {
        let mut clean = Clean::wanted(4);
        let late = |rows: &[usize], all| -> Packets {
            let us: Vec<i64> = (0..all)
                .map(|row| if rows.contains(&row) { 900 } else { 20 })
                .collect();
            packets(&us)
        };
        assert!(!clean.is_enough(&late(&[], 3)));
        assert!(!clean.is_enough(&late(&[1, 3], 4)));
        // Two were missing, so that with one more there cannot be enough.
        assert_eq!(clean.look_at, 6);
        assert!(!clean.is_enough(&late(&[1, 3], 5)));
        assert!(clean.is_enough(&late(&[1, 3], 6)));
        assert!(clean.require(Trust::of(&late(&[1, 3], 6))).is_ok());
    }

    #[test]
    fn why_there_are_fewer_is_said() {
        let clean = Clean::wanted(5);
        let why = clean
            .require(Trust::of(&packets(&[20, 20, 900, 20, 20])))
            .unwrap_err()
            .to_string();
        assert!(
            why.starts_with("4 of 5 probes are clean, 5 were wanted"),
            "{why}"
        );
        assert!(why.contains("receiving 1;"), "{why}");
        let why = clean.require(None).unwrap_err().to_string();
        assert!(why.contains("no stamps here"), "{why}");
    }
}
