//! The fitness profiles, read from the embedded data file.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;
use tompion_model::OwnProfile;
use tompion_probe::wake_up;

/// The longest time that a duration can say, 100,000 days.
const LONGEST_NS: f64 = 8.64e18;

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    // A test parses the same text, so a broken file never leaves the workshop.
    parse(include_str!("../../profiles.toml")).expect("the embedded profiles are well formed")
});

/// All profiles, in the order of the data file.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

fn parse(text: &str) -> Result<Vec<Profile>, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        profile: Vec<Profile>,
    }
    Ok(toml::from_str::<File>(text)?.profile)
}

/// What one use of a machine demands of its timing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name for `--require`.
    pub name: String,
    /// What the profile stands for, as the verdict line says it.
    pub title: String,
    /// Name shared by profiles that differ only by a rate.
    pub group: Option<String>,
    /// How one member of a group is told from the others.
    pub rate: Option<String>,
    /// The measurement that is judged: the level of the factor `probe`.
    pub probe: String,
    /// The quantile that must keep the limit, 0 to 1.
    pub quantile: f64,
    /// Time between two events, in nanoseconds; the nearest target is judged.
    pub period_ns: f64,
    /// The limit and how it comes about.
    pub limit: Limit,
    /// Where the limit comes from.
    pub source: String,
    /// Why this quantile, and what passing does not promise.
    pub why: String,
}

/// What may stand in a use of one's own; beyond it a file is refused, and a run is not judged.
pub mod own {
    use std::ops::RangeInclusive;

    /// Uses of one file or run, more than anybody has.
    pub const MOST: usize = 64;
    /// The longest name or title.
    pub const LONGEST: usize = 60;
    /// Beyond the last no run of a bearable length says anything.
    pub const QUANTILES: RangeInclusive<f64> = 0.5..=0.99999;
    /// Where its limit comes from, and its quantile.
    pub const SOURCE: &str = "Given by whoever measured";

    /// Whether something can be the name of a use.
    pub fn is_name(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain)
    }

    /// Whether something can be its title: one line, not too long.
    pub fn is_title(text: &str) -> bool {
        let is_line = text.chars().all(tompion_model::is_printable) && !text.trim().is_empty();
        is_line && text.chars().count() <= LONGEST
    }
}

/// How far two limits may be apart that are the same: a file may round them.
const ROUNDING: f64 = 1e-9;

/// What a run that keeps these uses is judged by: by them, and where it keeps none by those that come with Tompion.
///
/// # Errors
/// What it keeps that no use can be, in words.
pub fn profiles_of(kept: &[OwnProfile]) -> Result<Vec<Profile>, String> {
    if kept.is_empty() {
        return Ok(profiles().to_vec());
    }
    if kept.len() > own::MOST {
        return Err(format!("{} uses; {} are the most", kept.len(), own::MOST));
    }
    let mut names = BTreeSet::new();
    kept.iter()
        .enumerate()
        .map(|(place, kept)| {
            let profile = Profile::of_kept(kept);
            profile
                .filter(|profile| names.insert(profile.name.clone()))
                .ok_or_else(|| {
                    let wanted = "a name of small letters that none before it has, a title, a quantile and times in range";
                    format!("use {}: {wanted} are wanted", place + 1)
                })
        })
        .collect()
}

/// A limit with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Limit {
    /// The gap between packets sent at a rate: T = 8 MTU / R (Kirova 2019, eq. 1).
    PacketGap {
        /// Packet size in bytes.
        mtu_bytes: u32,
        /// Data rate in bits per second.
        rate_bps: f64,
    },
    /// A time as it is.
    Time {
        /// The limit in nanoseconds.
        ns: f64,
    },
    /// A share of a period or of a budget.
    Share {
        /// The period or budget in nanoseconds.
        of_ns: f64,
        /// The share granted to the wake-up latency, 0 to 1.
        share: f64,
    },
}

impl Profile {
    /// The same in a run's record.
    pub fn kept(&self) -> OwnProfile {
        OwnProfile {
            name: self.name.clone(),
            title: self.title.clone(),
            quantile: self.quantile,
            period_ns: self.period_ns,
            limit_ns: self.limit_ns(),
        }
    }

    /// From a run's record; of one that comes with Tompion, and has its title and limit, with all that is known of it.
    /// `None` where it can be none.
    fn of_kept(kept: &OwnProfile) -> Option<Self> {
        let is_time = |ns: f64| (1.0..=LONGEST_NS).contains(&ns);
        let is_sound = own::is_name(&kept.name)
            && own::is_title(&kept.title)
            && own::QUANTILES.contains(&kept.quantile)
            && is_time(kept.period_ns)
            && is_time(kept.limit_ns);
        let is_same = |known: &&Self| {
            let apart = (known.limit_ns() - kept.limit_ns).abs();
            known.name == kept.name
                && known.title == kept.title
                && apart <= ROUNDING * kept.limit_ns
        };
        is_sound.then(|| match profiles().iter().find(is_same) {
            Some(known) => Self {
                quantile: kept.quantile,
                period_ns: kept.period_ns,
                ..known.clone()
            },
            None => Self {
                name: kept.name.clone(),
                title: kept.title.clone(),
                group: None,
                rate: None,
                probe: wake_up::NAME.to_owned(),
                quantile: kept.quantile,
                period_ns: kept.period_ns,
                limit: Limit::Time { ns: kept.limit_ns },
                source: own::SOURCE.to_owned(),
                why: own::SOURCE.to_owned(),
            },
        })
    }

