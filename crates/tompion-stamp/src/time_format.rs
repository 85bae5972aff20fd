//! The two time stamps of STAMP packets, and nanoseconds since 1970.

#[cfg(test)]
mod tests;

const NS_PER_SECOND: i64 = 1_000_000_000;
/// From 1900, where era 0 of NTP begins, to 1970, in seconds (RFC 5905, figure 4).
const NTP_TO_UNIX_SECONDS: i64 = 2_208_988_800;

/// How a moment stands in a packet: 32 bits of seconds, which begin again after 136 years, and
/// 32 bits of their parts. All bits zero mean that there is no stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeFormat {
    /// Seconds since 1900 and their 2^-32 parts (RFC 5905, section 6): what RFC 8762 has as the
    /// default.
    #[default]
    Ntp,
    /// Seconds since 1970 and nanoseconds: the truncated format of PTP version 2 (RFC 8186). The
    /// seconds are those of UTC here, as nearly all who send this format have no other clock.
    Ptp,
}

impl TimeFormat {
    /// A moment (ns since 1970, UTC) as the eight bytes of a packet.
    pub fn encode(self, utc_ns: i64) -> u64 {
        let seconds = utc_ns.div_euclid(NS_PER_SECOND);
        // In [0, 10^9).
        let part_ns = utc_ns.rem_euclid(NS_PER_SECOND).unsigned_abs();
        let (seconds, part) = match self {
            // To the nearest part, of which a nanosecond has more than four: decoding finds the
            // same nanosecond again.
            Self::Ntp => (
                seconds + NTP_TO_UNIX_SECONDS,
                ((part_ns << 32) + NS_PER_SECOND.unsigned_abs() / 2) / NS_PER_SECOND.unsigned_abs(),
            ),
            Self::Ptp => (seconds, part_ns),
        };
        // The era, that is the bits above, is what the reader has to know.
        ((seconds.cast_unsigned() & 0xffff_ffff) << 32) | part
    }

    /// The moment (ns since 1970, UTC) that eight bytes of a packet mean: of all eras the one
    /// that is nearest to `near_ns`. Nothing where there is no stamp, or where the nanoseconds
    /// are a second or more.
    pub fn decode(self, wire: u64, near_ns: i64) -> Option<i64> {
        if wire == 0 {
            return None;
        }
        let part = wire & 0xffff_ffff;
        let (begins, part_ns) = match self {
            Self::Ntp => (
                NTP_TO_UNIX_SECONDS,
                (part * NS_PER_SECOND.unsigned_abs() + (1 << 31)) >> 32,
            ),
            Self::Ptp if part < NS_PER_SECOND.unsigned_abs() => (0, part),
            Self::Ptp => return None,
        };
        let near = near_ns.div_euclid(NS_PER_SECOND) + begins;
        let ahead = word(wire >> 32).wrapping_sub(word(near.cast_unsigned()));
        let seconds = near - begins + i64::from(ahead.cast_signed());
        // At most 10^9: of parts just below a whole second.
        let part_ns = i64::try_from(part_ns).unwrap_or(0);
        Some(
            seconds
                .saturating_mul(NS_PER_SECOND)
                .saturating_add(part_ns),
        )
    }
}

/// The lower 32 bits.
fn word(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}
