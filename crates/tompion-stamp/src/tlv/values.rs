//! The values of TLVs that have fields.

mod arrivals;
mod tompion;

pub use arrivals::{ToldArrivals, TrainArrival, TrainArrivals};
pub use tompion::{SOFTWARE, Tompion, TompionMark, TompionStay};

use crate::bytes::{put, u16_at, u32_at, u64_at};

/// Bytes of the number of an enterprise, with which private values begin.
pub const ENTERPRISE_BYTES: usize = 4;
/// The shortest Location: two ports, no address.
pub const LOCATION_LEAST: usize = 4;

/// What keeps a clock in step (RFC 8972, table 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// Nobody says.
    #[default]
    Unknown,
    /// NTP.
    Ntp,
    /// PTP.
    Ptp,
    /// A synchronization supply unit.
    Ssu,
    /// Satellites, or another radio clock.
    Radio,
    /// Nothing: it runs by itself.
    FreeRunning,
    /// A number without a meaning here.
    Other(u8),
}

impl ClockSource {
    fn from_wire(wire: u8) -> Self {
        match wire {
            0 => Self::Unknown,
            1 => Self::Ntp,
            2 => Self::Ptp,
            3 => Self::Ssu,
            4 => Self::Radio,
            5 => Self::FreeRunning,
            other => Self::Other(other),
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Ntp => 1,
            Self::Ptp => 2,
            Self::Ssu => 3,
            Self::Radio => 4,
            Self::FreeRunning => 5,
            Self::Other(other) => other,
        }
    }
}

/// How a stamp came about (RFC 8972, table 9). Stamps of program and kernel are both `Software`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampMethod {
    /// Nobody says.
    #[default]
    Unknown,
    /// With help of the device.
    Hardware,
    /// By software, on the machine itself.
    Software,
    /// By a control plane.
    ControlPlane,
    /// A number without a meaning here.
    Other(u8),
}

impl StampMethod {
    fn from_wire(wire: u8) -> Self {
        match wire {
            0 => Self::Unknown,
            1 => Self::Hardware,
            2 => Self::Software,
            3 => Self::ControlPlane,
            other => Self::Other(other),
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Hardware => 1,
            Self::Software => 2,
            Self::ControlPlane => 3,
            Self::Other(other) => other,
        }
    }
}

impl From<crate::stamp::StampKind> for StampMethod {
    fn from(kind: crate::stamp::StampKind) -> Self {
        match kind {
            crate::stamp::StampKind::Hardware => Self::Hardware,
            _ => Self::Software,
        }
    }
}

/// Type 3: how the reflector's stamps came about. A request has zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampInformation {
    /// The clock of T2.
    pub source_in: ClockSource,
    /// How T2 was taken.
    pub method_in: StampMethod,
    /// The clock of T3.
    pub source_out: ClockSource,
    /// How T3 was taken.
    pub method_out: StampMethod,
}

impl TimestampInformation {
    /// Bytes of the value.
    pub const BYTES: usize = 4;

    /// The fields; nothing where the length is another.
    pub fn read(value: &[u8]) -> Option<Self> {
        let &[source_in, method_in, source_out, method_out] = value else {
            return None;
        };
        Some(Self {
            source_in: ClockSource::from_wire(source_in),
            method_in: StampMethod::from_wire(method_in),
            source_out: ClockSource::from_wire(source_out),
            method_out: StampMethod::from_wire(method_out),
        })
    }

    /// As a value.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        [
            self.source_in.to_wire(),
            self.method_in.to_wire(),
            self.source_out.to_wire(),
            self.method_out.to_wire(),
        ]
    }
}

/// Type 4: the class of service asked for, and the one with which the request arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassOfService {
    /// DSCP that the reply shall have (DSCP1), 0 to 63.
    pub wanted_dscp: u8,
    /// DSCP with which the request arrived (DSCP2), 0 to 63.
    pub received_dscp: u8,
    /// ECN with which the request arrived, 0 to 3.
    pub received_ecn: u8,
    /// RP: the reflector did not use `wanted_dscp`.
    pub refused: bool,
}

impl ClassOfService {
    /// Bytes of the value.
    pub const BYTES: usize = 4;

    /// The fields; nothing where the length is another.
    pub fn read(value: &[u8]) -> Option<Self> {
        (value.len() == Self::BYTES).then(|| {
            let bits = u16_at(value, 0);
            Self {
                wanted_dscp: (bits >> 10) as u8,
                received_dscp: ((bits >> 4) & 0x3f) as u8,
                received_ecn: ((bits >> 2) & 3) as u8,
                refused: bits & 3 != 0,
            }
        })
    }