    /// The limit in nanoseconds.
    pub fn limit_ns(&self) -> f64 {
        match self.limit {
            Limit::PacketGap {
                mtu_bytes,
                rate_bps,
                // Whole numbers first, so that 120 ns are not 119.99999999999999.
            } => 8.0 * f64::from(mtu_bytes) * 1e9 / rate_bps,
            Limit::Time { ns } => ns,
            Limit::Share { of_ns, share } => of_ns * share,
        }
    }

    /// The demand in words: `p99 of wake-up latency at most 12.0 µs`.
    pub fn requirement(&self) -> String {
        format!(
            "{} of {} at most {}",
            quantile_name(self.quantile),
            quantity_name(&self.probe),
            tompion_model::format_ns(self.limit_ns())
        )
    }
}

/// `p99`, `p99.9`, `median`.
pub fn quantile_name(q: f64) -> String {
    if q == 0.5 {
        return "median".to_owned();
    }
    // Rounded, because 0.999 * 100 is not 99.9 in binary.
    format!("p{}", (q * 1e6).round() / 1e4)
}

/// The standard term for what a probe measures, by the probe's name; of one that is not known, that.
pub fn quantity_name(probe: &str) -> &str {
    match probe {
        "wake-up" => "wake-up latency",
        "read-cost" => "read cost",
        "timer-events" => "lateness of timer events",
        "stalls" => "length of a loop's iteration",
        "packet-delay" => "round trip",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(name: &str) -> f64 {
        let found = profiles().iter().find(|p| p.name == name);
        found.expect("a profile of that name").limit_ns()
    }

    #[test]
    fn packet_gaps_follow_kirova_equation_one() {
        // 8 * 1500 bits take 40, 12, 1.2 and 0.12 microseconds.
        for (name, want) in [
            ("pacing-300m", 40_000.0),
            ("pacing-1g", 12_000.0),
            ("pacing-10g", 1_200.0),
            ("pacing-100g", 120.0),
            ("packet-scheduler-12us", 12_000.0),
        ] {
            assert_eq!(limit_of(name), want, "{name}");
        }
    }

    #[test]
    fn shares_of_periods_come_to_the_documented_limits() {
        for (name, want) in [
            ("audio-48k-64", 64.0 / 48_000.0 * 1e9 / 2.0),
            ("control-1khz", 100_000.0),
            ("voip", 5_000_000.0),
            ("game-128hz", 1e9 / 128.0 / 10.0),
        ] {
            assert!((limit_of(name) - want).abs() < 1.0, "{name}");
        }
    }

    #[test]
    fn every_profile_is_complete_and_named_once() {
        for (i, p) in profiles().iter().enumerate() {
            assert!(p.quantile > 0.0 && p.quantile < 1.0, "{}", p.name);
            assert!(p.limit_ns() > 0.0 && p.period_ns > 0.0, "{}", p.name);
            assert!(p.source.len() > 20 && p.why.len() > 20, "{}", p.name);
            assert!(!p.title.is_empty());
            assert_eq!(p.group.is_some(), p.rate.is_some(), "{}", p.name);
            assert!(profiles()[..i].iter().all(|o| o.name != p.name));
        }
    }

    #[test]
    fn a_limit_that_is_our_share_says_so() {
        for p in profiles() {
            if let Limit::Share { .. } = p.limit {
                assert!(p.source.contains("Our choice"), "{}", p.name);
            }
        }
    }

    #[test]
    fn a_run_is_judged_by_what_it_keeps() {
        assert_eq!(profiles_of(&[]).unwrap(), profiles());
        // Those that come with Tompion come back whole, the two thirds of a millisecond too.
        let kept: Vec<_> = profiles().iter().map(Profile::kept).collect();
        assert_eq!(profiles_of(&kept).unwrap(), profiles());
        let own = OwnProfile {
            limit_ns: 2e6,
            ..profiles()[0].kept()
        };
        let read = profiles_of(std::slice::from_ref(&own)).unwrap();
        assert_eq!(read[0].kept(), own);
        assert!(read[0].group.is_none() && read[0].source == own::SOURCE);
    }

    #[test]
    fn what_can_be_no_use_judges_nothing() {
        let good = profiles()[0].kept();
        let wrong = |change: fn(&mut OwnProfile)| {
            let mut one = good.clone();
            change(&mut one);
            profiles_of(&[one])
        };
        assert!(wrong(|_| {}).is_ok());
        assert!(wrong(|p| p.name = "A\u{1b}".to_owned()).is_err());
        assert!(wrong(|p| p.name.clear()).is_err());
        assert!(wrong(|p| p.title = "two\nlines".to_owned()).is_err());
        assert!(wrong(|p| p.title = "x".repeat(own::LONGEST + 1)).is_err());
        assert!(wrong(|p| p.quantile = 1.0).is_err());
        assert!(wrong(|p| p.period_ns = 0.0).is_err());
        assert!(wrong(|p| p.limit_ns = 1e300).is_err());
        assert!(profiles_of(&vec![good.clone(); 2]).is_err());
        assert!(profiles_of(&vec![good.clone(); own::MOST + 1]).is_err());
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        let text = include_str!("../../profiles.toml").replacen("quantile =", "quantil =", 1);
        assert!(parse(&text).is_err());
    }

    #[test]
    fn quantiles_are_named_without_binary_dust() {
        assert_eq!(quantile_name(0.999), "p99.9");
        assert_eq!(quantile_name(0.99), "p99");
        assert_eq!(quantile_name(0.9999), "p99.99");
    }
}
