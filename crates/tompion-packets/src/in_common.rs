//! What several paths, measured at the same time, have in common, in words.

use std::time::Duration;

use serde::Serialize;
use tompion_path::stamps::Packets;
use tompion_path::trust::{Common, FEWEST_BLOCKS, NotCommon, common};

/// What the paths to all of them have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InCommon {
    /// Which share of what each path exceeds its median by, from 0 to 1; none where nothing is said to be common.
    pub share: Option<f64>,
    /// How often chance alone brings together as much; none where that was not asked.
    pub p_value: Option<f64>,
    /// The same in words.
    pub why: String,
}

impl InCommon {
    /// Of measurements at the same time with probes at this interval.
    pub fn of(packets: &[&Packets], interval: Duration) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Self::told(common(packets, interval_ns))
    }

    fn told(found: Result<Common, NotCommon>) -> Self {
        let (share, p_value) = match found {
            Ok(Common { share, p_value }) => (Some(share), Some(p_value)),
            Err(NotCommon::Chance(p_value)) => (None, Some(p_value)),
            Err(_) => (None, None),
        };
        let why = match found {
            Ok(Common { share, .. }) => format!(
                "paths are slow at the same moments ({:.0} % of what they exceed their medians by, at least): that lies here, \
                 below the kernel's stamps, or on links that they share",
                100.0 * share
            ),
            Err(NotCommon::OneTarget) => "not known: fewer than two hosts were measured".to_owned(),
            Err(NotCommon::TooFew(blocks)) => format!(
                "not known: all were measured in {blocks} blocks of two intervals, {FEWEST_BLOCKS} are wanted"
            ),
            Err(NotCommon::NothingToExplain) => {
                "nothing, as the path to one of them was never slow".to_owned()
            }
            Err(NotCommon::Chance(_)) => {
                "slow moments fall together as they do by chance".to_owned()
            }
            Err(NotCommon::Apart(share)) => format!(
                "some, at the same moments, but a path has {:.0} % of what it exceeds its median by for itself",
                100.0 - 100.0 * share
            ),
        };
        Self {
            share,
            p_value,
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_only_of_what_is_shown_to_be_common() {
        let told = InCommon::told(Ok(Common {
            share: 0.75,
            p_value: 0.001,
        }));
        assert!(
            told.why.contains("(75 % of what they exceed"),
            "{}",
            told.why
        );
        assert_eq!((told.share, told.p_value), (Some(0.75), Some(0.001)));
        let apart = InCommon::told(Err(NotCommon::Apart(0.2)));
        assert!(apart.why.contains("has 80 % of what"), "{}", apart.why);
        assert_eq!(apart.share, None);
        let chance = InCommon::told(Err(NotCommon::Chance(0.4)));
        assert_eq!((chance.share, chance.p_value), (None, Some(0.4)));
        let alone = InCommon::of(&[], Duration::from_millis(1));
        assert_eq!(alone.why, "not known: fewer than two hosts were measured");
    }
}
