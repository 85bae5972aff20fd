//! What each stamp of the far end says of its clock: by how much it is ahead at most, or at least.

use super::exchange::Exchange;

/// Beyond this products of two differences might not fit into 128 bits.
const LIMIT_NS: i64 = 1 << 61;

/// Which way a bound holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The clock is ahead by no more: from a probe's way out.
    Upper,
    /// By no less: from a reply's way home.
    Lower,
}

/// At that time the far end's clock is ahead by at most, or at least, so much. In nanoseconds
/// since the first probe, and beyond what its own way out says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub side: Side,
    pub at_ns: i64,
    pub ahead_ns: i64,
    /// Place of its exchange among those that bounds were made of.
    pub exchange: usize,
}

/// The bounds of exchanges in the order in which the far end stamped, no two at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Time and offset that all bounds count from.
    pub origin: (i64, i64),
    /// The least round trip without the far end's stay.
    pub least_path_ns: i64,
    /// By how much lower bounds are raised, so that both kinds meet where packets are quickest: by
    /// no more than the path is sure to take.
    pub raised_ns: i64,
    pub all: Vec<Bound>,
}

impl Bounds {
    pub fn of(exchanges: &[Exchange]) -> Self {
        let Some(first) = exchanges.first() else {
            return Self::default();
        };
        let Some(ahead) = first.far_received_ns.checked_sub(first.sent_ns) else {
            return Self::default();
        };
        let origin = (first.sent_ns, ahead);
        let in_reach = |value: Option<i64>| value.filter(|ns| ns.abs() < LIMIT_NS);
        let of_one = |(number, exchange): (usize, &Exchange)| {
            // In the middle of the path, as far as anybody knows.
            let half = exchange.path_ns() / 2;
            let bound = |side, own: i64, far: i64, at: i64| {
                Some(Bound {
                    side,
                    at_ns: in_reach(at.checked_sub(origin.0))?,
                    ahead_ns: in_reach(far.checked_sub(own)?.checked_sub(origin.1))?,
                    exchange: number,
                })
            };
            let (sent, received) = (exchange.sent_ns, exchange.received_ns);
            let out = bound(Side::Upper, sent, exchange.far_received_ns, sent + half)?;
            let home = bound(Side::Lower, received, exchange.far_sent_ns, received - half)?;
            Some((exchange.path_ns(), [out, home]))
        };
        let both = exchanges.iter().enumerate().filter_map(of_one);
        let both: Vec<_> = both.collect();
        let mut paths: Vec<i64> = both.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        let least_path_ns = paths.first().copied().unwrap_or_default();
        let raised_ns = sure_ns(&paths);
        let mut all: Vec<Bound> = both.into_iter().flat_map(|(_, both)| both).collect();
        for bound in &mut all {
            if bound.side == Side::Lower {
                bound.ahead_ns = bound.ahead_ns.saturating_add(raised_ns);
            }
        }
        all.sort_by_key(|bound| bound.at_ns);
        let mut before = i64::MIN;
        for bound in &mut all {
            bound.at_ns = bound.at_ns.max(before.saturating_add(1));
            before = bound.at_ns;
        }
        Self {
            origin,
            least_path_ns,
            raised_ns,
            all,
        }
    }
}

/// How long the path takes both ways when nothing waits, at least, from round trips in rising order.
///
/// The shortest may have waited, too. How far it is from where they begin, and the next ones from
/// it, are of one size (Robson and Whitlock, "Estimation of a truncation point", Biometrika 51,
/// 1964). Five times the distance of the fifth leaves out one in a hundred where two waits add up,
/// and one in twenty where up to three do.
fn sure_ns(paths: &[i64]) -> i64 {
    let (Some(least), Some(fifth)) = (paths.first(), paths.get(4).or(paths.last())) else {
        return 0;
    };
    let beyond = fifth.saturating_sub(*least).saturating_mul(5);
    least.saturating_sub(beyond).max(0)
}
