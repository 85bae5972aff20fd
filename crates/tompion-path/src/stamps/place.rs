//! Where packets are stamped, and by which clock.

use std::fmt;

use crate::Way;

/// A place where a packet is stamped, or the moment at which it should have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stamp {
    /// When it should have been sent.
    Due,
    /// The program, before the call that sends.
    UserSent,
    /// The kernel's SCHED stamp: the packet enters the queue of its device.
    Scheduled,
    /// The kernel's SOFTWARE transmit stamp: the packet goes to the device.
    Sent,
    /// The device's own transmit stamp.
    SentHardware,
    /// A tap on the way out or home.
    Tap(TapId, Way),
    /// The far end, when it received the probe (T2 of STAMP).
    FarReceived,
    /// The far end, when it sent the reply, as the reply says (T3 of STAMP).
    FarSent,
    /// The transmit stamp of the far end's kernel, which follows in a later reply.
    FarSentKernel,
    /// The device's own receive stamp.
    ReceivedHardware,
    /// The kernel's receive stamp.
    Received,
    /// The program, once it has the reply.
    UserReceived,
}

impl Stamp {
    /// Those that every table has a column for; each tap adds two more.
    pub const FIXED: [Self; 11] = [
        Self::Due,
        Self::UserSent,
        Self::Scheduled,
        Self::Sent,
        Self::SentHardware,
        Self::FarReceived,
        Self::FarSent,
        Self::FarSentKernel,
        Self::ReceivedHardware,
        Self::Received,
        Self::UserReceived,
    ];

    /// Place of its column: the fixed ones, then each tap's outward and homeward one.
    pub(crate) fn column(self) -> usize {
        match self {
            Self::Due => 0,
            Self::UserSent => 1,
            Self::Scheduled => 2,
            Self::Sent => 3,
            Self::SentHardware => 4,
            Self::FarReceived => 5,
            Self::FarSent => 6,
            Self::FarSentKernel => 7,
            Self::ReceivedHardware => 8,
            Self::Received => 9,
            Self::UserReceived => 10,
            Self::Tap(tap, way) => {
                Self::FIXED.len() + 2 * tap.index() + usize::from(way == Way::Homeward)
            }
        }
    }

    /// Whether only a reply that arrives brings this stamp, or gets it.
    pub fn comes_with_reply(self) -> bool {
        let before = [
            Self::Due,
            Self::UserSent,
            Self::Scheduled,
            Self::Sent,
            Self::SentHardware,
        ];
        !before.contains(&self) && !matches!(self, Self::Tap(..))
    }

    /// Its name in tables; that of a tap's is the way alone, since the table has its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::UserSent => "user-sent",
            Self::Scheduled => "scheduled",
            Self::Sent => "sent",
            Self::SentHardware => "sent-hardware",
            Self::Tap(_, way) => way.name(),
            Self::FarReceived => "far-received",
            Self::FarSent => "far-sent",
            Self::FarSentKernel => "far-sent-kernel",
            Self::ReceivedHardware => "received-hardware",
            Self::Received => "received",
            Self::UserReceived => "user-received",
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tap(tap, way) => write!(f, "{way} at tap {}", tap.index()),
            fixed => f.write_str(fixed.name()),
        }
    }
}

/// A tap of one table of packets, as `Packets::add_tap` gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapId(u8);

impl TapId {
    pub(crate) fn new(index: u8) -> Self {
        Self(index)
    }

    /// Its place among the taps of its table, from 0, nearest to the sender first.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A clock that stamps: two stamps are comparable where their clocks are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock(u16);

impl Clock {
    /// The system clock of the sender, that of its program and kernel.
    pub const SENDER: Self = Self(0);
    /// The clock of the sender's device.
    pub const DEVICE: Self = Self(1);
    /// The clock of the far end.
    pub const FAR_END: Self = Self(2);

    /// Some other clock, such as that of a tap on a machine of its own.
    pub fn other(number: u8) -> Self {
        Self(u16::from(number) + 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamps::Missing;
    use tompion_model::MissingStamps;

    /// What a run says of missing stamps is kept when it is redacted, as far as it is one of our words.
    #[test]
    fn words_of_missing_stamps_are_those_that_redacting_keeps() {
        let places: Vec<&str> = Stamp::FIXED.into_iter().map(Stamp::name).collect();
        let places = places
            .into_iter()
            .chain([Way::Outward.name(), Way::Homeward.name()]);
        for place in places {
            assert!(MissingStamps::PLACES.contains(&place), "{place}");
        }
        for why in Missing::ALL {
            assert!(
                MissingStamps::REASONS.contains(&why.name()),
                "{}",
                why.name()
            );
        }
    }
}
