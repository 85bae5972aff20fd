//! What a sender of stamps says about its clock (RFC 4656, section 4.1.2; RFC 8186 for Z).

#[cfg(test)]
mod tests;

use crate::time_format::TimeFormat;

/// The two bytes of an Error Estimate: S, Z, Scale, Multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEstimate {
    /// S: the clock is in step with UTC by an external source, by its owner's account.
    pub synchronized: bool,
    /// Z: the format of the stamps.
    pub format: TimeFormat,
    /// Six bits.
    scale: u8,
    multiplier: u8,
}

impl ErrorEstimate {
    /// The least estimate of at least `error_ns` that the format can express; there is none of
    /// nothing, so that the least of all is a quarter of a nanosecond.
    pub fn new(synchronized: bool, format: TimeFormat, error_ns: u64) -> Self {
        // In 2^-32 s; exact in 128 bits.
        let units = (u128::from(error_ns) << 32).div_ceil(1_000_000_000);
        let mut scale = 0;
        let mut multiplier = units.max(1);
        while multiplier > u128::from(u8::MAX) {
            scale += 1;
            multiplier = units.div_ceil(1 << scale);
        }
        // Below 2^67 units need a scale of 59 at most.
        let multiplier = u8::try_from(multiplier).unwrap_or(u8::MAX);
        Self {
            synchronized,
            format,
            scale,
            multiplier,
        }
    }

    /// What two bytes of a packet say. A multiplier of zero is kept: see [`Self::error_ns`].
    pub fn from_wire(wire: u16) -> Self {
        let [high, multiplier] = wire.to_be_bytes();
        Self {
            synchronized: high & 0x80 != 0,
            format: if high & 0x40 == 0 {
                TimeFormat::Ntp
            } else {
                TimeFormat::Ptp
            },
            scale: high & 0x3f,
            multiplier,
        }
    }

    /// As two bytes of a packet.
    pub fn to_wire(self) -> u16 {
        let z = self.format == TimeFormat::Ptp;
        let high = (u8::from(self.synchronized) << 7) | (u8::from(z) << 6) | self.scale;
        u16::from_be_bytes([high, self.multiplier])
    }

    /// The error in ns, rounded up; nothing where the multiplier is zero, which RFC 4656 does
    /// not allow: whoever sends that has said nothing about its clock.
    pub fn error_ns(self) -> Option<u64> {
        if self.multiplier == 0 {
            return None;
        }
        let units = u128::from(self.multiplier) << self.scale;
        let ns = (units * 1_000_000_000).div_ceil(1 << 32);
        Some(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
