//! Rates: so many packets a second, for each source and in all, on the caller's clock.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Packets a second in the long run; zero for none at all.
    pub per_second: u32,
    /// Packets at once, after a pause.
    pub burst: u32,
}

impl Rate {
    /// ns for a packet.
    fn cost_ns(self) -> u64 {
        1_000_000_000_u64
            .checked_div(self.per_second.into())
            .unwrap_or(u64::MAX)
    }
}

/// How much of a rate is used: the moment at which the bucket would be full again, in one number
/// (the generic cell rate algorithm, ITU-T I.371). Nothing has to be added up while nobody sends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    full_at_ns: u64,
}

impl Bucket {
    /// Whether more than half of the burst is used.
    fn is_low(&self, rate: Rate, now_ns: u64) -> bool {
        let half = rate.cost_ns().saturating_mul(u64::from(rate.burst / 2));
        self.full_at_ns.saturating_sub(now_ns) > half
    }

    /// Takes a packet's worth, where there is one.
    pub(crate) fn take(&mut self, rate: Rate, now_ns: u64) -> bool {
        let cost = rate.cost_ns();
        if rate.per_second == 0 || rate.burst == 0 {
            return false;
        }
        let full_at = self.full_at_ns.max(now_ns);
        let most = cost.saturating_mul(u64::from(rate.burst) - 1);
        if full_at - now_ns > most {
            return false;
        }
        self.full_at_ns = full_at.saturating_add(cost);
        true
    }
}

/// Whose packets share a rate: an IPv4 address, or a network of IPv6 with a prefix of 64 bits,
/// of which one host may have all addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    is_v6: bool,
    network: u64,
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        // An IPv4 address as a socket of both families shows it is one of IPv4: otherwise all of
        // them would share a prefix.
        match address.to_canonical() {
            IpAddr::V4(address) => Self {
                is_v6: false,
                network: address.to_bits().into(),
            },
            IpAddr::V6(address) => Self {
                is_v6: true,
                network: (address.to_bits() >> 64) as u64,
            },
        }
    }
}

/// How long a source that goes beyond its rate is left without any answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// The first time, in ns; each further time twice as long.
    pub first_ns: u64,
    /// At most, in ns; a source that behaves for as long begins again with `first_ns`.
    pub longest_ns: u64,
}

/// What is known of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    bucket: Bucket,
    quiet_until_ns: u64,
    times: u32,
    unanswered: u16,
}

impl Account {
    /// Whether to forget it would give its source more than it has: it is left alone, or has had most of its burst.
    pub(crate) fn is_restrained(&self, rate: Rate, now_ns: u64) -> bool {
        now_ns < self.quiet_until_ns || self.bucket.is_low(rate, now_ns)
    }

    /// One more of its packets is not answered for a rate.
    pub(crate) fn leave_unanswered(&mut self) {
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Of how many that was so, as long as it is remembered.
    pub(crate) fn unanswered(&self) -> u16 {
        self.unanswered
    }

    /// Takes a packet's worth of a rate. Beyond it the source is left alone for a while, where
    /// there is such a rule.
    pub(crate) fn take(&mut self, rate: Rate, quiet: Option<Quiet>, now_ns: u64) -> bool {
        let Some(quiet) = quiet else {
            return self.bucket.take(rate, now_ns);
        };
        if now_ns < self.quiet_until_ns {
            return false;
        }
        if now_ns - self.quiet_until_ns >= quiet.longest_ns {
            self.times = 0;
        }
        if self.bucket.take(rate, now_ns) {
            return true;
        }
        let doubled = 1_u64.checked_shl(self.times).unwrap_or(u64::MAX);
        let length = quiet.first_ns.saturating_mul(doubled).min(quiet.longest_ns);
        self.quiet_until_ns = now_ns.saturating_add(length);
        self.times = self.times.saturating_add(1);
        false
    }
}
