//! Trains of packets: as they are asked for, and as they passed.

/// A train to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainPlan {
    /// Bytes of each packet, IP header included.
    pub bytes: u32,
    /// When each packet is due after the first, in nanoseconds, ascending.
    pub due_ns: Vec<u64>,
    /// How long at least there is to be silence before it, in nanoseconds.
    pub after_ns: u64,
    /// Among how many flows its packets take turns.
    pub flows: u8,
}

impl TrainPlan {
    /// Packets at equal intervals, so that they come to `rate_bps`.
    pub fn even(packets: u32, bytes: u32, rate_bps: f64) -> Self {
        let gap_ns = f64::from(bytes) * 8e9 / rate_bps;
        // Rounded one by one: no error adds up.
        let due = |k: u32| (f64::from(k) * gap_ns).round() as u64;
        Self {
            bytes,
            due_ns: (0..packets).map(due).collect(),
            after_ns: 0,
            flows: 1,
        }
    }

    /// Packets as fast as they can be sent.
    pub fn at_once(packets: u32, bytes: u32) -> Self {
        Self {
            bytes,
            due_ns: vec![0; packets as usize],
            after_ns: 0,
            flows: 1,
        }
    }

    /// The same with silence before it.
    pub fn after(self, after_ns: u64) -> Self {
        Self { after_ns, ..self }
    }

    /// The same with its packets in so many flows.
    pub fn in_flows(self, flows: u8) -> Self {
        Self { flows, ..self }
    }

    /// How many packets it has.
    pub fn packets(&self) -> usize {
        self.due_ns.len()
    }

    /// The rate that it is to have on average, in bits a second; nothing where it goes at once.
    pub fn bps(&self) -> Option<f64> {
        let (first, last) = (self.due_ns.first()?, self.due_ns.last()?);
        let span_ns = last.saturating_sub(*first);
        let more = self.due_ns.len().saturating_sub(1) as f64;
        (span_ns > 0).then(|| more * f64::from(self.bytes) * 8e9 / span_ns as f64)
    }

    /// How many bytes these are.
    pub fn all_bytes(&self) -> u64 {
        self.due_ns.len() as u64 * u64::from(self.bytes)
    }
}

/// What became of a packet of a train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// When it departed by the sender's clock, in nanoseconds; `None` where it never went, or does not count.
    pub sent_ns: Option<i64>,
    /// When it arrived by the receiver's clock, in nanoseconds; `None` where it did not.
    pub received_ns: Option<i64>,
    /// Whether a router marked that it was congested (RFC 3168).
    pub is_marked: bool,
}

/// A train that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSeen {
    /// As it was asked for.
    pub plan: TrainPlan,
    /// Its packets in the order in which they were due.
    pub packets: Vec<Passed>,
    /// Whether the sender was kept from its work while it was sent, so that it is another train than was asked for.
    pub is_spoilt_here: bool,
    /// Whether the receiver was, so that arrivals were stamped late.
    pub is_spoilt_there: bool,
}

impl TrainSeen {
    /// The rate of departures in bits a second; `None` of fewer than two, or all at one moment.
    pub fn sent_bps(&self) -> Option<f64> {
        let mut sent = self.packets.iter().filter_map(|p| p.sent_ns);
        let first = sent.next()?;
        let (mut last, mut more) = (first, 0_u32);
        for ns in sent {
            (last, more) = (last.max(ns), more + 1);
        }
        let span_ns = last.abs_diff(first);
        (more > 0 && span_ns > 0)
            .then(|| f64::from(more) * f64::from(self.plan.bytes) * 8e9 / span_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_has_its_rate_whatever_is_rounded() {
        let train = TrainPlan::even(1_001, 1_500, 7e9);
        let span_ns = *train.due_ns.last().unwrap() as f64;
        let rate = 1_000.0 * 12_000.0 * 1e9 / span_ns;
        assert!((rate / 7e9 - 1.0).abs() < 1e-6, "{rate}");
        assert_eq!(train.all_bytes(), 1_501_500);
        assert!((train.bps().unwrap() / 7e9 - 1.0).abs() < 1e-6);
        assert_eq!(TrainPlan::at_once(9, 1_500).bps(), None);
    }

    #[test]
    fn the_rate_is_that_of_departures() {
        let sent = |ns| Passed {
            sent_ns: ns,
            ..Passed::default()
        };
        let mut seen = TrainSeen {
            plan: TrainPlan::at_once(4, 1_250),
            packets: vec![
                sent(Some(0)),
                sent(Some(10_000)),
                sent(None),
                sent(Some(20_000)),
            ],
            is_spoilt_here: false,
            is_spoilt_there: false,
        };
        assert_eq!(seen.sent_bps(), Some(1e9));
        seen.packets.truncate(1);
        assert_eq!(seen.sent_bps(), None);
    }
}