    /// As a value; of numbers that are too large the lower bits.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let bits = (u16::from(self.wanted_dscp & 0x3f) << 10)
            | (u16::from(self.received_dscp & 0x3f) << 4)
            | (u16::from(self.received_ecn & 3) << 2)
            | u16::from(self.refused);
        let [high, low] = bits.to_be_bytes();
        [high, low, 0, 0]
    }
}

/// Type 5: packets of the session that each end counted. All three wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectMeasurement {
    /// Sent by the sender, with this one.
    pub sender_sent: u32,
    /// Received by the reflector, with this one.
    pub reflector_received: u32,
    /// Sent by the reflector, with this one.
    pub reflector_sent: u32,
}

impl DirectMeasurement {
    /// Bytes of the value.
    pub const BYTES: usize = 12;

    /// The fields; nothing where the length is another.
    pub fn read(value: &[u8]) -> Option<Self> {
        (value.len() == Self::BYTES).then(|| Self {
            sender_sent: u32_at(value, 0),
            reflector_received: u32_at(value, 4),
            reflector_sent: u32_at(value, 8),
        })
    }

    /// As a value.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut value = [0; Self::BYTES];
        put(&mut value, 0, &self.sender_sent.to_be_bytes());
        put(&mut value, 4, &self.reflector_received.to_be_bytes());
        put(&mut value, 8, &self.reflector_sent.to_be_bytes());
        value
    }
}

/// Type 6: a sender's report about an access network. Nothing here acts on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessReport {
    /// 1 for a 3GPP network, 2 for another one; all else is invalid.
    pub access: u8,
    /// 1 where it is available, 2 where it is not.
    pub code: u8,
}

impl AccessReport {
    /// Bytes of the value.
    pub const BYTES: usize = 4;

    /// The fields; nothing where the length is another.
    pub fn read(value: &[u8]) -> Option<Self> {
        (value.len() == Self::BYTES).then(|| Self {
            access: value[0] >> 4,
            code: value[1],
        })
    }

    /// As a value.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        [self.access << 4, self.code, 0, 0]
    }

    /// Whether the network is one that RFC 8972 knows.
    pub fn is_valid(self) -> bool {
        matches!(self.access, 1 | 2)
    }
}

/// Type 7: when an earlier reply of the session left. Zeros in a request, and where nothing is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowUp {
    /// The reflector's sequence number of that reply.
    pub sequence: u32,
    /// When it left, in the format of the reflector's Error Estimate; zero for nothing known.
    pub time: u64,
    /// How that stamp was taken.
    pub method: StampMethod,
}

impl FollowUp {
    /// Bytes of the value.
    pub const BYTES: usize = 16;

    /// The fields; nothing where the length is another.
    pub fn read(value: &[u8]) -> Option<Self> {
        (value.len() == Self::BYTES).then(|| Self {
            sequence: u32_at(value, 0),
            time: u64_at(value, 4),
            method: StampMethod::from_wire(value[12]),
        })
    }

    /// As a value.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut value = [0; Self::BYTES];
        put(&mut value, 0, &self.sequence.to_be_bytes());
        put(&mut value, 4, &self.time.to_be_bytes());
        value[12] = self.method.to_wire();
        value
    }
}

/// Type 12: replies of another length, or several (draft-ietf-ippm-asymmetrical-pkts). What
/// follows the fields may name a group of reflectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyControl {
    /// Bytes of the UDP payload that replies shall have at least.
    pub bytes: u16,
    /// How many replies.
    pub replies: u16,
    /// From one to the next, in ns.
    pub interval_ns: u32,
    /// Whether it is for a group alone: nobody here knows whether we are of it.
    pub for_group: bool,
}

impl ReplyControl {
    /// Bytes of the shortest value: the fields, and the header of one sub-TLV.
    pub const LEAST: usize = 12;

    /// The fields; nothing where the value is too short.
    pub fn read(value: &[u8]) -> Option<Self> {
        (value.len() >= Self::LEAST).then(|| Self {
            bytes: u16_at(value, 0),
            replies: u16_at(value, 2),
            interval_ns: u32_at(value, 4),
            for_group: value[8..].iter().any(|byte| *byte != 0),
        })
    }

    /// As a value, for all reflectors.
    pub fn to_bytes(self) -> [u8; Self::LEAST] {
        let mut value = [0; Self::LEAST];
        put(&mut value, 0, &self.bytes.to_be_bytes());
        put(&mut value, 2, &self.replies.to_be_bytes());
        put(&mut value, 4, &self.interval_ns.to_be_bytes());
        value
    }
}
