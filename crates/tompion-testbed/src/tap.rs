//! Witnesses of what a path does, independent of the relay: taps on devices of a testbed.

use tompion_net::tap::{Direction, TapBatch, TapOptions};

use crate::TestbedError;
use crate::namespace::Namespace;
use crate::settings::LINK_HEADER;

/// A VLAN's tag, in bytes.
const TAG: usize = 4;
/// Frames that are read by one call.
const AT_ONCE: usize = 64;
/// What the kernel takes for a frame besides its bytes.
const OVERHEAD: usize = 1024;

/// A frame that a tap saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tapped {
    /// The kernel's stamp by `CLOCK_REALTIME`, in nanoseconds.
    pub at_ns: i64,
    /// Whether the place sent it.
    pub outgoing: bool,
    /// The frame, Ethernet's header included.
    pub frame: Vec<u8>,
}

/// A tap on a device of a testbed.
#[derive(Debug)]
pub struct Tap {
    tap: tompion_net::tap::Tap,
    batch: TapBatch,
}

impl Tap {
    pub(crate) fn open(
        namespace: &Namespace,
        device: &str,
        mtu: u32,
        frames: usize,
    ) -> Result<Self, TestbedError> {
        let snap = (mtu + LINK_HEADER) as usize + TAG;
        let options = TapOptions {
            snap,
            receive_buffer: frames * (snap.next_power_of_two() + OVERHEAD),
            ..TapOptions::new(device.into())
        };
        let tap = namespace.inside(|| tompion_net::tap::Tap::open(&options));
        let tap = tap.map_err(TestbedError::system("tap a device"))??;
        let batch = tap.batch(AT_ONCE);
        Ok(Self { tap, batch })
    }

    /// All frames since it was last asked, in the order in which the kernel gave them.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn drain(&mut self) -> Result<Vec<Tapped>, TestbedError> {
        let mut seen = Vec::new();
        let take = |seen: &mut Vec<Tapped>, record: tompion_net::tap::Record<'_>| {
            seen.push(Tapped {
                at_ns: record.ns,
                outgoing: record.direction == Direction::Outgoing,
                frame: record.bytes.to_vec(),
            });
        };
        while self.tap.read(&mut self.batch, |r| take(&mut seen, r))? > 0 {}
        Ok(seen)
    }

    /// How many frames found no room, or came before the kernel stamped, since it was opened.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn dropped(&mut self) -> Result<u64, TestbedError> {
        Ok(self.tap.statistics()?.dropped + self.tap.unstamped())
    }
}
