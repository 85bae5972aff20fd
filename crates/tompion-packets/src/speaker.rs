//! What both protocols have in common: probes are written, stamped, and known again.

use tompion_net::Received;
use tompion_stamp::Stamp;

use crate::account::Told;

/// A reply, as far as it is one.
pub(crate) enum Heard {
    /// To this probe.
    Reply(u64, Told),
    /// Somebody else's, or damaged.
    NotOurs,
}

/// Who writes probes and knows their replies.
pub(crate) trait Speaker: Send {
    /// Bytes of a probe, without the headers of UDP and IP.
    fn bytes(&self) -> usize;

    /// Writes the next probe, all but its stamp. How long it is.
    fn prepare(&mut self, number: u64, packet: &mut [u8], mono_ns: u64) -> usize;

    /// Writes the stamp of a probe that was prepared. Probes are stamped in the order of their
    /// preparation, each once; some may be left out.
    fn stamp(&mut self, number: u64, user_ns: i64, packet: &mut [u8]);

    /// What came.
    fn hear(&mut self, packet: &[u8], received: &Received) -> Heard;

    /// How the packets of this measurement are known again.
    fn mark(&self) -> crate::marks::Marks;
}

/// The best receive stamp of a packet.
pub(crate) fn best(received: &Received) -> Stamp {
    match received.stamps.software_ns {
        Some(ns) => Stamp::kernel(ns),
        None => Stamp::user(received.stamps.user_ns),
    }
}
