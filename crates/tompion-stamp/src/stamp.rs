//! A moment, and who took it.

/// Who took a stamp: the further down, the less of the machine's own delay is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StampKind {
    /// The program, by reading its clock.
    User,
    /// The kernel, as the packet passed between it and the driver.
    Kernel,
    /// The device.
    Hardware,
}

/// A moment with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970, UTC.
    pub utc_ns: i64,
    /// Who took it.
    pub kind: StampKind,
}

impl Stamp {
    /// One that the program took.
    pub fn user(utc_ns: i64) -> Self {
        Self {
            utc_ns,
            kind: StampKind::User,
        }
    }

    /// One that the kernel took.
    pub fn kernel(utc_ns: i64) -> Self {
        Self {
            utc_ns,
            kind: StampKind::Kernel,
        }
    }
}
