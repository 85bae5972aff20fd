//! How often a far end is asked, so that one that limits strangers' rates does not fall silent.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tompion_net::Stop;

/// What a reflector of Tompion's grants a stranger is 32 replies at once and 100 a second: somewhat less is asked.
const AT_ONCE: f64 = 24.0;
const A_SECOND: f64 = 90.0;

pub(super) struct Manners {
    /// None where nobody counts.
    last: Option<Instant>,
    left: f64,
}

impl Manners {
    /// Who has a key, or is on the same machine, may ask as it likes.
    pub fn towards(to: &SocketAddr, has_key: bool) -> Self {
        let is_counted = !has_key && !to.ip().to_canonical().is_loopback();
        Self {
            last: is_counted.then(Instant::now),
            left: AT_ONCE,
        }
    }

    /// Waits until one more may be sent.
    pub fn before(&mut self, stop: &Stop) {
        let waits = self.pay(Instant::now());
        super::rest_for(u64::try_from(waits.as_nanos()).unwrap_or(u64::MAX), stop);
    }

    /// How long is to be waited before the next one.
    fn pay(&mut self, now: Instant) -> Duration {
        let Some(last) = self.last else {
            return Duration::ZERO;
        };
        let earned = now.saturating_duration_since(last).as_secs_f64() * A_SECOND;
        self.left = (self.left + earned).min(AT_ONCE) - 1.0;
        self.last = Some(now.max(last));
        match self.left < 0.0 {
            true => Duration::from_secs_f64(-self.left / A_SECOND),
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_stranger_gets() {
        let to = "192.0.2.1:862".parse().expect("an address");
        let mut manners = Manners::towards(&to, false);
        let began = Instant::now();
        let mut now = began;
        for _ in 0..500 {
            now += manners.pay(now);
        }
        let took = (now - began).as_secs_f64();
        let least = (500.0 - AT_ONCE) / A_SECOND;
        assert!((least - 0.1..least + 0.1).contains(&took), "{took} s");
        for free in [
            Manners::towards(&to, true),
            Manners::towards(&"[::1]:862".parse().unwrap(), false),
        ] {
            let mut free = free;
            assert!((0..500).all(|_| free.pay(began).is_zero()));
        }
    }
}
